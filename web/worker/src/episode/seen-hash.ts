/** A number for all that the agents of a game see: equal for equal play. */

import type { BoxView, GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { observationEntries } from "attract/observation";

/** Of FNV-1a, 32 bits (Fowler, Noll, Vo, 1991). */
export const OFFSET = 0x811c9dc5;
export const PRIME = 0x01000193;

/** FNV-1a over the text's UTF-16 units: a signed 32-bit number. */
export function hashed(start: number, text: string): number {
  let hash = start ^ OFFSET;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME);
  return hash;
}

/**
 * Hashes instances of one game. FNV-1a over the views' words of four bytes, each view
 * filled up with zeros: a quarter of the multiplications that bytes take.
 */
export class SeenHash {
  /** Null where an observation is a single box or set. */
  readonly #names: readonly string[] | null;
  readonly #hasMasks: boolean;
  /** A view may begin at any byte: it is read here. */
  #words = new Uint32Array(16);
  #bytes = new Uint8Array(this.#words.buffer);
  /** The bytes of each view, made once: a mark allocates nothing. */
  readonly #bytesOf = new WeakMap<BoxView, Uint8Array>();

  constructor({ observation, actionMask }: GameDefinition) {
    this.#names =
      observation.kind === "dict" ? observationEntries(observation).map(({ name }) => name) : null;
    this.#hasMasks = actionMask === true;
  }

  /** The hash of what each agent that takes part in the next step sees and may do: a signed 32-bit number, which costs no memory. */
  of({ numAgents, active, views, masks }: Instance): number {
    let hash = OFFSET;
    if (numAgents > 1) hash = this.#update(hash, active);
    for (let agent = 0; agent < numAgents; agent++) {
      if (active[agent] !== 1) continue;
      const view = views[agent];
      if (this.#names === null) hash = this.#update(hash, view as BoxView);
      else
        for (let e = 0; e < this.#names.length; e++)
          hash = this.#update(hash, (view as Record<string, BoxView>)[this.#names[e]]);
      if (this.#hasMasks) hash = this.#update(hash, masks[agent]);
    }
    return hash;
  }

  #update(hash: number, view: BoxView): number {
    let bytes = this.#bytesOf.get(view);
    if (bytes === undefined) {
      bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
      this.#bytesOf.set(view, bytes);
    }
    const numWords = (bytes.length + 3) >> 2;
    if (numWords > this.#words.length) {
      this.#words = new Uint32Array(numWords);
      this.#bytes = new Uint8Array(this.#words.buffer);
    }
    const words = this.#words;
    if (numWords > 0) words[numWords - 1] = 0;
    this.#bytes.set(bytes);
    let result = hash;
    for (let i = 0; i < numWords; i++) result = Math.imul(result ^ words[i], PRIME);
    return result;
  }
}
