/** What an action of a game that lives in a page presses. */

import type { GivenAction } from "./contract.ts";
import { ConfigurationError, show } from "./errors.ts";
import type {
  ClickPlace,
  ClickTarget,
  PageAdapter,
  PageHands,
  PageWindow,
  PointerHow,
  PointerPlace,
} from "./page-adapter.ts";
import { POINTER_INPUTS } from "./page-inputs.gen.ts";
import type { NamedAction } from "./spaces.ts";

const NO_KEYS: readonly string[] = [];
/** Where the pointer of each page goes in the step under way. */
const aimed = new WeakMap<PageHands, PointerPlace | null>();

/**
 * Has `hands` do `action`, of several agents one for each. Called before each tick of the step.
 *
 * @param progress how much of the step has passed, from 0 to below 1.
 */
export function pressAction(
  { act, click, keys, labels, mixed, pointers, taps }: PageAdapter,
  window: PageWindow,
  action: GivenAction,
  hands: PageHands,
  progress: number,
): void {
  if (act !== undefined) {
    act(window, action, hands);
    return;
  }
  if (click !== undefined) {
    pressAimed(() => placeOf(click(window, action), window), hands, progress);
    return;
  }
  const isOver = taps && progress >= 0.5;
  if (mixed !== undefined) {
    const own = action as NamedAction;
    const chosen = Object.entries(mixed.labels).map(([name, all]) => all[own[name] as number]);
    hands.hold(isOver ? NO_KEYS : chosen.flatMap((label) => keys[0]?.[label] ?? NO_KEYS));
    const how = mixed.hows[chosen.find((label) => label in mixed.hows) ?? mixed.aim];
    const [x, y] = Array.from(own[mixed.aim] as ArrayLike<number>);
    pressPointer([x, y, how], hands, progress, taps);
    return;
  }
  if (keys.length > 1) {
    const actions = action as ArrayLike<number>;
    const held = keys.flatMap((own, agent) => own[labels[actions[agent]]] ?? NO_KEYS);
    hands.hold(isOver ? NO_KEYS : held);
    return;
  }
  const label = labels[action as number];
  if (keys.length === 1) hands.hold(isOver ? NO_KEYS : (keys[0][label] ?? NO_KEYS));
  pressPointer(pointers[label] ?? null, hands, progress, taps);
}

/**
 * Has the pointer do what `aim` names when a step begins; it is let go halfway through.
 *
 * @param progress how much of the step has passed, from 0 to below 1.
 */
export function pressAimed(aim: () => PointerPlace | null, hands: PageHands, progress: number): void {
  if (hands.stepTick === 0) {
    // Pressed still, it would not be pressed again.
    hands.lift();
    aimed.set(hands, aim());
  }
  const place = aimed.get(hands);
  if (place != null) pressPointer(place, hands, progress, true);
}

/**
 * Has the pointer do what `place` says, or nothing.
 *
 * @param progress how much of its time has passed, from 0 to below 1.
 * @param taps whether it is let go halfway through.
 */
export function pressPointer(
  place: PointerPlace | null,
  hands: PageHands,
  progress: number,
  taps: boolean,
): void {
  // Held from an action before, it would never click again.
  if (place === null) {
    hands.lift();
    return;
  }
  const [x, y, how = "press", second] = place;
  const { second: use, spread, wheel } = inputOf("click", how, second);
  const isOver = progress >= 0.5;
  const share = Math.min(1, 2 * progress);
  // Lets go in the end, where that is.
  const moves = isOver ? "move" : how;
  if (use === "end" && second !== undefined)
    hands.point(x + share * (second[0] - x), y + share * (second[1] - y), moves);
  else if (spread !== null) {
    const half = (spread[0] + share * (spread[1] - spread[0])) / 2;
    hands.point(x - half, y, moves, [x + half, y]);
  } else if (taps && isOver) hands.lift();
  // A wheel turns once.
  else hands.point(x, y, wheel !== 0 && progress > 0 ? "move" : how, second);
}

/** The row of `how`. Raises ConfigurationError, naming `field`, where there is none, or it lacks its second place. */
export function inputOf(
  field: string,
  how: PointerHow,
  second: unknown,
): (typeof POINTER_INPUTS)[PointerHow] {
  const row = POINTER_INPUTS[how] as (typeof POINTER_INPUTS)[PointerHow] | undefined;
  if (row === undefined)
    throw new ConfigurationError(
      field,
      `does ${show(how)}: none of ${Object.keys(POINTER_INPUTS).join(", ")}`,
    );
  if (row.second !== null && second === undefined)
    throw new ConfigurationError(field, `"${how}" needs a second place`);
  return row;
}

/** A longer page is scrolled to what lies outside its window; what has no size cannot be clicked. */
function placeOf(target: ClickTarget | null | undefined, window: PageWindow): PointerPlace | null {
  if (target == null) return null;
  const [first, how, second] = (Array.isArray(target) ? target : [target, "press"]) as [
    ClickPlace,
    PointerPlace[2],
    ClickPlace?,
  ];
  const { innerWidth, innerHeight } = window;
  let place = middleOf(first, window);
  if (place === null) return null;
  const [x, y] = place;
  if ("getBoundingClientRect" in first && (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight)) {
    window.scrollBy({ left: x - innerWidth / 2, top: y - innerHeight / 2, behavior: "instant" });
    place = middleOf(first, window) ?? place;
  }
  if (second === undefined) return [...place, how];
  const end = middleOf(second, window);
  return end === null ? null : [...place, how, end];
}

/** In the window of the page, also of what lies in a frame within it; null: it has no size. */
export function middleOf(place: ClickPlace, window: PageWindow): readonly [x: number, y: number] | null {
  if (!("getBoundingClientRect" in place)) return [place.x, place.y];
  const { left, top, width, height } = place.getBoundingClientRect();
  if (width === 0 || height === 0) return null;
  let [x, y] = [left + width / 2, top + height / 2];
  let view: PageWindow = (place as { ownerDocument?: PageWindow }).ownerDocument?.defaultView;
  for (; view && view !== window && view.frameElement; view = view.parent) {
    const frame = view.frameElement;
    const box = frame.getBoundingClientRect();
    x += box.left + frame.clientLeft;
    y += box.top + frame.clientTop;
  }
  return [x, y];
}
