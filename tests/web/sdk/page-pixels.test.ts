import { expect, test } from "vitest";
import { besidePixels, pixelSettings, pixelSpace } from "../../../web/sdk/src/page-pixels.ts";

test("84 x 84 in grey, four steps of it, unless said otherwise", () => {
  expect(pixelSettings({})).toEqual({
    size: 84,
    grey: true,
    stack: 4,
    canvas: null,
    lastTickOnly: false,
    webGl: false,
  });
  expect(pixelSpace(pixelSettings({}))).toMatchObject({ dtype: "uint8", shape: [84, 84, 4] });
  const colors = pixelSettings({ size: 32, grey: false, stack: 2 });
  expect(pixelSpace(colors).shape).toEqual([32, 32, 6]);
});

test.each([
  [{ size: 7 }, "pixels.size: must be a whole number from 8 to 256, got 7"],
  [{ size: 84.5 }, "pixels.size: must be a whole number"],
  [{ stack: 0 }, "pixels.stack: must be a whole number from 1 to 16, got 0"],
  [{ grey: "yes" }, 'pixels.grey: must be true or false, got "yes"'],
  [{ lastTickOnly: 1 }, "pixels.lastTickOnly: must be true or false"],
  [{ canvas: "" }, "pixels.canvas: must be a CSS selector"],
])("%j: %s", (wrong, text) => {
  expect(() => pixelSettings(wrong as never)).toThrow(text);
});

test("what else is seen has the pixels beside it, of several agents for each", () => {
  const pixels = new Uint8Array(4);
  expect(besidePixels({ a: [1] }, pixels)).toEqual({ a: [1], pixels });
  expect(besidePixels([{ a: [1] }, { a: [2] }], pixels)).toEqual([
    { a: [1], pixels },
    { a: [2], pixels },
  ]);
});
