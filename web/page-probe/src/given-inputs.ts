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
  | { readonly kind: "rotate" }
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
    return click === undefined ? { keys } : { keys, pointer: [...click.place, true] };
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

  #placeOf(input: GivenInput, window: PageWindow): readonly [x: number, y: number] | null {
    if (input.kind !== "element" && input.kind !== "point") return null;
    let place = this.#places.get(input);
    if (place === undefined) {
      place = input.kind === "point" ? [input.x, input.y] : this.#find(input, window);
      const { innerWidth, innerHeight } = window;
      const [x, y] = place ?? [0, 0];
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) {
        const problem = `it is outside of the page's window of ${innerWidth} x ${innerHeight}`;
        this.problems.set(input, wordsOf(problem));
        place = null;
      }
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
