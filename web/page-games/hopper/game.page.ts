/** How Hopper is trained: KAPLAY's own functions say what is where. */

import { box, definePageGame, discrete, type PageWindow } from "attract/page";

/** Below the bird's next pillars: distance and height of the gap's lower edge, for two. */
function pillars(w: PageWindow): number[] {
  const seen = w.k
    .get("lower")
    .filter((pillar: { pos: { x: number } }) => pillar.pos.x > 60)
    .sort((a: { pos: { x: number } }, b: { pos: { x: number } }) => a.pos.x - b.pos.x);
  return [0, 1].flatMap((i) => (seen[i] ? [seen[i].pos.x / 480, seen[i].pos.y / 360] : [2, 0.5]));
}

export default definePageGame({
  id: "Hopper-v1",
  page: "index.html",
  size: [480, 360],
  maxSeconds: 60,
  observation: box({ low: -5, high: 5, shape: [7] }),
  action: discrete(["fall", "hop"]),
  keys: { fall: [], hop: ["Space"] },
  seed: (w, seed) => w.k.randSeed(seed),
  ready: (w) => w.k?.getSceneName() === "title",
  restart: (w) => w.k.go("play"),
  playing: (w) => w.k.getSceneName() === "play" && w.k.get("bird").length === 1,
  observe(w) {
    const [bird] = w.k.get("bird");
    // It hops when the key goes down, which a key that is down cannot do again.
    return [bird.pos.y / 360, bird.vel.y / 800, w.k.isKeyDown("space") ? 1 : 0, ...pillars(w)];
  },
  // A tenth for each second alive, one for each pillar.
  reward(w) {
    const passed = w.k
      .get("lower")
      .filter((pillar: { passed: boolean; counted?: boolean }) => pillar.passed && !pillar.counted);
    for (const pillar of passed) pillar.counted = true;
    return passed.length + 0.1 / 60;
  },
  over: (w) => w.k.getSceneName() === "lost",
});
