/** Drawing that costs nothing while the page is not watched: 2D calls are dropped, WebGL is a null device. */

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
  /** Whether 2D drawing leaves marks. */
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
  for (const { prototype } of [window.CanvasRenderingContext2D, window.OffscreenCanvasRenderingContext2D]) {
    const methods = prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
    for (const name of PAINTING) {
      const original = methods[name];
      if (original === undefined) continue;
      define(prototype, name, function (this: unknown, ...args: unknown[]) {
        const isDrawn = drawing.isOn || (drawing.isRead && read.has(this as object));
        return isDrawn ? original.apply(this, args) : undefined;
      });
    }
    const getImageData = methods.getImageData;
    define(prototype, "getImageData", function (this: unknown, ...args: unknown[]) {
      // While it loads as well: what is read once is read again.
      read.add(this as object);
      drawing.isRead ||= !drawing.isOn;
      return getImageData.apply(this, args);
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
