/** Chance as the trainer seeds it: `Math.random` and `crypto` give the same numbers after the same seed. */

import { define } from "./overriding.ts";
import { EPOCH_MS } from "./time.ts";

const YEAR_MS = 366 * 24 * 60 * 60 * 1000;

/** sfc32 (Chris Doty-Humphrey's PractRand), its state spread from one word by splitmix32. */
export class Chance {
  #a = 0;
  #b = 0;
  #c = 0;
  #counter = 1;

  /** @param seed 32 bits. */
  constructor(seed: number) {
    this.seed(seed);
  }

  /** Restarts the sequence. @param seed 32 bits. */
  seed(seed: number): void {
    let h = seed >>> 0;
    const next = (): number => {
      h = (h + 0x9e3779b9) | 0;
      let t = h ^ (h >>> 16);
      t = Math.imul(t, 0x21f0aaad);
      t ^= t >>> 15;
      t = Math.imul(t, 0x735a2d97);
      return t ^ (t >>> 15);
    };
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#counter = 1;
    for (let i = 0; i < 12; i++) this.next32();
  }

  /** The next 32 bits. */
  next32(): number {
    const t = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + t) | 0;
    return t >>> 0;
  }
}

/** The date at which a page begins that is loaded for the episode of `seed`: a millisecond of the year 2024. */
export function dateOf(seed: number): number {
  return EPOCH_MS + Math.floor((new Chance(seed).next32() / 2 ** 32) * YEAR_MS);
}

/** Puts `chance` in the place of the page's own. */
export function installChance(window: Window & typeof globalThis, chance: Chance): void {
  define(window.Math, "random", () => chance.next32() / 4294967296);
  const crypto = window.Crypto.prototype;
  define(crypto, "getRandomValues", (view: ArrayBufferView) => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = chance.next32() >>> 24;
    return view;
  });
  define(crypto, "randomUUID", () => {
    const words = Array.from({ length: 4 }, () => chance.next32().toString(16).padStart(8, "0")).join("");
    const [a, b, c, d] = [words.slice(0, 8), words.slice(8, 12), words.slice(13, 16), words.slice(17, 20)];
    return `${a}-${b}-4${c}-8${d}-${words.slice(20)}`;
  });
}
