import { box, dict, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { CoarseView } from "../../../web/playtest/src/coarse-view.ts";

test("numbers of a bounded box are alike within an eighth of its range", () => {
  const view = new CoarseView({ observation: box({ shape: [1], low: 0, high: 8 }) });
  expect(view.of(Float32Array.of(3.1))).toBe(view.of(Float32Array.of(3.9)));
  expect(view.of(Float32Array.of(3.1))).not.toBe(view.of(Float32Array.of(4.1)));
});

test("of an unbounded one they are alike within half a doubling", () => {
  const view = new CoarseView({ observation: box({ shape: [1] }) });
  expect(view.of(Float32Array.of(1000))).toBe(view.of(Float32Array.of(1050)));
  expect(view.of(Float32Array.of(1000))).not.toBe(view.of(Float32Array.of(2000)));
  expect(view.of(Float32Array.of(1000))).not.toBe(view.of(Float32Array.of(-1000)));
});

test("choices are told apart, and the entries of a dict", () => {
  const view = new CoarseView({
    observation: dict({ b: discrete(20), a: box({ shape: [1], low: 0, high: 1 }) }),
  });
  const seen = (b: number, a: number) => view.of({ b: Int32Array.of(b), a: Float32Array.of(a) });
  expect(seen(18, 0)).not.toBe(seen(19, 0));
  expect(seen(0, 0)).not.toBe(seen(0, 0.9));
});

test("a large picture is looked at here and there", () => {
  const view = new CoarseView({ observation: box({ shape: [64, 64, 1], dtype: "uint8" }) });
  const picture = new Uint8Array(4096);
  const dark = view.of(picture);
  picture[1] = 255;
  expect(view.of(picture)).toBe(dark);
  picture[16] = 255;
  expect(view.of(picture)).not.toBe(dark);
});
