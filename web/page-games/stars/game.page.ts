/** How Stars is trained: Phaser's scene says what falls where. */

import { box, definePageGame, discrete, type PageWindow } from "attract/page";

/** Things that fall, the lowest first. */
const SEEN = 4;

const play = (w: PageWindow) => w.game.scene.getScene("play");

export default definePageGame({
  id: "Stars-v1",
  page: "index.html",
  size: [480, 360],
  maxSeconds: 40,
  observation: box({ low: -3, high: 3, shape: [2 + 4 * SEEN] }),
  action: discrete(["left", "stay", "right"]),
  keys: { left: ["ArrowLeft"], stay: [], right: ["ArrowRight"] },
  ready: (w) => w.game?.scene?.isActive("title") === true,
  restart(w) {
    for (const { scene } of w.game.scene.getScenes(true)) scene.start("play");
  },
  playing: (w) =>
    w.game.scene.isActive("play") && play(w).lives === 3 && play(w).falling.getChildren().length === 0,
  observe(w) {
    const { basket, falling } = play(w);
    const lowest = [...falling.getChildren()].sort((a, b) => b.y - a.y).slice(0, SEEN);
    const seen = lowest.flatMap((thing) => [
      (thing.x - basket.x) / 240,
      thing.y / 360,
      thing.body.velocity.x / 30,
      thing.isBomb ? -1 : 1,
    ]);
    return [
      basket.x / 480,
      basket.body.velocity.x / 320,
      ...seen,
      ...new Array(4 * SEEN - seen.length).fill(0),
    ];
  },
  score: (w) => play(w).score + play(w).lives,
  over: (w) => w.game.scene.isActive("lost"),
});
