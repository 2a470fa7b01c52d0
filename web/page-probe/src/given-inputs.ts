/** Keys, clicks and actions at given frames, as one script. */

import { middleOf, pressAction } from "attract/page-action";
import type { PageAdapter, PageWindow, PointerHow, PointerPlace } from "attract/page-adapter";
import { elements } from "../../sdk/src/page/elements.ts";
import type { PageFrame } from "../../worker/src/page/page-frame.ts";
import { wordsOf } from "./json-value.ts";
import { attempt } from "./places.ts";
import type { Input } from "./trial.ts";

/** Pressed from frame `from` until before frame `to`. */
export type GivenInput = { readonly name: string; readonly from: number; readonly to: number } & (
  | { readonly kind: "key" }
  | { readonly kind: "pointer"; readonly how: PointerHow; readonly targets: readonly Target[] }
  | { readonly kind: "action" }
  | { readonly kind: "rotate" }
);

/** A selector, or a place in the page's window. */
type Target = string | Spot;
type Spot = readonly [x: number, y: number];

/** One play of them; used once. */
export class GivenInputs {
  readonly #inputs: readonly GivenInput[];
  readonly #adapter: PageAdapter | null;
  readonly #ticksPerStep: number;
  /** Where each click is, once it has begun; null: nowhere. */
  readonly #places = new Map<GivenInput, PointerPlace | null>();
  /** Why inputs did nothing. */
  readonly problems = new Map<GivenInput, string>();
  readonly #pressed = new Set<GivenInput>();

  constructor(inputs: readonly GivenInput[], adapter: PageAdapter | null, ticksPerStep: number) {
    const labels = adapter?.labels ?? [];
    const unknown =
      adapter === null
        ? "a page without an adapter has no actions"
        : `there is no such action: ${labels.join(", ") || "they have no labels"}`;
    for (const input of inputs)
      if (input.kind === "action" && !labels.includes(input.name)) this.problems.set(input, wordsOf(unknown));
    this.#inputs = inputs.filter((input) => !this.problems.has(input));
    this.#adapter = adapter;
    this.#ticksPerStep = ticksPerStep;
  }

  /** What is pressed in frame `tick`; null where an action has pressed it already. */
  press(tick: number, window: PageWindow, hands: PageFrame): Input | null {
    const now = this.#inputs.filter(({ from, to }) => tick >= from && tick < to);
    hands.stepTick = tick % this.#ticksPerStep;
    const turned = now.filter((input) => input.kind === "rotate" && this.#rotate(input, hands));
    const action = now.findLast(({ kind }) => kind === "action");
    if (action !== undefined && this.#adapter !== null) {
      this.#act(action, this.#adapter, window, hands);
      this.#note(now, [...turned, action], "an action is taken in the same frames");
      return null;
    }
    const clicks = now.flatMap((input) => {
      const place = this.#placeOf(input, window);
      return place === null ? [] : [{ input, place }];
    });
    const click = clicks.at(-1);
    const held = now.filter(({ kind }) => kind === "key");
    const pressed = [...turned, ...held, ...(click === undefined ? [] : [click.input])];
    this.#note(now, pressed, "another click is made in the same frames");
    const keys = [...new Set(held.map(({ name }) => name))];
    if (click === undefined) return { keys };
    const { from, to } = click.input;
    return { keys, pointer: click.place, progress: (tick - from) / (to - from) };
  }

  /** Whether the device can be turned. */
  #rotate(input: GivenInput, hands: PageFrame): boolean {
    try {
      hands.rotate();
      return true;
    } catch (error) {
      this.problems.set(input, wordsOf((error as Error).message));
      return false;
    }
  }

  /** An input that is pressed in no frame has a problem: its own, or that another one `leaves` no room for it. */
  #note(now: readonly GivenInput[], pressed: readonly GivenInput[], leaves: string): void {
    for (const input of now) {
      if (pressed.includes(input)) this.#pressed.add(input);
      if (this.#pressed.has(input)) this.problems.delete(input);
      else if (!this.problems.has(input)) this.problems.set(input, leaves);
    }
  }

  #act(input: GivenInput, adapter: PageAdapter, window: PageWindow, hands: PageFrame): void {
    const index = adapter.labels.indexOf(input.name);
    const numAgents = Math.max(1, adapter.keys.length);
    const all = numAgents === 1 ? index : Array.from({ length: numAgents }, () => index);
    pressAction(adapter, window, all, hands, hands.stepTick / this.#ticksPerStep);
  }

  #placeOf(input: GivenInput, window: PageWindow): PointerPlace | null {
    if (input.kind !== "pointer") return null;
    let place = this.#places.get(input);
    if (place === undefined) {
      const [first, second] = input.targets.map((target) => this.#find(input, target, window));
      const isThere = first != null && second !== null;
      place = !isThere ? null : second === undefined ? [...first, input.how] : [...first, input.how, second];
      this.#places.set(input, place);
    }
    return place;
  }

  /** The middle of an element once it is in the window; as in adapters, a longer page is scrolled to it. */
  #find(input: GivenInput, target: Target, window: PageWindow): Spot | null {
    const place = typeof target === "string" ? this.#middle(input, target, window) : target;
    if (place === null) return null;
    const { innerWidth, innerHeight } = window;
    const [x, y] = place;
    if (x >= 0 && y >= 0 && x < innerWidth && y < innerHeight) return place;
    const problem = `it is outside of the page's window of ${innerWidth} x ${innerHeight}`;
    this.problems.set(input, wordsOf(problem));
    return null;
  }

  #middle(input: GivenInput, selector: string, window: PageWindow): Spot | null {
    const all = attempt(() => elements(window, selector));
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
    return middleOf(element, window);
  }
}
