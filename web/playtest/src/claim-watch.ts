/** Says whether a claim about a game holds, an expression such as `player.jumps >= 2`, and how near it came. */

/// <reference lib="dom" />
import type { PlaytestClaim } from "@attract/schema";
import { drawn } from "attract/page/drawn";
import { made } from "attract/page/made";
import type { PageAdapter, PageWindow } from "attract/page-adapter";
import { importText } from "../../worker/src/game/load-game.ts";
import { pageConsoleText } from "./thread-errors.ts";

/** Values of expressions about a page, or a module's game, in their order; a function of each, since one may throw. */
type Reads = readonly (() => unknown)[];
type Compiled = (about: object) => Reads;
/** Left side, operator, right side. */
type Comparison = readonly [string, string, string];

/** `LEFT >= RIGHT` and its like, where neither side has an operator that binds less. */
const COMPARISON = /^([^<>=!&|?]+)(>=|<=|===|==|>|<)([^<>=!&|?]+)$/;
/** Of a claim: `MAX_CLAIM_PARTS` of the server. */
const MAX_PARTS = 64;
const MADE = /\bmade\s*\(\s*w\s*,\s*["']([^"']+)["']/g;

/** A part of the claim that is a comparison, and how near it came. */
class Part {
  first: number | null = null;
  nearest: number | null = null;
  /** What was lacking there, at most 0. */
  gap = 0;
  hasHeld = false;

  constructor(
    readonly text: string,
    readonly operator: string,
  ) {}

  take(left: unknown, right: unknown): void {
    const [value, wanted] = [Number(left), Number(right)];
    if (left === null || left === undefined || !Number.isFinite(value) || !Number.isFinite(wanted)) return;
    const over = this.operator.startsWith("<") ? wanted - value : value - wanted;
    const gap = this.operator.startsWith("=") ? -Math.abs(over) : Math.min(0, over);
    this.hasHeld ||= this.operator.endsWith("=") ? gap === 0 : over > 0;
    this.first ??= value;
    if (this.nearest !== null && gap <= this.gap) return;
    this.nearest = value;
    this.gap = gap;
  }
}

/** Owned by one playtest; watches one episode at a time. */
export class ClaimWatch {
  readonly #text: string;
  readonly #comparisons: readonly Comparison[];
  /** By page, or by a module's game. */
  readonly #compiled = new WeakMap<object, Reads>();
  readonly #ofModule: Compiled | null = null;
  #parts: Part[] = [];
  #heldAt: number | null = null;
  #isRead = false;
  #error: string | null = null;

  private constructor(text: string, comparisons: readonly Comparison[], ofModule: Compiled | null) {
    this.#text = text;
    this.#comparisons = comparisons;
    this.#ofModule = ofModule;
  }

  /**
   * @param isPage whether the game lives in a page: its variables, `w`, `made` and `drawn` can be named; of a module `game`.
   * @param load what makes a module of a text.
   */
  static async of(text: string, isPage: boolean, load = importText): Promise<ClaimWatch> {
    const comparisons = comparisonsOf(text);
    if (isPage) return new ClaimWatch(text, comparisons, null);
    const code = `export default (game) => [${sourcesOf(text, comparisons).join(", ")}];`;
    const ofModule = await load(code, "claim.js").then(
      ({ default: compiled }) => compiled as Compiled,
      (error: unknown) => () => {
        throw error;
      },
    );
    return new ClaimWatch(text, comparisons, ofModule);
  }

  /** The adapter, in whose pages `made` follows from their first script on what the claim names. */
  following(adapter: PageAdapter): PageAdapter {
    return {
      ...adapter,
      prepare: (window, parameters) => {
        for (const [, name] of this.#text.matchAll(MADE)) made(window, name);
        adapter.prepare?.(window, parameters);
      },
    };
  }

  /** An episode begins. */
  begin(): void {
    this.#parts = this.#comparisons.map(
      ([left, operator, right]) => new Part(`${left} ${operator} ${right}`, operator),
    );
    this.#heldAt = null;
    this.#isRead = false;
    this.#error = null;
  }

  /** Whether the claim holds after step `step`; a page's `about` is its window, a module's its game. */
  holds(about: object, step: number): boolean {
    try {
      const [claim, ...sides] = this.#readsOf(about);
      const isHeld = Boolean(claim());
      this.#isRead = true;
      if (isHeld) this.#heldAt = step;
      for (const [p, part] of this.#parts.entries()) measure(part, sides[2 * p], sides[2 * p + 1]);
      return isHeld;
    } catch (error) {
      // As long as the game has not begun, or in a moment between two scenes.
      this.#error ??= pageConsoleText([error]);
      return false;
    }
  }

  get hasHeld(): boolean {
    return this.#heldAt !== null;
  }

  /** Whether no other episode could say more: it has held, or is no expression. */
  get isSettled(): boolean {
    return this.hasHeld || this.#error?.startsWith("SyntaxError") === true;
  }

  /** What came of the episode. */
  get result(): PlaytestClaim {
    return {
      held_at: this.#heldAt,
      error: this.#isRead ? null : (this.#error ?? "no step was played"),
      parts: this.#parts.map(({ text, first, nearest, gap, hasHeld }) => ({
        text,
        first,
        nearest,
        gap,
        has_held: hasHeld,
      })),
    };
  }

  #readsOf(about: object): Reads {
    let reads = this.#compiled.get(about);
    if (reads === undefined) {
      reads = this.#ofModule?.(about) ?? ofPage(this.#text, this.#comparisons, about as PageWindow);
      this.#compiled.set(about, reads);
    }
    return reads;
  }
}

/** One that stands behind a part that does not hold yet may throw. */
function measure(part: Part, left: () => unknown, right: () => unknown): void {
  try {
    part.take(left(), right());
  } catch {
    // Nothing is known of it now.
  }
}

/** In the page, where variables of its classic scripts are known. */
function ofPage(text: string, comparisons: readonly Comparison[], window: PageWindow): Reads {
  const compiled = window.eval(`(w, made, drawn) => [${sourcesOf(text, comparisons).join(", ")}]`);
  return (compiled as (...given: unknown[]) => Reads)(window, made, drawn);
}

/** The claim and each side of its comparisons, as functions. */
function sourcesOf(text: string, comparisons: readonly Comparison[]): string[] {
  return [text, ...comparisons.flatMap(([left, , right]) => [left, right])].map(
    (source) => `() => (${source}\n)`,
  );
}

/** Of a claim that is one, or several joined by `&&`; none of any other. */
function comparisonsOf(text: string): Comparison[] {
  const found = text
    .split("&&")
    .slice(0, MAX_PARTS)
    .map((part) => COMPARISON.exec(part.trim()));
  return found.flatMap((match) => {
    if (match === null) return [];
    const [, left, operator, right] = match;
    return isWhole(left) && isWhole(right) ? [[left.trim(), operator, right.trim()] as const] : [];
  });
}

/** Whether its brackets and quotes are closed: it is no part of one. */
function isWhole(text: string): boolean {
  if (['"', "'", "`"].some((quote) => text.split(quote).length % 2 === 0)) return false;
  const open: Record<string, string> = { ")": "(", "]": "[", "}": "{" };
  const held: string[] = [];
  for (const letter of text) {
    if ("([{".includes(letter)) held.push(letter);
    else if (letter in open && held.pop() !== open[letter]) return false;
  }
  return held.length === 0;
}
