import type { LadderRow } from "@attract/schema";
import { expect, test } from "vitest";
import { intervalText, playerText, shareText } from "../../../../web/dashboard/src/state/ladder.ts";

const row = (player: string, policy_version: number | null = null): LadderRow => ({
  player,
  policy_version,
  rating: 25,
  rating_std: 8,
  win_rate: null,
  episodes: 0,
});

test("players are named as people know them", () => {
  expect(playerText(row("newest"), 120)).toBe("Version 120, the newest");
  expect(playerText(row("version", 0), 120)).toBe("Version 0");
  expect(playerText(row("random"), 120)).toBe("Random play");
  expect(playerText(row("script:players/greedy.ts"), 120)).toBe("players/greedy.ts");
});

test("shares are in percent, with an interval where there is one", () => {
  expect([shareText(0.524), shareText(0), shareText(null)]).toEqual(["52 %", "0 %", "–"]);
  expect(intervalText({ mean: 0.5, low: 0.404, high: 0.596 })).toBe("40 to 60 %");
  expect(intervalText({ mean: 0, low: 0, high: null })).toBe("0 to 100 %");
});
