/** How Chrome's dinosaur (wayou/t-rex-runner) is trained: where it is, and the next obstacle. */

import { box, definePageGame, discrete } from "attract/page";

export default definePageGame({
  id: "TRex-v1",
  page: "index.html",
  size: [640, 300],
  maxSeconds: 120,
  observation: box({ low: -5, high: 5, shape: [7] }),
  action: discrete(["run", "jump", "duck"]),
  keys: { run: [], jump: ["Space"], duck: ["ArrowDown"] },
  ready: (w) => w.Runner?.instance_?.tRex != null,
  restart(w) {
    const runner = w.Runner.instance_;
    if (runner.playCount > 0) {
      if (!runner.crashed) runner.gameOver();
      runner.restart();
    }
  },
  menu: (_w, page) => page.hold(page.ticks % 8 < 4 ? ["Space"] : []),
  // It plays already, without obstacles, before its intro in a fresh page: the first start is counted after that.
  playing(w) {
    const { playing, playCount, playingIntro, crashed } = w.Runner.instance_;
    return playing && playCount > 0 && !playingIntro && !crashed;
  },
  observe(w) {
    const { tRex, currentSpeed, horizon } = w.Runner.instance_;
    const next = horizon.obstacles[0];
    return [
      ...[tRex.yPos / 100, tRex.jumpVelocity / 10, Number(tRex.ducking), currentSpeed / 13],
      ...(next ? [next.xPos / 600, next.yPos / 150, next.width / 100] : [2, 0, 0]),
    ];
  },
  score: (w) => w.Runner.instance_.distanceRan / 100,
  over: (w) => w.Runner.instance_.crashed,
});
