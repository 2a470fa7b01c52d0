import { expect, test } from "vitest";
import { nearestName } from "../../../web/sdk/src/nearest-name.ts";

const KNOWN = ["id", "tickSeconds", "secondsPerStep", "maxSeconds", "observation", "action", "actionMask"];

test.each([
  ["maxSteps", "maxSeconds"],
  ["tickSecond", "tickSeconds"],
  ["observationSpace", "observation"],
  ["ActionSpace", "action"],
  ["colour", null],
])("%s is most like %s", (name, expected) => {
  expect(nearestName(name, KNOWN)).toBe(expected);
});
