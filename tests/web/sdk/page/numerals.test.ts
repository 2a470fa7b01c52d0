import { expect, test } from "vitest";
import { Numerals } from "../../../../web/sdk/src/page/numerals.ts";

const values = [0, 250, 750, 1_000, 12_250, 1_234_567];

test.each(["en-US", "de-DE", "fr-FR", "de-CH", "en-IN", "ar-EG", "hi-IN", "es-ES", "ru-RU", "fa-IR"])(
  "numbers of %s are read as they are written, whether the page says its language or not",
  (language) => {
    for (const said of [language, ""]) {
      const numerals = new Numerals(said);
      const read = values.map((value) => numerals.read(`Points: ${value.toLocaleString(language)}!`));
      expect([said, read.map(({ numbers }) => numbers)]).toEqual([said, values.map((value) => [value])]);
      expect(new Set(read.map(({ pattern }) => pattern))).toEqual(new Set(["Points: #!"]));
    }
  },
);

test.each([
  ["de", "12,5 m von 1.000,25 m", [12.5, 1000.25]],
  ["de", "1,250 km", [1.25]],
  ["", "1.250 s", [1.25]],
  ["", "1,234.5 of 2,50,000", [1234.5, 250_000]],
  ["", "1 000 000", [1, 0, 0]],
  ["fr", "1 000 000", [1_000_000]],
  ["", "1.0K of 2.5M, 3B, 10k", [1000, 2_500_000, 3e9, 10_000]],
  ["", "3Kings 4D 5th", [3, 4, 5]],
  ["", "x=-3, (-4) 5-6 −7", [-3, -4, 5, 6, -7]],
  ["", "3,4 and 0,123 and 007", [3, 4, 0, 123, 7]],
  ["no-such-language-at-all", "1,000", [1000]],
])("%s: %s", (language, text, numbers) => {
  expect(new Numerals(language).read(text).numbers).toEqual(numbers);
});

test("what a place has shown decides what a point is, whatever the page's language", () => {
  const numerals = new Numerals("de");
  const read = (text: string): number => numerals.read(text).numbers[0];
  expect([read("Zeit 0.984"), read("Zeit 1.000"), read("Punkte 750"), read("Punkte 1.000")]).toEqual([
    0.984, 1, 750, 1000,
  ]);
});
