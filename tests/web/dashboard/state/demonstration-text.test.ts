import type { DemonstrationEntry } from "@attract/schema";
import { expect, test } from "vitest";
import { demonstrationTitle } from "../../../../web/dashboard/src/state/demonstration-text.ts";

const ENTRY: DemonstrationEntry = {
  id: "20261123-140200-abcdef",
  game_id: "Catch-v1",
  returns: [12.5],
  num_steps: 1340,
  ended: true,
  created_at: "2026-11-23T14:02:00+00:00",
  player: "person",
  agent: 0,
  problem: null,
};

const NOW = Date.parse("2026-11-23T14:07:00Z");

test("an episode is told by its score, its length and its age", () => {
  expect(demonstrationTitle(ENTRY, NOW)).toBe("Score 12.5, 1,340 steps, 5 min ago");
  expect(demonstrationTitle({ ...ENTRY, num_steps: 1, player: "script" }, NOW)).toBe(
    "Score 12.5, 1 step, script, 5 min ago",
  );
  expect(demonstrationTitle({ ...ENTRY, returns: [-2, 3], agent: 1 }, NOW)).toMatch(/^Score 3,/);
});

test("a damaged file is told by its name and what is wrong with it", () => {
  expect(demonstrationTitle({ ...ENTRY, returns: [], problem: "is no demonstration" }, NOW)).toBe(
    "20261123-140200-abcdef: is no demonstration",
  );
});
