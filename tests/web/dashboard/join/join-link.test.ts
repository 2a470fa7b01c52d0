/** The join link's fragment. */

import { describe, expect, it } from "vitest";
import { parseJoin } from "../../../../web/dashboard/src/join/join-link.ts";

describe("parseJoin", () => {
  it.each([
    ["#token=abc&workers=3", 8, { token: "abc", workers: 3 }],
    ["#token=abc", 8, { token: "abc", workers: 4 }],
    ["#token=abc", 1, { token: "abc", workers: 1 }],
    ["#token=abc&workers=0", 2, { token: "abc", workers: 1 }],
    ["#token=abc&workers=1.5", 3, { token: "abc", workers: 2 }],
    ["#token=abc&workers=99999", 3, { token: "abc", workers: 2 }],
    ["#workers=2", 4, { token: null, workers: 2 }],
    ["", 4, { token: null, workers: 3 }],
  ])("%s on %i cores", (fragment, cores, wanted) => {
    expect(parseJoin(fragment, cores)).toEqual(wanted);
  });
});
