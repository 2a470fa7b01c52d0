/** How Lanes is trained: what stands in each lane, and how far away. */

import { box, definePageGame, discrete } from "attract/page";

const LANES = [-2.4, 0, 2.4];

export default definePageGame({
  id: "Lanes-v1",
  page: "index.html",
  size: [480, 300],
  maxSeconds: 60,
  observation: box({ low: -2, high: 2, shape: [8] }),
  action: discrete(["left", "stay", "right"]),
  keys: { left: ["ArrowLeft"], stay: [], right: ["ArrowRight"] },
  ready: (w) => w.lanes !== undefined,
  restart: (w) => w.lanes.begin(),
  playing: (w) => w.lanes.ride.state === "riding",
  observe(w) {
    const { ride, cart } = w.lanes;
    const ahead = LANES.flatMap((x) => {
      const nearest = ride.blocks
        .filter(
          ({ position }: { position: { x: number; z: number } }) => position.x === x && position.z < 1.4,
        )
        .map(({ position }: { position: { z: number } }) => -position.z / 55);
      nearest.sort((a: number, b: number) => a - b);
      return [nearest[0] ?? 1, nearest[1] ?? 1];
    });
    return [cart.position.x / 2.4, ride.lane - 1, ...ahead];
  },
  score: (w) => w.lanes.ride.distance / 100,
  over: (w) => w.lanes.ride.state === "over",
});
