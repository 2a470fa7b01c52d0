/** How Meteors is trained: its page as it is, and what an agent may know of it. */

import { box, definePageGame, discrete } from "attract/page";

/** Places beside the ship, from left to right, in pixels from its middle. */
const PLACES = Array.from({ length: 13 }, (_, i) => 40 * (i - 6));

interface Meteor {
  x: number;
  y: number;
  radius: number;
  vx: number;
  vy: number;
}

/** How soon something comes down on a ship at `x`: 1 now, 0 in three seconds or not at all. */
function danger(x: number, meteors: readonly Meteor[]): number {
  if (x < 14 || x > 466) return 1;
  let soonest = 3;
  for (const meteor of meteors) {
    const seconds = (376 - meteor.y) / meteor.vy;
    if (seconds > -0.2 && Math.abs(meteor.x + meteor.vx * seconds - x) < meteor.radius + 20)
      soonest = Math.min(soonest, Math.max(0, seconds));
  }
  return 1 - soonest / 3;
}

export default definePageGame({
  id: "Meteors-v1",
  page: "index.html",
  size: [480, 400],
  maxSeconds: 60,
  observation: box({ low: 0, high: 1, shape: [1 + PLACES.length] }),
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
    return [ship.x / 480, ...PLACES.map((offset) => danger(ship.x + offset, meteors))];
  },
  score: (w) => w.look().survived,
  over: (w) => w.look().state !== "playing",
});
