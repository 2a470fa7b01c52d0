import { expect, test } from "vitest";
import { labelComparisons } from "../../../web/check/src/label-comparisons.ts";

test("comparisons with a label are found with their places, other strings are not", () => {
  const source = [
    'if (action === "left") x--;',
    "if ('right' == action) x++;",
    'switch (action) { case "left": break; }',
    'const names = ["left", "right"];',
    'if (name === "leftmost") y++;',
    "if (action !== `up.down`) z++;",
  ].join("\n");
  expect(labelComparisons(source, ["left", "right", "up.down"])).toEqual([
    { label: "left", line: 1, column: 12 },
    { label: "right", line: 2, column: 5 },
    { label: "left", line: 3, column: 19 },
    { label: "up.down", line: 6, column: 12 },
  ]);
  expect(labelComparisons(source, [])).toEqual([]);
});
