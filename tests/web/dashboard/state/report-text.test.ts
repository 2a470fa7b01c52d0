/** Reports, cut down to what the game's author can use. */

import { describe, expect, it } from "vitest";
import { shortError, withoutRules, wordsOf } from "../../../../web/dashboard/src/state/report-text.ts";

describe("wordsOf", () => {
  it("names the class once", () => {
    expect(wordsOf({ kind: "throw", name: "TypeError", text: "update() threw: TypeError: no" })).toBe(
      "update() threw: TypeError: no",
    );
    expect(wordsOf({ kind: "nan", name: "GameError", text: "reward is NaN" })).toBe(
      "GameError: reward is NaN",
    );
    expect(wordsOf({ kind: "check", name: "contract", text: "no" })).toBe("no");
  });
});

describe("withoutRules", () => {
  it("cites no rule, and keeps everything else", () => {
    expect(withoutRules("C10: the visitor aC1@192.0.2.1 is banned: C7: 3 results differed")).toBe(
      "the visitor aC1@192.0.2.1 is banned: 3 results differed",
    );
  });
});

describe("shortError", () => {
  it("is the bundler's sentence and its place", () => {
    const text = `game.ts could not be bundled
✘ [ERROR] Expected "}" but found "1"

    game.ts:2:75:
      2 │ ...start( { return 1 } });
        ╵                    ^`;
    expect(shortError(text)).toBe('Expected "}" but found "1" (game.ts:2:75)');
    expect(shortError("game.ts imports /etc/passwd\nmore")).toBe("game.ts imports /etc/passwd");
  });
});
