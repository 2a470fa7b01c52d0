/** What a page draws, as things and texts: which there are, where they stand, how they move, and what covers them. */

import { describe, expect, test } from "vitest";
import { type Drawn, drawn } from "../../../../web/sdk/src/page/drawn.ts";
import { blankPage } from "../../../support/blank-page.ts";

type Page = Window & typeof globalThis;
interface World {
  page: Page;
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  eyes: Drawn;
}

/** A page with a canvas of 200 x 100, followed before anything is drawn. */
function world(): World {
  const page = blankPage() as Page;
  page.document.body.innerHTML = '<canvas width="200" height="100"></canvas>';
  const eyes = drawn(page);
  const canvas = page.document.querySelector("canvas")!;
  return { page, canvas, context: canvas.getContext("2d")!, eyes };
}

function nextFrame({ page }: World): Promise<void> {
  return new Promise((resolve) => page.requestAnimationFrame(() => resolve()));
}

function places(eyes: Drawn, look: string): number[][] {
  return eyes.things(look).map(({ x, y }) => [x, y].map((share) => Math.round(share * 1000) / 1000));
}

describe("things", () => {
  test("are rectangles by their colour and size, in the order in which they are drawn", () => {
    const { context, eyes } = world();
    context.fillStyle = "red";
    context.fillRect(20, 10, 40, 20);
    context.fillRect(100, 10, 10, 20);
    context.fillStyle = "rgb(0 0 255)";
    context.fillRect(0, 90, 20, 10);
    expect(eyes.looks()).toEqual(["rect #ff0000 40x20", "rect #ff0000 10x20", "rect #0000ff 20x10"]);
    expect(places(eyes, "rect #ff0000")).toEqual([
      [0.2, 0.2],
      [0.525, 0.2],
    ]);
    expect(places(eyes, "rect #ff0000 10x20")).toEqual([[0.525, 0.2]]);
    expect(eyes.things("rect #0000ff")[0]).toEqual({
      x: 0.05,
      y: 0.95,
      width: 0.1,
      height: 0.1,
      dx: 0,
      dy: 0,
    });
    expect(eyes.things("rect #ff")).toEqual([]);
  });

  test("are shapes by what their path reaches, once for its inside and its outline", () => {
    const { context, eyes } = world();
    context.fillStyle = "#123456";
    context.beginPath();
    context.arc(50, 50, 10, 0, 7);
    context.fill();
    context.stroke();
    context.beginPath();
    context.moveTo(150, 20);
    context.lineTo(170, 20);
    context.lineTo(160, 40);
    context.fill();
    expect(eyes.looks()).toEqual(["shape #123456 20x20", "shape #123456 20x20"]);
    expect(places(eyes, "shape #123456")).toEqual([
      [0.25, 0.5],
      [0.8, 0.3],
    ]);
  });

  test("are images by their file, their size and the part that is drawn", async () => {
    const { page, context, eyes } = world();
    const image = page.document.createElement("img");
    image.src = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="32" height="16"/>')}`;
    await image.decode();
    context.drawImage(image, 10, 10);
    context.drawImage(image, 50, 10, 20, 20);
    context.drawImage(image, 16, 0, 16, 16, 100, 10, 20, 20);
    expect(eyes.looks()).toEqual(["image 32x16", "image 20x20", "image 20x20 @16,0"]);
    expect(places(eyes, "image 20x20 @16,0")).toEqual([[0.55, 0.2]]);
    const sprite = { ...image, src: "https://game.example/art/bird%20one.png?v=3", width: 4, height: 4 };
    expect(() => context.drawImage(sprite as unknown as HTMLImageElement, 0, 0)).toThrow();
    expect(places(eyes, "bird one.png 4x4")).toEqual([[0.01, 0.02]]);
  });

  test("stand where the page has moved, turned and scaled to", () => {
    const { context, eyes } = world();
    context.translate(100, 50);
    context.rotate(Math.PI / 2);
    context.scale(2, 1);
    context.fillRect(10, 0, 10, 10);
    // 20 to 40 below, 10 to the left.
    const [{ x, y, width, height }] = eyes.things("rect #000000");
    expect([x, y, width, height].map((share) => Math.round(share * 1000) / 1000)).toEqual([
      0.475, 0.8, 0.05, 0.2,
    ]);
  });

  test("move by so much since the frame before, however often the page draws", async () => {
    const all = world();
    const { context, eyes } = all;
    for (const x of [20, 24]) {
      context.clearRect(0, 0, 200, 100);
      context.fillRect(x, 10, 10, 10);
      context.fillRect(190 - x, 70, 10, 10);
      await nextFrame(all);
      // A frame in which nothing is drawn.
      await nextFrame(all);
    }
    expect(eyes.things("rect #000000").map(({ dx, dy }) => [dx, dy])).toEqual([
      [expect.closeTo(0.02), 0],
      [expect.closeTo(-0.02), 0],
    ]);
    context.fillStyle = "red";
    context.fillRect(100, 10, 10, 10);
    expect(eyes.things("rect #ff0000")[0]).toMatchObject({ dx: 0, dy: 0 });
  });

  test("are gone when they are cleared, painted over, or the canvas gets a size", () => {
    const { canvas, context, eyes } = world();
    const draw = (): void => {
      context.clearRect(0, 0, 200, 100);
      context.fillStyle = "red";
      context.fillRect(20, 20, 10, 10);
      context.fillRect(60, 20, 10, 10);
      context.fillStyle = "white";
    };
    const left = (how: () => void): number[][] => {
      draw();
      how();
      return places(eyes, "rect #ff0000");
    };
    const second = [[0.325, 0.25]];
    expect(left(() => context.clearRect(20, 20, 10, 10))).toEqual(second);
    expect(left(() => context.fillRect(15, 15, 20, 20))).toEqual(second);
    expect(left(() => context.fillRect(25, 15, 20, 20))).toHaveLength(2);
    expect(left(() => context.fillRect(0, 0, 200, 100))).toEqual([]);
    expect(left(() => Object.assign(canvas, { width: canvas.width }))).toEqual([]);
    context.globalAlpha = 0.5;
    expect(left(() => context.fillRect(15, 15, 20, 20))).toHaveLength(2);
  });

  test("that leave a trail, or are never cleared, do not grow for ever", () => {
    const { context, eyes } = world();
    for (let i = 0; i < 50; i++) {
      context.fillStyle = "rgba(0, 0, 0, 0.1)";
      context.fillRect(0, 0, 200, 100);
      context.fillStyle = "red";
      context.fillRect(i, 0, 10, 10);
    }
    expect(places(eyes, "rect #ff0000")).toEqual([[0.27, 0.05]]);
    context.clearRect(0, 0, 200, 100);
    for (let i = 0; i < 5000; i++) context.strokeRect(i % 190, i % 90, 5, 5);
    expect(eyes.looks().length).toBe(400);
  });

  test("on a second buffer are seen once that is shown, and a small canvas is a thing", () => {
    const { page, context, eyes } = world();
    const buffer = page.document.createElement("canvas");
    Object.assign(buffer, { width: 100, height: 50 });
    const inner = buffer.getContext("2d")!;
    inner.fillStyle = "red";
    inner.fillRect(10, 10, 10, 10);
    expect(eyes.looks()).toEqual([]);
    for (let i = 0; i < 2; i++) context.drawImage(buffer, 0, 0, 200, 100);
    expect(places(eyes, "rect #ff0000")).toEqual([[0.15, 0.3]]);
    context.clearRect(0, 0, 200, 100);
    context.drawImage(buffer, 0, 0, 20, 10);
    expect(eyes.looks()).toEqual(["canvas 20x10"]);
  });

  test("of a page that is not followed before are seen from then on, and one pair of eyes is enough", () => {
    const { page, context, eyes } = world();
    expect(drawn(page)).toBe(eyes);
    context.globalAlpha = 0;
    context.fillRect(0, 0, 10, 10);
    context.fillText("none", 0, 10);
    expect([...eyes.looks(), ...eyes.texts()]).toEqual([]);
  });
});

describe("elements", () => {
  test("are things by a selector, with how far they move in a frame since the look before", async () => {
    const all = world();
    const { page, eyes } = all;
    const { innerWidth, innerHeight } = page;
    page.document.body.insertAdjacentHTML(
      "beforeend",
      `<p class="pipe" style="position: absolute; margin: 0; left: 60px; top: 15px; width: 30px; height: 30px"></p>
       <p class="pipe" hidden></p>`,
    );
    const pipe = page.document.querySelector(".pipe") as HTMLElement;
    const [first, ...others] = eyes.things(".pipe");
    expect(others).toEqual([]);
    expect(first.x).toBeCloseTo(75 / innerWidth);
    expect(first.y).toBeCloseTo(30 / innerHeight);
    expect([first.dx, first.dy]).toEqual([0, 0]);
    pipe.style.left = "48px";
    for (let i = 0; i < 4; i++) await nextFrame(all);
    for (let i = 0; i < 2; i++) {
      const [{ dx, dy }] = eyes.things(".pipe");
      // In three frames or four, as its own come first or last.
      expect(-dx * innerWidth).toBeGreaterThan(2.9);
      expect(-dx * innerWidth).toBeLessThan(4.1);
      expect(dy).toBe(0);
    }
    expect(eyes.things("#none")).toEqual([]);
  });
});

test("another episode knows nothing of the one before", async () => {
  const all = world();
  const { context, eyes } = all;
  for (const x of [20, 24]) {
    context.clearRect(0, 0, 200, 100);
    context.fillRect(x, 10, 10, 10);
    context.fillText("Score: 7", 10, 50);
    await nextFrame(all);
  }
  expect(eyes.things("rect #000000")[0].dx).toBeGreaterThan(0);
  context.clearRect(0, 0, 200, 100);
  eyes.forget();
  context.fillRect(28, 10, 10, 10);
  expect(eyes.things("rect #000000")[0].dx).toBe(0);
  expect(eyes.number("Score: #")).toBeUndefined();
});

describe("what is written", () => {
  test("gives its numbers by the words around them, and the last while it is not there", () => {
    const { context, eyes } = world();
    const write = (...texts: string[]): void => {
      context.clearRect(0, 0, 200, 100);
      for (const [i, text] of texts.entries()) context.fillText(text, 10, 10 + 20 * i);
    };
    expect(eyes.number("Score: #")).toBeUndefined();
    write("Score: 1,250", "HI 00070 00012", "3", "7");
    expect(eyes.number("Score: #")).toBe(1250);
    expect([eyes.number("HI # #"), eyes.number("HI # #", 1)]).toEqual([70, 12]);
    expect([eyes.number("#"), eyes.number("#", 1)]).toEqual([3, 7]);
    write("Game over");
    expect(eyes.number("Score: #")).toBe(1250);
    expect([eyes.says("Game over"), eyes.says("over"), eyes.says("Score")]).toEqual([true, true, false]);
    write("Score: -20", "3-4");
    expect([eyes.number("Score: #"), eyes.number("#-#", 1)]).toEqual([-20, 4]);
  });

  test("with an outline or a shadow is written once", () => {
    const { context, eyes } = world();
    context.strokeText("12", 10, 10);
    context.fillText("12", 10, 10);
    context.fillText("12", 100, 10);
    expect(eyes.texts()).toEqual(["12", "12"]);
  });
});

describe("texts of several canvases and calls", () => {
  test("a small canvas beside the game is read, one that is hidden is not; its things are left out", () => {
    const { page, context, eyes } = world();
    context.fillRect(20, 10, 40, 20);
    for (const display of ["block", "none"]) {
      const side = page.document.createElement("canvas");
      Object.assign(side, { width: 60, height: 30 });
      side.style.display = display;
      page.document.body.append(side);
      const beside = side.getContext("2d")!;
      beside.fillText(`Lives: ${display.length}`, 5, 20);
      beside.fillRect(0, 0, 5, 5);
    }
    expect(eyes.texts()).toEqual(["Lives: 5"]);
    expect(eyes.number("Lives: #")).toBe(5);
    expect(eyes.looks()).toEqual(["rect #000000 40x20"]);
  });

  test("a line is one on a second buffer that is shown at half its size", () => {
    const { page, context, eyes } = world();
    const buffer = page.document.createElement("canvas");
    Object.assign(buffer, { width: 2 * context.canvas.width, height: 2 * context.canvas.height });
    const behind = buffer.getContext("2d")!;
    behind.font = "20px monospace";
    behind.fillText("Score:", 20, 40);
    behind.fillText("12", 20 + behind.measureText("Score: ").width, 40);
    context.drawImage(buffer, 0, 0, context.canvas.width, context.canvas.height);
    expect(eyes.texts()).toEqual(["Score:", "12", "Score: 12"]);
  });

  test("a label and its number are one line as well; other lines and columns are not", () => {
    const { context, eyes } = world();
    context.font = "10px sans-serif";
    context.fillText("Score: ", 10, 20);
    context.fillText("12", 10 + context.measureText("Score: ").width, 20);
    context.fillText("Level", 10, 40);
    context.textAlign = "right";
    context.fillText("7", 195, 40);
    expect(eyes.texts()).toEqual(["Score: ", "12", "Level", "7", "Score: 12"]);
    expect([eyes.number("Score: #"), eyes.number("#", 1)]).toEqual([12, 7]);
    expect(eyes.says("Score: 12")).toBe(true);
  });
});
