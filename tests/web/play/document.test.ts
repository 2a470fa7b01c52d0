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
