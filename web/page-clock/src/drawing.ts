/** Drawing that costs nothing while the page is not watched: calls that leave marks are dropped, or WebGL is a null device. */

import { createNullWebGl } from "./null-webgl.ts";
import { define } from "./overriding.ts";

type Page = Window & typeof globalThis;

/** What leaves marks and returns nothing. */
const PAINTING = [
  "clearRect",
  "drawFocusIfNeeded",
  "drawImage",
  "fill",
  "fillRect",
  "fillText",
  "putImageData",
  "stroke",
  "strokeRect",
  "strokeText",
];
const WEBGL_PAINTING = [
  "blitFramebuffer",
  "clear",
  "drawArrays",
  "drawArraysInstanced",
  "drawElements",
  "drawElementsInstanced",
  "drawRangeElements",
];

export interface Drawing {
  isOn: boolean;
  /** Whether the page read back what it had not drawn: that canvas is drawn from then on, since a game may depend on it. */
  isRead: boolean;
  /** Canvases that asked for WebGL, got none, and have nothing else to draw by. */
  readonly refused: Set<AnyCanvas>;
  /** What the browser says draws its WebGL; null until a page uses it. */
  renderer: string | null;
}

export type AnyCanvas = HTMLCanvasElement | OffscreenCanvas;
export type WebGl = "null" | "none" | "real";

export interface DrawingOptions {
  /** Whether drawing leaves marks. */
  draws: boolean;
  /** "null": a device that draws nothing; "none": a browser without; "real": the browser's own. */
  webGl: WebGl;
  /** Whether an agent sees what is drawn: canvases are made so that they can be read at any time, at little cost. */
  isSeen: boolean;
}

export function installDrawing(window: Page, { draws, webGl, isSeen }: DrawingOptions): Drawing {
  const drawing: Drawing = { isOn: draws, isRead: false, refused: new Set(), renderer: null };
  /** Contexts that the page reads. */
  const read = new WeakSet<object>();
  const [flat, offscreen] = [window.CanvasRenderingContext2D, window.OffscreenCanvasRenderingContext2D];
  for (const [{ prototype }, painting, reading] of [
    [flat, PAINTING, "getImageData"],
    [offscreen, PAINTING, "getImageData"],
    [window.WebGLRenderingContext, WEBGL_PAINTING, "readPixels"],
    [window.WebGL2RenderingContext, WEBGL_PAINTING, "readPixels"],
  ] as const) {
    const methods = prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
    for (const name of painting) {
      const original = methods[name];
      if (original === undefined) continue;
      define(prototype, name, function (this: unknown, ...args: unknown[]) {
        const isDrawn = drawing.isOn || (drawing.isRead && read.has(this as object));
        return isDrawn ? original.apply(this, args) : undefined;
      });
    }
    const read_ = methods[reading];
    define(prototype, reading, function (this: unknown, ...args: unknown[]) {
      // While it loads as well: what is read once is read again.
      read.add(this as object);
      drawing.isRead ||= !drawing.isOn;
      return read_.apply(this, args);
    });
  }
  for (const { prototype } of [window.HTMLCanvasElement, window.OffscreenCanvas]) {
    const original = prototype.getContext as (kind: string, attributes?: object) => unknown;
    const nulls = new WeakMap<object, unknown>();
    /** Canvases that have what they draw by: another kind is refused them by the browser itself. */
    const equipped = new WeakSet<object>();
    define(prototype, "getContext", function (this: AnyCanvas, kind: string, attributes?: object) {
      const isWebGl = /webgl/.test(kind);
      if (isWebGl && webGl === "null") {
        const known = nulls.get(this) ?? createNullWebGl(window, this, kind === "webgl2");
        nulls.set(this, known);
        return known;
      }
      const kept = isWebGl ? { preserveDrawingBuffer: true } : { willReadFrequently: true };
      const asked = isSeen ? { ...attributes, ...kept } : attributes;
      const context = isWebGl && webGl === "none" ? null : original.call(this, kind, asked);
      if (context !== null) {
        equipped.add(this);
        drawing.refused.delete(this);
        if (isWebGl) drawing.renderer ??= rendererOf(context as WebGLRenderingContext);
      } else if (isWebGl && !equipped.has(this)) drawing.refused.add(this);
      return context;
    });
  }
  return drawing;
}

function rendererOf(gl: WebGLRenderingContext): string {
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  return String(gl.getParameter(names?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER));
}
