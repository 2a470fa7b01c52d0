/** What an action of a game that lives in a page presses. */

import type { Action } from "./contract.ts";
import type { PageAdapter, PageHands, PageWindow } from "./page-adapter.ts";

const NO_KEYS: readonly string[] = [];

/**
 * Has `hands` do `action`, of several agents one for each. Called before each tick of the step.
 *
 * @param progress how much of the step has passed, from 0 to below 1.
 */
export function pressAction(
  { act, keys, labels, pointers, taps }: PageAdapter,
  window: PageWindow,
  action: Action | ArrayLike<Action>,
  hands: PageHands,
  progress: number,
): void {
  if (act !== undefined) {
    act(window, action as number | ArrayLike<number>, hands);
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
