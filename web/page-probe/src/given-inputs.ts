/** Keys, clicks and actions at given frames, as one script. */

import { pressAction } from "attract/page-action";
import type { PageAdapter, PageWindow } from "attract/page-adapter";
import type { PageFrame } from "../../worker/src/page/page-frame.ts";
import { wordsOf } from "./json-value.ts";
import { attempt } from "./places.ts";
import type { Input } from "./trial.ts";

/** Pressed from frame `from` until before frame `to`. */
export type GivenInput = { readonly name: string; readonly from: number; readonly to: number } & (
  | { readonly kind: "key" }
  | { readonly kind: "element" }
  | { readonly kind: "point"; readonly x: number; readonly y: number }
  | { readonly kind: "action" }
);

/** One play of them; used once. */
export class GivenInputs {
  readonly #inputs: readonly GivenInput[];
  readonly #adapter: PageAdapter | null;
  readonly #ticksPerStep: number;
  /** Where each click is, once it has begun; null: nowhere. */
  readonly #places = new Map<GivenInput, readonly [x: number, y: number] | null>();
  /** Why inputs did nothing. */
  readonly problems = new Map<GivenInput, string>();

  constructor(inputs: readonly GivenInput[], adapter: PageAdapter | null, ticksPerStep: number) {
    this.#inputs = inputs;
    this.#adapter = adapter;
    this.#ticksPerStep = ticksPerStep;
  }

  /** What is pressed in frame `tick`; null where an action has pressed it already. */
  press(tick: number, window: PageWindow, hands: PageFrame): Input | null {
    const now = this.#inputs.filter(({ from, to }) => tick >= from && tick < to);
    hands.stepTick = tick % this.#ticksPerStep;
    const action = now.findLast(({ kind }) => kind === "action");
    if (action !== undefined && this.#act(action, window, hands)) return null;
    const clicks = now.flatMap((input) => {
      const place = this.#placeOf(input, window);
      return place === null ? [] : [place];
    });
    const keys = [...new Set(now.flatMap(({ kind, name }) => (kind === "key" ? [name] : [])))];
    const place = clicks.at(-1);
    return place === undefined ? { keys } : { keys, pointer: [...place, true] };
  }

  #act(input: GivenInput, window: PageWindow, hands: PageFrame): boolean {
    const adapter = this.#adapter;
    const labels = adapter?.labels ?? [];
    const index = labels.indexOf(input.name);
    if (adapter === null || index < 0) {
      const problem =
        adapter === null
          ? "a page without an adapter has no actions"
          : `there is no such action: ${labels.join(", ") || "they have no labels"}`;
      this.problems.set(input, wordsOf(problem));
      return false;
    }
    const numAgents = Math.max(1, adapter.keys.length);
    const all = numAgents === 1 ? index : Array.from({ length: numAgents }, () => index);
    pressAction(adapter, window, all, hands, hands.stepTick / this.#ticksPerStep);
    return true;
  }

  #placeOf(input: GivenInput, window: PageWindow): readonly [x: number, y: number] | null {
    if (input.kind === "point") return [input.x, input.y];
    if (input.kind !== "element") return null;
    let place = this.#places.get(input);
    if (place === undefined) {
      place = this.#find(input, window);
      this.#places.set(input, place);
    }
    return place;
  }

  /** The middle of an element once it is in the window; as in adapters, a longer page is scrolled to it. */
  #find(input: GivenInput, window: PageWindow): readonly [x: number, y: number] | null {
    const all = attempt(() => window.document.querySelectorAll(input.name) as NodeListOf<HTMLElement>);
    const element = [...(all ?? [])].find((one) => one.checkVisibility());
    if (element === undefined) {
      const problem =
        all === undefined
          ? "this is no CSS selector"
          : all.length === 0
            ? "no element matches at that frame"
            : "the element is not visible at that frame";
      this.problems.set(input, problem);
      return null;
    }
    const { bottom, top } = element.getBoundingClientRect();
    if (bottom > window.innerHeight || top < 0)
      element.scrollIntoView({ block: "center", behavior: "instant" });
    const { x, y, width, height } = element.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  }
}
