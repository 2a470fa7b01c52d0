import { describe, expect, it } from "vitest";
import { scoreText } from "../../../web/exported-page/scores.ts";

describe("scoreText", () => {
  it("says the last episode, and the mean of several", () => {
    expect(scoreText("You", [[3]], 1)).toBe("You: 3.0");
    expect(scoreText("You", [[3], [4]], 2)).toBe("You: 4.0; mean of 2 episodes 3.5");
    expect(scoreText("You", [[3], [4]], 9)).toBe("You: 4.0; mean of the last 2 episodes 3.5");
  });

  it("gives each agent of several its own", () => {
    const returns = [
      [1, 0],
      [2, -1],
    ];
    expect(scoreText("The agent", returns, 2)).toBe("The agent: 2.0 : -1.0; mean of 2 episodes 1.5 : -0.5");
  });
});
