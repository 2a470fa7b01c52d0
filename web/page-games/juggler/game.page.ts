/** How Juggler is trained: where the ball and the paddle are. */

import { box, definePageGame, discrete } from "attract/page";

export default definePageGame({
  id: "Juggler-v1",
  page: "index.html",
  size: [400, 400],
  maxSeconds: 60,
  observation: box({ low: -3, high: 3, shape: [6] }),
  action: discrete(["left", "stay", "right"]),
  keys: { left: ["ArrowLeft"], stay: [], right: ["ArrowRight"] },
  ready: (w) => w.juggler !== undefined,
  restart: (w) => w.juggler.begin(),
  observe(w) {
    const { ball, paddle } = w.juggler.game;
    const { position: at, velocity } = ball;
    return [
      at.x / 200 - 1,
      at.y / 400,
      velocity.x / 10,
      velocity.y / 10,
      (at.x - paddle.position.x) / 200,
      paddle.position.x / 400,
    ];
  },
  score: (w) => w.juggler.game.hits,
  over: (w) => w.juggler.game.state === "over",
});
