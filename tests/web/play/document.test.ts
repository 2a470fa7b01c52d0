import { choosePolicy } from "@attract/play/document";
import { expect, test } from "vitest";
import { filesOf } from "./support/golden.ts";

const { document } = filesOf("gru");
const { inputs } = document;
const two = {
  ...document,
  inputs: undefined,
  seats: ["scout", "keeper"],
  policies: {
    scout: { file: "scout.onnx", inputs: inputs! },
    keeper: { file: "keeper.onnx", inputs: inputs! },
  },
};

test("a sole policy needs no name, one of several does", () => {
  expect(choosePolicy(document, undefined).file).toBe("policy.onnx");
  expect(choosePolicy(two, "keeper").file).toBe("keeper.onnx");
  expect(() => choosePolicy(document, "scout")).toThrow("one policy, which has no name: got scout");
  expect(() => choosePolicy(two, undefined)).toThrow('say which one plays: { policy: "scout" or "keeper" }');
  expect(() => choosePolicy(two, "constructor")).toThrow("there is no policy constructor");
});

test("another format is refused by its name", () => {
  expect(() => choosePolicy({ ...document, format_version: 3 }, undefined)).toThrow("got attract-policy 3");
  expect(choosePolicy({ ...document, format_version: 2 }, undefined).file).toBe("policy.onnx");
  expect(() => choosePolicy({} as never, undefined)).toThrow("expected a policy.json");
  expect(() => choosePolicy({ ...document, inputs: undefined }, undefined)).toThrow("has no inputs");
});

test("a level is a version of the sole policy, from 1 on", () => {
  const levels = [
    { level: 1, file: "level-1.onnx", policy_version: 3, wins_below: null },
    { level: 2, file: "level-2.onnx", policy_version: 9, wins_below: 0.8 },
  ];
  const graded = { ...document, levels };
  expect(choosePolicy(graded, undefined, 1)).toMatchObject({ file: "level-1.onnx", policyVersion: 3 });
  expect(choosePolicy(graded, undefined)).toMatchObject({
    file: "policy.onnx",
    policyVersion: document.policy_version,
  });
  expect(() => choosePolicy(graded, undefined, 3)).toThrow("there is no level 3: they are 1 to 2");
  expect(() => choosePolicy(document, undefined, 1)).toThrow("attract export --levels 3 writes some");
  expect(() => choosePolicy(two, "keeper", 1)).toThrow("levels are of one policy");
});
