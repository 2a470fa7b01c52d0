/** What a page shows: marks on its 2D canvases, what it hands to WebGL, Phaser's texts, and its elements. */

/// <reference lib="dom" />
import { DrawRecorder } from "attract/page/drawn/recorder";
import { made } from "attract/page/made";
import { PHASER, phaserTexts } from "attract/page/phaser";
import type { PageAdapter, PageWindow } from "attract/page-adapter";
import { OFFSET, PRIME } from "../../../worker/src/episode/seen-hash.ts";

/** Bytes of one upload to WebGL that are read at most. */
const MAX_UPLOAD_BYTES = 1 << 16;
/** Calls that say what WebGL draws, and where. */
const UPLOADS = /^(bufferData|bufferSubData|uniform.*v)$/;

/** Follows the pages of one game from their first script on. */
export class PageEyes {
  readonly #recorders = new WeakMap<object, DrawRecorder>();
  readonly #uploads = new WeakMap<object, Uploads>();

  /** The adapter whose pages are followed. */
  following(adapter: PageAdapter): PageAdapter {
    return {
      ...adapter,
      prepare: (window, parameters) => {
        made(window, PHASER);
        this.#recorders.set(window, new DrawRecorder(window));
        this.#uploads.set(window, new Uploads(window));
        adapter.prepare?.(window, parameters);
      },
    };
  }

  /** Everything that is to be seen in the page now, as a text; equal texts look the same. */
  look(window: PageWindow): string {
    const marks = (this.#recorders.get(window)?.shown() ?? []).flatMap(({ marks: { now } }) =>
      now.map(
        ({ look, part, size, left, top, right, bottom, text }) =>
          `${look} ${part} ${size} ${left} ${top} ${right} ${bottom} ${text ?? ""}`,
      ),
    );
    const texts = phaserTexts(window).map(({ name, place }) => `${name} ${place}`);
    const elements: string = window.document?.body?.innerHTML ?? "";
    return [...marks, ...texts, this.#uploads.get(window)?.hash ?? 0, elements].join("\n");
  }
}

/** What was handed to WebGL since the last frame began. */
class Uploads {
  hash = OFFSET;
  readonly #heard = new WeakSet<object>();

  constructor(window: PageWindow) {
    for (const { prototype } of [window.HTMLCanvasElement, window.OffscreenCanvas]) {
      const original = prototype.getContext;
      const hear = (context: unknown): void => this.#follow(context as Record<string, unknown>);
      Object.defineProperty(prototype, "getContext", {
        configurable: true,
        writable: true,
        value(this: object, kind: string, ...rest: unknown[]) {
          const context = Reflect.apply(original, this, [kind, ...rest]);
          if (/webgl/.test(kind) && context !== null) hear(context);
          return context;
        },
      });
    }
    const turn = (): void => {
      this.hash = OFFSET;
      window.requestAnimationFrame(turn);
    };
    window.requestAnimationFrame(turn);
  }

  #follow(context: Record<string, unknown>): void {
    if (this.#heard.has(context)) return;
    this.#heard.add(context);
    // The device that draws nothing has its functions as its own properties; a real one is seen by its agent, pixel by pixel.
    for (const name of Object.keys(context)) {
      const original = context[name];
      if (!UPLOADS.test(name) || typeof original !== "function") continue;
      Object.defineProperty(context, name, {
        configurable: true,
        writable: true,
        value: (...args: unknown[]) => {
          for (const arg of args) this.#add(arg);
          return Reflect.apply(original, context, args);
        },
      });
    }
  }

  #add(value: unknown): void {
    if (typeof value === "number") this.#word(value);
    else if (ArrayBuffer.isView(value)) this.#bytes(value.buffer, value.byteOffset, value.byteLength);
    // Buffers and arrays of the page's own window are no instances of ours.
    else if (Array.isArray(value)) for (const one of value) this.#word(Number(one) * 4096);
    else if (Object.prototype.toString.call(value) === "[object ArrayBuffer]")
      this.#bytes(value as ArrayBuffer, 0, (value as ArrayBuffer).byteLength);
  }

  #bytes(buffer: ArrayBufferLike, offset: number, length: number): void {
    const bytes = new Uint8Array(buffer, offset, Math.min(length, MAX_UPLOAD_BYTES));
    for (let i = 0; i < bytes.length; i++) this.#word(bytes[i]);
  }

  #word(value: number): void {
    this.hash = Math.imul(this.hash ^ value, PRIME);
  }
}
