/** Who plays whom. */

import { describe, expect, it } from "vitest";
import { modelFileOf, policyIdsOf, seatsOf } from "../../../../web/dashboard/src/state/seats.ts";

describe("seatsOf", () => {
  it("is empty where one policy plays all", () => {
    expect(seatsOf({ settings: { collection: { seats: ["scout", "keeper"] } } })).toEqual([
      "scout",
      "keeper",
    ]);
    expect(seatsOf({ settings: { collection: {} } })).toEqual([]);
    expect(seatsOf({ settings: {} })).toEqual([]);
  });
});

describe("policyIdsOf", () => {
  it("names each policy once, and a sole one not at all", () => {
    expect(policyIdsOf(["scout", "keeper", "scout"])).toEqual(["scout", "keeper"]);
    expect(policyIdsOf(["scout", "scout"])).toEqual([null]);
    expect(policyIdsOf([])).toEqual([null]);
  });
});

describe("modelFileOf", () => {
  it("is the name that policy.json has for it", () => {
    expect([null, "scout"].map(modelFileOf)).toEqual(["policy.onnx", "scout.onnx"]);
  });
});
