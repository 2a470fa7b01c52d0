/**
 * Seeded random streams (rule C5): Philox4x32-10 under a fixed layout that Python shares.
 *
 * Key = (low, high) 32 bits of the run's seed. Counter words = (block, episode, instance or slot, stream << 24).
 * A uniform is the top 24 bits of a word times 2^-24. Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
 */

/** Who draws; the top byte of the fourth counter word. `policy_init` and `shuffle` are the learner's. */
export const STREAM = { game: 1, parameters: 2, action: 3, policy_init: 4, shuffle: 5 } as const;

const UNIFORM_SCALE = 2 ** -24;
const WORD_SCALE = 2 ** -32;
const ROUNDS = 10;
// The multipliers 0xD2511F53 and 0xCD9E8D57 in halves: a 32 x 32 -> 64 bit product is put together from 16-bit ones.
const M0_LOW = 0x1f53;
const M0_HIGH = 0xd251;
const M1_LOW = 0x8d57;
const M1_HIGH = 0xcd9e;
const M0 = 0xd2511f53;
const M1 = 0xcd9e8d57;
const WEYL0 = 0x9e3779b9;
const WEYL1 = 0xbb67ae85;

/** Writes the four output words of one Philox4x32-10 block into `out[offset .. offset + 3]`. All numbers are unsigned 32 bit. */
export function philox4x32(
  counter0: number,
  counter1: number,
  counter2: number,
  counter3: number,
  key0: number,
  key1: number,
  out: Uint32Array,
  offset: number,
): void {
  let x0 = counter0 | 0;
  let x1 = counter1 | 0;
  let x2 = counter2 | 0;
  let x3 = counter3 | 0;
  let k0 = key0 | 0;
  let k1 = key1 | 0;
  for (let round = 0; round < ROUNDS; round++) {
    const low0 = Math.imul(M0, x0);
    const high0 = highProduct(M0_LOW, M0_HIGH, x0);
    const low1 = Math.imul(M1, x2);
    const high1 = highProduct(M1_LOW, M1_HIGH, x2);
    x0 = high1 ^ x1 ^ k0;
    x1 = low1;
    x2 = high0 ^ x3 ^ k1;
    x3 = low0;
    k0 = (k0 + WEYL0) | 0;
    k1 = (k1 + WEYL1) | 0;
  }
  out[offset] = x0;
  out[offset + 1] = x1;
  out[offset + 2] = x2;
  out[offset + 3] = x3;
}

/** Upper 32 bits of (high << 16 | low) * word, as a signed 32-bit integer; every partial sum stays below 2^32. */
function highProduct(low: number, high: number, word: number): number {
  const wordLow = word & 0xffff;
  const wordHigh = word >>> 16;
  const carry = Math.imul(wordLow, low) >>> 16;
  const middle0 = (Math.imul(wordHigh, low) + carry) | 0;
  const middle1 = (Math.imul(wordLow, high) + (middle0 & 0xffff)) | 0;
  return (Math.imul(wordHigh, high) + (middle0 >>> 16) + (middle1 >>> 16)) | 0;
}

/** What a game draws from: `random()` in [0, 1), `random.int(n)` in 0 .. n - 1, `random.normal()` with mean 0 and deviation 1. */
export interface GameRandom {
  (): number;
  /** Uniform whole number in [0, n); `n` from 1 to 2^32. */
  int(n: number): number;
  /** Standard normal; takes two words of the stream. */
  normal(): number;
}

/** A sequential stream and the way to rewind it; owned by one game instance. */
export interface SequentialRandom {
  readonly random: GameRandom;
  /** Starts the stream of (seed, episode, instance) at its first word. */
  reset(seedLow: number, seedHigh: number, episode: number, instance: number): void;
}

/** A stream that hands out words in order, blocks 0, 1, 2, ... of four words; allocates nothing after creation. */
export function createSequentialRandom(stream: number): SequentialRandom {
  // [key 0, key 1, episode, instance, next block, next word, then the block's four words]; typed, so that nothing is boxed.
  const state = new Uint32Array(10);
  const streamWord = (stream << 24) >>> 0;
  state[5] = 4;
  const nextWord = (): number => {
    if (state[5] === 4) {
      philox4x32(state[4], state[2], state[3], streamWord, state[0], state[1], state, 6);
      state[4] += 1;
      state[5] = 0;
    }
    const word = state[6 + state[5]];
    state[5] += 1;
    return word;
  };
  const uniform = (): number => (nextWord() >>> 8) * UNIFORM_SCALE;
  const random = Object.assign(uniform.bind(undefined), {
    int(n: number): number {
      if (!(Number.isInteger(n) && n >= 1 && n <= 2 ** 32))
        throw new RangeError(`random.int(n) needs a whole n >= 1, got ${n}`);
      return Math.floor(nextWord() * WORD_SCALE * n);
    },
    normal(): number {
      const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
      return radius * Math.cos(2 * Math.PI * uniform());
    },
  });
  return {
    random,
    reset(seedLow, seedHigh, episode, instance) {
      state[0] = seedLow;
      state[1] = seedHigh;
      state[2] = episode;
      state[3] = instance;
      state[4] = 0;
      state[5] = 4;
    },
  };
}

/**
 * Draws for sampling actions, addressed by (slot, episode, step, component), in any order.
 *
 * Draw index = step * num_components + component, block = index >> 2, word = index & 3. One block is kept per slot, so a
 * discrete policy computes Philox once in four steps. Owned by one worker's rollout loop; allocates nothing after creation.
 */
export class ActionRandom {
  readonly #numComponents: number;
  readonly #keys: Uint32Array;
  readonly #slotIds: Uint32Array;
  readonly #episodes: Uint32Array;
  /** Block held per slot plus one; 0 = none. */
  readonly #heldBlocks: Uint32Array;
  readonly #words: Uint32Array;

  constructor(numSlots: number, numComponents: number) {
    this.#numComponents = numComponents;
    this.#keys = new Uint32Array(2 * numSlots);
    this.#slotIds = new Uint32Array(numSlots);
    this.#episodes = new Uint32Array(numSlots);
    this.#heldBlocks = new Uint32Array(numSlots);
    this.#words = new Uint32Array(4 * numSlots);
  }

  /** Binds position `index` of the batch to the stream of (seed, slot, episode); to be called at each episode's start. */
  setEpisode(index: number, seedLow: number, seedHigh: number, slotId: number, episode: number): void {
    this.#keys[2 * index] = seedLow;
    this.#keys[2 * index + 1] = seedHigh;
    this.#slotIds[index] = slotId;
    this.#episodes[index] = episode;
    this.#heldBlocks[index] = 0;
  }

  /** Uniform in [0, 1) for `component` of the action at `step` (the step within the episode, from 0). */
  uniform(index: number, step: number, component: number): number {
    const draw = step * this.#numComponents + component;
    this.#hold(index, draw >>> 2);
    return (this.#words[4 * index + (draw & 3)] >>> 8) * UNIFORM_SCALE;
  }

  /** Writes the uniforms of all components of the action at `step` to `out[offset ...]`. */
  fill(index: number, step: number, out: Float64Array, offset: number): void {
    const end = (step + 1) * this.#numComponents;
    let at = offset;
    for (let draw = step * this.#numComponents; draw < end; draw++, at++) {
      this.#hold(index, draw >>> 2);
      out[at] = (this.#words[4 * index + (draw & 3)] >>> 8) * UNIFORM_SCALE;
    }
  }

  /** Computes block `block` of position `index`, unless it is held already. */
  #hold(index: number, block: number): void {
    if (this.#heldBlocks[index] === block + 1) return;
    this.#heldBlocks[index] = block + 1;
    const keys = this.#keys;
    const streamWord = (STREAM.action << 24) >>> 0;
    philox4x32(
      block,
      this.#episodes[index],
      this.#slotIds[index],
      streamWord,
      keys[2 * index],
      keys[2 * index + 1],
      this.#words,
      4 * index,
    );
  }
}
