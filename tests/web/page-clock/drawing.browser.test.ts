import { expect, test } from "vitest";
import { heldPage } from "./held-page.ts";

const CANVASES = ["document.createElement('canvas')", "new OffscreenCanvas(300, 150)"];
const CALLS = [
  ...["fillRect(0, 0, 9, 9)", "strokeRect(0, 0, 9, 9)", "fillText('word', 0, 9)", "strokeText('word', 0, 9)"],
  ...[
    "beginPath(); context.rect(0, 0, 9, 9); context.fill()",
    "beginPath(); context.rect(2, 2, 9, 9); context.stroke()",
  ],
  ...["drawImage(picture, 0, 0)", "putImageData(data, 0, 0)"],
];
/** Whether anything stands on a canvas of the page after the call. */
const marks = (canvas: string, call: string): string => `
  (() => {
    const picture = Object.assign(document.createElement("canvas"), { width: 9, height: 9 });
    const data = new ImageData(new Uint8ClampedArray(4 * 81).fill(200), 9, 9);
    raw.call(picture.getContext("2d"), 0, 0, 9, 9);
    const context = (${canvas}).getContext("2d");
    context.${call};
    return read.call(context, 0, 0, 20, 20).data.some((value) => value > 0);
  })()`;

test.each(CALLS)("%s leaves nothing where nobody looks, and what it should where somebody does", (call) => {
  for (const canvas of CANVASES)
    for (const draws of [false, true]) {
      // Reads by a page without a clock do not count as the page's own.
      const { run, page } = heldPage({ draws });
      const { prototype } = CanvasRenderingContext2D;
      const isOffscreen = canvas.includes("Offscreen");
      page.raw = prototype.fillRect;
      page.read = isOffscreen
        ? OffscreenCanvasRenderingContext2D.prototype.getImageData
        : prototype.getImageData;
      expect([canvas, draws, run(marks(canvas, call))]).toEqual([canvas, draws, draws]);
    }
});

test("T5: what is drawn stays where it is not cleared for want of a look", () => {
  const { run, clock, page } = heldPage();
  page.read = CanvasRenderingContext2D.prototype.getImageData;
  run(`context = document.createElement("canvas").getContext("2d"); context.fillRect(0, 0, 9, 9)`);
  clock.draws = false;
  expect(run("context.clearRect(0, 0, 9, 9); read.call(context, 0, 0, 1, 1).data[3]")).toBe(255);
  clock.draws = true;
  expect(run("context.clearRect(0, 0, 9, 9); read.call(context, 0, 0, 1, 1).data[3]")).toBe(0);
});

test("the null WebGL has what engines ask for at their start, and leaves out what would be read back", () => {
  const { run } = heldPage();
  for (const kind of ["webgl", "webgl2"])
    expect(
      run(`gl = document.createElement("canvas").getContext("${kind}");
        pixel = new Uint8Array(4); gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
        [pixel.join(), gl.isContextLost(), gl.getExtension("WEBGL_compressed_texture_s3tc"), gl.getExtension("WEBGL_lose_context") !== null,
         gl.getSupportedExtensions().length > 4, gl.getShaderPrecisionFormat(gl.VERTEX_SHADER, gl.HIGH_FLOAT).precision,
         Array.from(gl.getParameter(gl.VIEWPORT)), gl.getParameter(gl.VERSION).startsWith("WebGL ${kind === "webgl" ? 1 : 2}"),
         gl.canvas.getContext("${kind}") === gl, typeof gl.getUniformLocation({}, "x"), gl.getProgramParameter({}, gl.ACTIVE_UNIFORMS)]`),
    ).toEqual(["0,0,0,0", false, null, true, true, 23, [0, 0, 300, 150], true, true, "object", 0]);
});

test("a page may put an Object.defineProperty of its own in place, as Box2dWeb does: one for accessors alone", () => {
  const { run } = heldPage();
  // In a page's own frame the stack is the page's; here the clock's code is within the test's.
  const { defineProperty } = Object;
  Object.defineProperty = <T>(object: T, name: PropertyKey, given: PropertyDescriptor): T =>
    given.get === undefined ? object : defineProperty(object, name, given);
  try {
    const context = `document.createElement("canvas").getContext("experimental-webgl")`;
    expect(run(`gl = ${context}; gl.getExtension("OES_texture_float") !== null`)).toBe(true);
    expect(run("gl.getParameter(gl.VERSION)")).toContain("WebGL 1");
  } finally {
    Object.defineProperty = defineProperty;
  }
});

test("T5: the browser's own WebGL draws nothing where nobody looks, and goes on where somebody does", () => {
  const { run, clock, page } = heldPage({ webGl: "real" });
  page.read = WebGLRenderingContext.prototype.readPixels;
  const cleared = `pixel = new Uint8Array(4); gl.clear(gl.COLOR_BUFFER_BIT);
    read.call(gl, 0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); pixel[0]`;
  run(
    `gl = document.createElement("canvas").getContext("webgl", { preserveDrawingBuffer: true }); gl.clearColor(1, 0, 0, 1)`,
  );
  clock.draws = false;
  expect(run(cleared)).toBe(0);
  clock.draws = true;
  expect(run(cleared)).toBe(255);
});
