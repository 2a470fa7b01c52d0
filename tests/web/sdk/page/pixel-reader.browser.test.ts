/** The picture of a page's canvases, made small: which of them, in which order, and what becomes of each pixel. */

import { describe, expect, test } from "vitest";
import { PixelReader } from "../../../../web/sdk/src/page/pixel-reader.ts";
import { type PixelOptions, pixelSettings } from "../../../../web/sdk/src/page-pixels.ts";
import { blankPage } from "../../../support/blank-page.ts";

type Page = Window & typeof globalThis;

/** A page of `body`; each canvas is filled with the colour in its `data-fill`. */
function pageOf(body: string): Page {
  const page = blankPage(400, 300) as Page;
  page.document.body.innerHTML = body;
  for (const canvas of page.document.querySelectorAll("canvas")) {
    if (canvas.dataset.fill === undefined) continue;
    const context = canvas.getContext("2d")!;
    context.fillStyle = canvas.dataset.fill;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  return page;
}

function readerOf(body: string, options: PixelOptions = {}): { reader: PixelReader; page: Page } {
  const page = pageOf(body);
  return { page, reader: new PixelReader(page, pixelSettings({ size: 8, stack: 1, ...options })) };
}

/** The picture as one number a pixel, from left to right and from top to bottom. */
function bytesOf(body: string, options: PixelOptions = {}): number[] {
  const { reader } = readerOf(body, options);
  reader.begin();
  return Array.from(reader.stacked);
}

const at = (x: number, y: number): number => 8 * y + x;

describe("pixels", () => {
  test("are red, green and blue, or their brightness, by Rec. 601", () => {
    const canvas = `<canvas width="8" height="8" data-fill="rgb(200, 100, 50)"></canvas>`;
    expect(bytesOf(canvas, { grey: false }).slice(0, 6)).toEqual([200, 100, 50, 200, 100, 50]);
    // (77 x 200 + 150 x 100 + 29 x 50 + 128) / 256 = 124.9
    expect(new Set(bytesOf(canvas))).toEqual(new Set([124]));
    expect(bytesOf(`<canvas width="8" height="8" data-fill="#fff"></canvas>`)[0]).toBe(255);
  });

  test("are also those of a canvas in a shadow root, or in a frame", () => {
    const page = pageOf(`<p id="host"></p><iframe></iframe>`);
    const canvas = '<canvas width="8" height="8"></canvas>';
    const shadow = page.document.querySelector("#host")!.attachShadow({ mode: "open" });
    for (const [root, fill] of [
      [shadow, "#000"],
      [page.document.querySelector("iframe")!.contentDocument!.body, "#fff"],
    ] as const) {
      root.innerHTML = canvas;
      const context = root.querySelector("canvas")!.getContext("2d")!;
      context.fillStyle = fill;
      context.fillRect(0, 0, 8, 8);
      const reader = new PixelReader(page, pixelSettings({ size: 8, stack: 1 }));
      reader.begin();
      expect(reader.stacked[0]).toBe(fill === "#fff" ? 255 : 0);
      root.innerHTML = "";
    }
  });

  test("stand where they stand in the canvas, row by row, whatever its proportions", () => {
    const { reader, page } = readerOf(`<canvas width="80" height="16" data-fill="#000"></canvas>`);
    const context = page.document.querySelector("canvas")!.getContext("2d")!;
    context.fillStyle = "#fff";
    // A tenth of the width is one pixel of eight, and two of sixteen rows are one.
    context.fillRect(50, 6, 10, 2);
    reader.begin();
    const white = Array.from(reader.stacked).flatMap((value, i) => (value > 0 ? [[i, value]] : []));
    expect(white).toEqual([[at(5, 3), 255]]);
  });

  test.each([64, 100, 217, 400, 1000])("of %i across are means: none is missed, wherever it lies", (side) => {
    const { reader, page } = readerOf(`<canvas width="${side}" height="${side}" data-fill="#000"></canvas>`);
    const context = page.document.querySelector("canvas")!.getContext("2d")!;
    const area = (side / 8) ** 2;
    // A line over the whole height, as thin as a byte can tell.
    const width = Math.ceil(side / 400);
    for (let place = 0; place < 23; place++) {
      context.fillStyle = "#000";
      context.fillRect(0, 0, side, side);
      context.fillStyle = "#fff";
      const x = Math.floor((side * (place + 3)) / 29);
      context.fillRect(x, 0, width, side);
      reader.begin();
      const light = reader.stacked.reduce((sum, value) => sum + value, 0) / 255;
      // All of its light, but for how it falls between two pixels.
      expect(light / ((width * side) / area)).toBeGreaterThan(0.35);
      expect(light / ((width * side) / area)).toBeLessThan(1.6);
    }
  });

  test("of a canvas that is smaller than the picture are spread", () => {
    expect(new Set(bytesOf(`<canvas width="4" height="4" data-fill="#808080"></canvas>`))).toEqual(
      new Set([128]),
    );
  });

  test("are those of a canvas of twice as many pixels on a finer screen", () => {
    const half = (side: number): number[] => {
      const { reader, page } = readerOf(
        `<canvas width="${side}" height="${side}" style="width:80px;height:80px" data-fill="#000"></canvas>`,
      );
      const context = page.document.querySelector("canvas")!.getContext("2d")!;
      context.fillStyle = "#fff";
      context.fillRect(0, 0, side / 2, side);
      reader.begin();
      return Array.from(reader.stacked);
    };
    expect(half(160)).toEqual(half(80));
  });
});

describe("the picture", () => {
  const small = `<canvas id="small" width="300" height="300" style="width:20px;height:20px" data-fill="#fff"></canvas>`;
  const large = `<canvas id="large" width="40" height="40" style="width:80px;height:80px" data-fill="#404040"></canvas>`;

  test("is that of the canvas that covers most of the page, or of the one that is named", () => {
    expect(new Set(bytesOf(small + large))).toEqual(new Set([64]));
    expect(new Set(bytesOf(small + large, { canvas: "#small" }))).toEqual(new Set([255]));
  });

  test.each([["display:none"], ["visibility:hidden"], ["opacity:0"]])(
    "is of no canvas that is hidden: %s",
    (style) => {
      const hidden = `<div style="${style}"><canvas width="200" height="200" data-fill="#000"></canvas></div>`;
      expect(new Set(bytesOf(hidden + large))).toEqual(new Set([64]));
    },
  );

  test("has what lies over it, in the order of z-indices and then of the document", () => {
    const layer = (color: string, style: string): string =>
      `<canvas width="80" height="80" style="position:absolute;left:0;top:0;${style}" data-fill="${color}"></canvas>`;
    // 80 x 80, of which the left half, the upper half and the lower right quarter are covered by others.
    const board = layer("#101010", "width:80px;height:80px");
    const left = layer("#505050", "width:40px;height:80px;z-index:2");
    const upper = layer("#909090", "width:80px;height:40px;z-index:1");
    const quarter = layer("#c0c0c0", "left:40px;top:40px;width:40px;height:40px;z-index:-1");
    const found = bytesOf(left + upper + board + quarter);
    expect([found[at(1, 1)], found[at(6, 1)], found[at(1, 6)], found[at(6, 6)]]).toEqual([80, 144, 80, 16]);
    // A layer of its own holds what is in it, whatever z-index that has.
    const held = `<div style="position:absolute;left:0;top:0;z-index:0">${layer("#505050", "width:80px;height:80px;z-index:9")}</div>`;
    expect(new Set(bytesOf(held + layer("#101010", "width:80px;height:80px;z-index:1")))).toEqual(
      new Set([16]),
    );
    expect(new Set(bytesOf(board + layer("#909090", "width:80px;height:80px")))).toEqual(new Set([144]));
  });

  test("has the page's colours where the canvas is transparent, white if none", () => {
    const clear = `<canvas width="8" height="8"></canvas>`;
    expect(bytesOf(clear)[0]).toBe(255);
    expect(bytesOf(`<div style="background:#404040"><p>${clear}</p></div>`)[0]).toBe(64);
    expect(
      bytesOf(`<div style="background:#404040">${clear.replace(">", ' style="background:#202020">')}`)[0],
    ).toBe(32);
  });

  test("follows a canvas that is added, shown or moved, and does not look for one when a text changes", () => {
    const { reader, page } = readerOf(`${large}<p>0</p>`);
    reader.begin();
    const looked = { count: 0 };
    const { querySelectorAll } = page.document;
    page.document.querySelectorAll = ((selector: string) => {
      looked.count++;
      return querySelectorAll.call(page.document, selector);
    }) as never;
    page.document.querySelector("p")!.textContent = "1";
    reader.look();
    expect([looked.count, reader.stacked[0]]).toEqual([0, 64]);
    const over = page.document.createElement("canvas");
    over.style.cssText = "position:absolute;left:0;top:0;width:200px;height:200px;background:#808080";
    page.document.body.append(over);
    reader.look();
    expect([looked.count, reader.stacked[at(0, 0)]]).toEqual([1, 128]);
    over.style.display = "none";
    reader.look();
    expect(reader.stacked[0]).toBe(64);
  });

  test("that is not there is named, with what there is", () => {
    expect(() => bytesOf("<p>0</p>")).toThrow("pixels: the page has no canvas");
    expect(() => bytesOf(`<div hidden>${large}</div>`)).toThrow(
      "pixels: no canvas is to be seen when the episode begins; the page has the canvas #large (40 x 40)",
    );
    expect(() => bytesOf(large, { canvas: "#board" })).toThrow(
      'pixels.canvas: no canvas that matches "#board" is to be seen',
    );
  });
});
