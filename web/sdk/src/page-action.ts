/** What an action of a game that lives in a page presses. */

import type { Action } from "./contract.ts";
import type { ClickedElement, ClickTarget, PageAdapter, PageHands, PageWindow } from "./page-adapter.ts";

const NO_KEYS: readonly string[] = [];

/**
 * Has `hands` do `action`, of several agents one for each. Called before each tick of the step.
 *
 * @param progress how much of the step has passed, from 0 to below 1.
 */
export function pressAction(
  { act, click, keys, labels, pointers, taps }: PageAdapter,
  window: PageWindow,
  action: Action | ArrayLike<Action>,
  hands: PageHands,
  progress: number,
): void {
  if (act !== undefined) {
    act(window, action as number | ArrayLike<number>, hands);
    return;
  }
  if (click !== undefined) {
    if (hands.stepTick === 0) clickOn(click(window, action as number | ArrayLike<number>), window, hands);
    else if (progress >= 0.5) hands.lift();
    return;
  }
  if (taps && progress >= 0.5) {
    hands.hold(NO_KEYS);
    hands.lift();
    return;
  }
  if (keys.length > 1) {
    const actions = action as ArrayLike<number>;
    hands.hold(keys.flatMap((own, agent) => own[labels[actions[agent]]] ?? NO_KEYS));
    return;
  }
  const label = labels[action as number];
  if (keys.length === 1) hands.hold(keys[0][label] ?? NO_KEYS);
  const place = pointers[label];
  if (place !== undefined) hands.point(place[0], place[1], place[2] !== "move");
  // Held from an action before, it would never click again.
  else hands.lift();
}

/** Presses the pointer there, after scrolling the page where that lies outside its window; what has no size cannot be clicked. */
function clickOn(target: ClickTarget | null | undefined, window: PageWindow, hands: PageHands): void {
  // Pressed still, it would not be pressed again.
  hands.lift();
  if (target == null) return;
  if (!("getBoundingClientRect" in target)) {
    hands.point(target.x, target.y, true);
    return;
  }
  const { width, height } = target.getBoundingClientRect();
  if (width === 0 || height === 0) return;
  let [x, y] = middleOf(target);
  const { innerWidth, innerHeight } = window;
  if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) {
    window.scrollBy({ left: x - innerWidth / 2, top: y - innerHeight / 2, behavior: "instant" });
    [x, y] = middleOf(target);
  }
  hands.point(x, y, true);
}

function middleOf(element: ClickedElement): [x: number, y: number] {
  const { left, top, width, height } = element.getBoundingClientRect();
  return [left + width / 2, top + height / 2];
}
