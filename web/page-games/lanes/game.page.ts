/** How Lanes is trained: what comes in the cart's own lane and in those beside it. */

import { box, definePageGame, discrete, type PageWindow } from "attract/page";

const LANES = [-2.4, 0, 2.4];
/** An agent sees so far ahead: two rows of blocks. */
const METRES = 28;

/** How near the next two blocks of a lane are: 1 here, 0 out of sight. */
function ahead(w: PageWindow, lane: number): [number, number] {
  if (lane < 0 || lane >= LANES.length) return [1, 1];
  const near: number[] = [];
  for (const { position } of w.lanes.ride.blocks)
    if (position.x === LANES[lane] && position.z < 1.4)
      near.push(Math.min(1, Math.max(0, 1 + position.z / METRES)));
  near.sort((a, b) => b - a);
  return [near[0] ?? 0, near[1] ?? 0];
}

export default definePageGame({
  id: "Lanes-v1",
  page: "index.html",
  size: [480, 300],
  maxSeconds: 60,
  // A press is a lane: one that is made by chance costs most rides, so that there are few.
  ticksPerStep: 8,
  observation: box({ low: -2, high: 2, shape: [7] }),
  action: discrete(["left", "stay", "right"]),
  keys: { left: ["ArrowLeft"], stay: [], right: ["ArrowRight"] },
  // Each press is a lane: a key that is held does nothing more.
  taps: true,
  ready: (w) => w.lanes !== undefined,
  restart: (w) => w.lanes.begin(),
  playing: (w) => w.lanes.ride.state === "riding",
  observe(w) {
    const { ride, cart } = w.lanes;
    // From the middle of its lane, while it changes.
    const aside = (cart.position.x - LANES[ride.lane]) / 2.4;
    return [aside, ...[-1, 0, 1].flatMap((side) => ahead(w, ride.lane + side))];
  },
  score: (w) => w.lanes.ride.distance / 100,
  over: (w) => w.lanes.ride.state === "over",
});
