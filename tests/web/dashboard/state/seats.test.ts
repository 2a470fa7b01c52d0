/** Who plays whom. */

import { describe, expect, it } from "vitest";
import { policyIdsOf, seatsOf } from "../../../../web/dashboard/src/state/seats.ts";

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
