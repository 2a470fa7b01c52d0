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
  /** Whether the page read back what it had not drawn: from then on it draws, since a game may depend on it. */
  isRead: boolean;
}

export type WebGl = "null" | "none" | "real";

/** @param webGl "null": a device that draws nothing; "none": a browser without; "real": the browser's own. */
export function installDrawing(window: Page, isOn: boolean, webGl: WebGl): Drawing {
  const drawing: Drawing = { isOn, isRead: false };
  for (const { prototype } of [window.CanvasRenderingContext2D, window.OffscreenCanvasRenderingContext2D]) {
    const methods = prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
    for (const name of PAINTING) {
      const original = methods[name];
      if (original === undefined) continue;
      define(prototype, name, function (this: unknown, ...args: unknown[]) {
        return drawing.isOn ? original.apply(this, args) : undefined;
      });
    }
    const read = methods.getImageData;
    define(prototype, "getImageData", function (this: unknown, ...args: unknown[]) {
      if (!drawing.isOn) drawing.isRead = true;
      drawing.isOn ||= drawing.isRead;
      return read.apply(this, args);
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
