/** What is pressed in a page of which no inputs are known. */

import { middleOf } from "../page-action.ts";
import type { PageHands, PageWindow } from "../page-adapter.ts";
import { type DiscreteSpace, discrete } from "../spaces.ts";
import type { GivenAction } from "../values.ts";
import { everyIn } from "./elements.ts";

const KEYS: Readonly<Record<string, readonly string[]>> = {
  left: ["ArrowLeft", "KeyA"],
  right: ["ArrowRight", "KeyD"],
  up: ["ArrowUp", "KeyW"],
  down: ["ArrowDown", "KeyS"],
  space: ["Space"],
  enter: ["Enter"],
};
/** How far a finger goes from the middle, as shares of the window. */
export const SWIPES: Readonly<Record<string, readonly [x: number, y: number]>> = {
  "swipe left": [-0.3, 0],
  "swipe right": [0.3, 0],
  "swipe up": [0, -0.3],
  "swipe down": [0, 0.3],
};
/** Frames of a step, and of a press in it. */
const STEP = 4;
const PRESS = 2;
const SIDE = 3;
/** Places that come after one another are not neighbours: no divisor of SIDE * SIDE. */
const STRIDE = 4;
const MAX_ELEMENTS = 1_000;
const BUTTONS = "button, input:not([type=file]), select, summary, [role=button], [onclick]";
const LEADS_AWAY = "a[href]:not([href^='#']):not([href^='javascript:'])";

/** Options of `definePageGame`. */
export interface UsualInputs {
  readonly ticksPerStep: number;
  readonly action: DiscreteSpace;
  act(window: PageWindow, action: GivenAction, page: PageHands): void;
}

/**
 * Usual keys, or swipes of a finger, beside two that go round: `press` presses another of nine places of the window in each step,
 * `button` another of the elements that look as if they could be clicked and lead to no other page. An action for each place and each
 * button would be tried too seldom.
 */
export function usualInputs({ touch = false }: { readonly touch?: boolean } = {}): UsualInputs {
  const labels = ["nothing", ...Object.keys(touch ? SWIPES : KEYS), "press", "button"];
  return {
    ticksPerStep: STEP,
    action: discrete(labels),
    act: (window, action, page) => {
      const label = labels[action as number];
      page.hold((touch ? undefined : KEYS[label]) ?? []);
      const swipe = touch ? SWIPES[label] : undefined;
      if (swipe !== undefined) {
        const done = page.stepTick / (STEP - 1);
        const [x, y] = swipe.map((share) => 0.5 + done * share);
        page.point(x * window.innerWidth, y * window.innerHeight, done < 1);
      } else if (page.stepTick === PRESS) {
        page.lift();
      } else if (page.stepTick === 0) {
        const turn = Math.floor(page.ticks / STEP);
        const places = label === "press" ? placesIn(window) : label === "button" ? buttonsIn(window) : [];
        const place = places[turn % places.length];
        if (place !== undefined) page.point(place[0], place[1], true);
      }
    },
  };
}

/** Middles of the parts of the window. */
function placesIn({ innerWidth, innerHeight }: PageWindow): (readonly [x: number, y: number])[] {
  return Array.from({ length: SIDE * SIDE }, (_, i) => {
    const place = (STRIDE * i) % (SIDE * SIDE);
    const [x, y] = [place % SIDE, Math.floor(place / SIDE)].map((at) => (at + 0.5) / SIDE);
    return [x * innerWidth, y * innerHeight];
  });
}

/** Middles of visible elements that look as if they could be clicked. */
function buttonsIn(window: PageWindow): (readonly [x: number, y: number])[] {
  const isHand = (one: Element | null): boolean =>
    one !== null && window.getComputedStyle(one).cursor === "pointer";
  return everyIn(window)
    .slice(0, MAX_ELEMENTS)
    .filter(
      (one) =>
        (one.matches(BUTTONS) || (isHand(one) && !isHand(one.parentElement))) &&
        !one.matches(":disabled") &&
        one.closest(LEADS_AWAY) === null &&
        one.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
    )
    .flatMap((one) => {
      const place = middleOf(one, window);
      if (place === null) return [];
      const [x, y] = place;
      return x > 0 && y > 0 && x < window.innerWidth && y < window.innerHeight ? [place] : [];
    });
}
