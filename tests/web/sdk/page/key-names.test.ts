import { nameOfKey } from "attract/page/key-names";
import { describe, expect, it } from "vitest";

describe("nameOfKey", () => {
  it("is what stands on the key", () => {
    expect(["ArrowUp", "KeyW", "Digit3", "Space"].map(nameOfKey)).toEqual(["↑", "W", "3", "Space"]);
  });
});
