/** Parts of an observation: where they lie, and what is refused. */

import { describe, expect, test } from "vitest";
import type { ObservationValue } from "../../../web/sdk/src/contract.ts";
import {
  allocateEntry,
  asReturned,
  ObservationReader,
  observationEntries,
  observationView,
} from "../../../web/sdk/src/observation.ts";
import { box, dict, discrete, multiBinary, multiDiscrete, set } from "../../../web/sdk/src/spaces.ts";

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

describe("a set", () => {
  const THINGS = dict({ me: box({ shape: [1] }), rocks: set({ max: 3, shape: [2] }) });

  function thingsOf() {
    const batches = observationEntries(THINGS).map((entry) => allocateEntry(entry, 1));
    const view = observationView(THINGS, batches, 0);
    const reader = new ObservationReader(THINGS, view, "observation");
    const write = (rocks: unknown) => {
      reader.write("update", { me: 7, rocks } as ObservationValue);
      reader.checkFinite("update");
    };
    return { rocks: batches[1], view, reader, write };
  }

  test("is its rows, each with a 1 after its numbers, and zeros after them", () => {
    const { rocks, view, write } = thingsOf();
    write([[1, 2], Float32Array.of(3, 4), { length: 2, 0: 5, 1: 6 }]);
    expect([...rocks]).toEqual([1, 2, 1, 3, 4, 1, 5, 6, 1]);
    write([[9, 8]]);
    expect([...rocks]).toEqual([9, 8, 1, 0, 0, 0, 0, 0, 0]);
    expect(asReturned(THINGS, view)).toEqual({ me: Float32Array.of(7), rocks: [Float32Array.of(9, 8)] });
    write([]);
    expect([...rocks]).toEqual(Array(9).fill(0));
    expect(asReturned(THINGS, view)).toMatchObject({ rocks: [] });
  });

  test("may be the whole observation", () => {
    const space = set({ max: 2, shape: [1] });
    const memory = new Float32Array(4);
    const reader = new ObservationReader(space, memory, "observation[1]");
    reader.write("start", [[5]]);
    reader.checkFinite("start");
    expect([...memory]).toEqual([5, 1, 0, 0]);
    expect(() => reader.write("start", [[1], [2], [3]])).toThrow(
      "start() returned observation[1] with 3 rows",
    );
    reader.invalidate();
    expect(() => reader.checkFinite("start")).toThrow("observation[1][0][0] = NaN");
  });

  const wanted = "expected a list of at most 3 rows of 2 numbers";
  const cases: [string, unknown, string][] = [
    ["too many rows", Array(4).fill([0, 0]), `observation.rocks with 4 rows, ${wanted}`],
    ["an endless list", { length: 2 ** 40 }, `observation.rocks with 1099511627776 rows, ${wanted}`],
    ["half a row", { length: 0.5 }, `observation.rocks with {"length":0.5}, ${wanted}`],
    ["fewer than none", { length: -1 }, `observation.rocks with -1 rows, ${wanted}`],
    ["a length that is text", { length: "2" }, wanted],
    ["text", "ab", `observation.rocks with "ab", ${wanted}`],
    ["nothing", undefined, `observation.rocks with undefined, ${wanted}`],
    ["null", null, `observation.rocks with null, ${wanted}`],
    ["an object", { 0: [1, 2] }, wanted],
    ["one flat list", [1, 2], "observation.rocks[0] with 1, expected 2 numbers"],
    ["a short row", [[1, 2], [3]], "observation.rocks[1] with 1 numbers, expected 2 numbers"],
    ["a long row", [[1, 2, 3]], "observation.rocks[0] with 3 numbers, expected 2 numbers"],
    ["a sparse list", Array(2), "observation.rocks[0] with undefined, expected 2 numbers"],
    ["a sparse row", [[1, 2], Array(2)], "observation.rocks[1][0] = undefined, expected a number"],
    ["text in a row", [[1, "2"]], 'observation.rocks[0][1] = "2", expected a number'],
    [
      "NaN",
      [
        [0, 0],
        [1, Number.NaN],
      ],
      "observation.rocks[1][1] = NaN, expected a finite number",
    ],
    ["what float32 cannot hold", [[1e39, 0]], "observation.rocks[0][0] = Infinity"],
  ];
  test.each(cases)("%s is refused", (_, rocks, text) => {
    expect(() => thingsOf().write(rocks)).toThrow(text);
  });

  test("filled by the game itself says of each row whether it is a thing", () => {
    const { rocks, reader, write } = thingsOf();
    write([[1, 2]]);
    rocks[5] = 0.5;
    expect(() => reader.checkFinite("update")).toThrow(
      "update() gave observation.rocks[1][2] = 0.5, expected 1 where",
    );
    rocks[5] = 1;
    reader.checkFinite("update");
  });

  test("may have any name", () => {
    const space = dict(JSON.parse('{"__proto__": {"kind": "set", "max": 2, "shape": [1]}}'));
    const batches = observationEntries(space).map((entry) => allocateEntry(entry, 1));
    const reader = new ObservationReader(space, observationView(space, batches, 0), "observation");
    reader.write("update", JSON.parse('{"__proto__": [[3]]}'));
    expect(batches.map((array) => [...array])).toEqual([[3, 1, 0, 0]]);
    expect(() => reader.write("update", {})).toThrow("observation.__proto__");
  });
});
