/** What a finding's card says. */

import { describe, expect, it } from "vitest";
import {
  changesOfFlag,
  sentenceParts,
  titleOfFinding,
} from "../../../../web/dashboard/src/state/finding-text.ts";

describe("a finding", () => {
  it("is headed by its id in words", () => {
    expect(titleOfFinding({ finding_id: "no-episode-ended" })).toBe("No episode ended");
  });

  it("changes the setting of its flag", () => {
    const short = { instances: "collection.instances_per_worker" };
    expect(changesOfFlag("--ppo.learning-rate 0.0025", short)).toEqual({ "ppo.learning_rate": "0.0025" });
    expect(changesOfFlag("--instances 8", short)).toEqual({ "collection.instances_per_worker": "8" });
    expect(changesOfFlag("--preset explore", short)).toEqual({ preset: "explore" });
    expect(changesOfFlag("no flag", short)).toEqual({});
  });

  it("is a sentence in which what can be typed stands apart", () => {
    expect(sentenceParts("take smaller steps: `--ppo.learning-rate 0.0005`")).toEqual([
      { text: "Take smaller steps: ", isCode: false },
      { text: "--ppo.learning-rate 0.0005", isCode: true },
      { text: ".", isCode: false },
    ]);
    expect(sentenceParts("observation[0] was 1")).toEqual([{ text: "observation[0] was 1.", isCode: false }]);
  });
});
