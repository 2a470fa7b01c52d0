/** How Meteors is trained: its page as it is, and what an agent may know of it. */

import { box, definePageGame, discrete } from "attract/page";

/** Meteors that an agent sees, the lowest first. */
const SEEN = 5;

export default definePageGame({
  id: "Meteors-v1",
  page: "index.html",
  size: [480, 400],
  maxSeconds: 60,
  observation: box({ low: -3, high: 3, shape: [1 + 5 * SEEN] }),
  action: discrete(["left", "stay", "right"]),
  keys: { left: ["ArrowLeft"], stay: [], right: ["ArrowRight"] },
  // The game's variables belong to its script, not to the window: a function made within the page can name them.
  loaded(w) {
    w.look = w.eval("() => ({ state, ship, meteors, survived })");
  },
  ready: (w) => w.look().state === "title",
  restart: (w) => w.newGame(),
  observe(w) {
    const { ship, meteors } = w.look();
    const lowest = [...meteors].sort((a, b) => b.y - a.y).slice(0, SEEN);
    const seen = lowest.flatMap((m) => [
      (m.x - ship.x) / 240,
      m.y / 360,
      m.radius / 22,
      m.vx / 60,
      m.vy / 210,
    ]);
    return [ship.x / 480, ...seen, ...new Array(5 * SEEN - seen.length).fill(0)];
  },
  score: (w) => w.look().survived,
  over: (w) => w.look().state !== "playing",
});
