/** How Rebound is trained: what an agent sees of the page, which keys it has, and when an episode is over. */

import { box, definePageGame, discrete } from "attract/page";

/** The page's window, with what src/game.js leaves there: rename it there, and `npm run build` says where it is missed. */
type Page = Window & typeof import("./src/game.js");

export default definePageGame<Page>({
  id: "Rebound-v1",
  // As it lies here. After `npm run build`: "dist/index.html"; while `npm run dev` runs: "http://localhost:5173/".
  page: "index.html",
  size: [480, 640],
  // An agent that never loses has to stop, too.
  maxSeconds: 60,

  // The agent presses what you would press, for four frames at a time.
  action: discrete(["left", "stay", "right"]),
  keys: { left: ["ArrowLeft"], stay: [], right: ["ArrowRight"] },

  // An episode begins here, also in the middle of another. A game without such a function has no `restart`: each episode
  // gets a fresh page, and `menu: (_w, page) => page.hold(page.ticks % 8 < 4 ? ["Space"] : [])` taps Space until it plays.
  restart: (w) => w.play(),
  over: (w) => w.game.state === "lost",

  // What you look at when you play. Numbers of about -1 to 1 are easiest to learn from.
  observation: box({ low: -3, high: 3, shape: [6] }),
  observe({ game: { ball, paddle } }) {
    return [
      paddle.x / 480,
      (ball.x - paddle.x) / 240,
      ball.x / 480,
      ball.y / 360,
      ball.vx / 240,
      ball.vy / 240,
    ];
  },
  // What grows in a frame is that frame's reward: here one for each rebound.
  score: (w) => w.game.score,
});
