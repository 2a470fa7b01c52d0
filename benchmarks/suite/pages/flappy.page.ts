/** How KAPLAY's Flappy (kaplayjs/kaplay, examples/flappy.js) is trained: the bird, and the next pipes. */

import { box, definePageGame, discrete, type PageWindow } from "attract/page";

/** Distance and lower edge of the next two gaps. */
function gaps(w: PageWindow): number[] {
  const lower = w
    .get("pipe")
    .filter((pipe: { passed?: boolean }) => pipe.passed === false)
    .sort((a: { pos: { x: number } }, b: { pos: { x: number } }) => a.pos.x - b.pos.x);
  return [0, 1].flatMap((i) => (lower[i] ? [lower[i].pos.x / 800, lower[i].pos.y / 600] : [2, 0.5]));
}

export default definePageGame({
  id: "Flappy-v1",
  page: "index.html",
  size: [800, 600],
  maxSeconds: 60,
  observation: box({ low: -5, high: 5, shape: [6] }),
  action: discrete(["fall", "hop"]),
  keys: { fall: [], hop: ["Space"] },
  taps: true,
  seed: (w, seed) => w.randSeed(seed),
  ready: (w) => w.getSceneName?.() === "game",
  restart: (w) => w.go("game"),
  playing: (w) => w.getSceneName() === "game" && w.get("pipe").length === 0,
  observe(w) {
    const bean = w.get("*").find((one: { jumpForce?: number }) => one.jumpForce !== undefined);
    return bean ? [bean.pos.y / 600, bean.vel.y / 800, ...gaps(w)] : [0, 0, 2, 0.5, 2, 0.5];
  },
  // One for each pipe that is behind, and a tenth for each second alive.
  reward(w) {
    const passed = w
      .get("pipe")
      .filter((pipe: { passed?: boolean; counted?: boolean }) => pipe.passed && !pipe.counted);
    for (const pipe of passed) pipe.counted = true;
    return passed.length + 0.1 / 60;
  },
  over: (w) => w.getSceneName() === "lose",
});
