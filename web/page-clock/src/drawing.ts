/** Drawing that costs nothing while nobody looks: 2D calls are dropped, WebGL is a null device. */

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
}

export type WebGl = "null" | "none" | "real";

/** @param webGl "null": a device that draws nothing; "none": a browser without; "real": the browser's own. */
export function installDrawing(window: Page, isOn: boolean, webGl: WebGl): Drawing {
  const drawing: Drawing = { isOn, isRead: false };
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
    const getContext = prototype.getContext as (kind: string, attributes?: object) => unknown;
    const nulls = new WeakMap<object, unknown>();
    define(prototype, "getContext", function (this: HTMLCanvasElement, kind: string, attributes?: object) {
      if (!/webgl/.test(kind) || webGl === "real") return getContext.call(this, kind, attributes);
      if (webGl === "none") return null;
      const known = nulls.get(this) ?? createNullWebGl(window, this, kind === "webgl2");
      nulls.set(this, known);
      return known;
    });
  }
  return drawing;
}
