/** Parts of an observation: where they lie, and what is refused. */

import { describe, expect, test } from "vitest";
import type { ObservationValue } from "../../../web/sdk/src/contract.ts";
import {
  allocateEntry,
  ObservationReader,
  observationEntries,
  observationView,
} from "../../../web/sdk/src/observation.ts";
import { box, dict, discrete, multiBinary, multiDiscrete } from "../../../web/sdk/src/spaces.ts";

const SPACE = dict({
  speed: box({ shape: [2] }),
  item: discrete(4),
  cards: multiDiscrete([2, 3]),
  doors: multiBinary(3),
  picture: box({ shape: [1, 2], dtype: "uint8" }),
});
const GOOD = { speed: [0.5, -1], item: 3, cards: [1, 2], doors: [1, 0, 1], picture: [0, 255] };

function readerOf() {
  const batches = observationEntries(SPACE).map((entry) => allocateEntry(entry, 2));
  const view = observationView(SPACE, batches, 1);
  return { batches, view, reader: new ObservationReader(SPACE, view, "observation") };
}

test("entries are sorted; choices travel as int32, switches as uint8", () => {
  const entries = observationEntries(SPACE).map(({ name, dtype, shape, size }) => [name, dtype, shape, size]);
  expect(entries).toEqual([
    ["cards", "int32", [2], 2],
    ["doors", "uint8", [3], 3],
    ["item", "int32", [], 1],
    ["picture", "uint8", [1, 2], 2],
    ["speed", "float32", [2], 2],
  ]);
});

test("each part is written to its own array; a single number will do for an entry of one", () => {
  const { batches, reader } = readerOf();
  reader.write("update", GOOD);
  reader.checkFinite("update");
  expect(batches.map((array) => [...array])).toEqual([
    [0, 0, 1, 2],
    [0, 0, 0, 1, 0, 1],
    [0, 3],
    [0, 0, 0, 255],
    [0, 0, 0.5, -1],
  ]);
});

describe("a whole number that is none of its space is refused", () => {
  const cases: [Partial<Record<keyof typeof GOOD, unknown>>, string][] = [
    [{ item: 4 }, "observation.item[0] = 4, expected a whole number from 0 to 3"],
    [{ item: -1 }, "observation.item[0] = -1"],
    [{ item: [1.5] }, "observation.item[0] = 1.5"],
    [{ cards: [0, 3] }, "observation.cards[1] = 3, expected a whole number from 0 to 2"],
    [{ doors: [0, 2, 0] }, "observation.doors[1] = 2, expected a whole number from 0 to 1"],
    [{ doors: [0, 256, 0] }, "observation.doors[1] = 256"],
    [{ picture: [0, 256] }, "observation.picture[1] = 256, expected a whole number from 0 to 255"],
    [{ picture: [-1, 0] }, "observation.picture[0] = -1"],
    [{ picture: [0, 0.5] }, "observation.picture[1] = 0.5"],
    [{ picture: [Number.NaN, 0] }, "observation.picture[0] = NaN"],
    [{ cards: [1] }, "observation.cards with 1 numbers, expected 2"],
    [{ item: undefined }, "observation.item"],
  ];
  for (const [fields, text] of cases) {
    test(text, () => {
      const { reader } = readerOf();
      expect(() => {
        reader.write("update", { ...GOOD, ...fields } as ObservationValue);
        reader.checkFinite("update");
      }).toThrow(text);
    });
  }

  test("also where the game filled its view itself", () => {
    const { reader, view } = readerOf();
    reader.write("start", GOOD);
    (view as Record<string, Int32Array>).item[0] = 9;
    expect(() => reader.checkFinite("start")).toThrow("start() gave observation.item[0] = 9");
  });
});
