/** What is pressed in a page of which no inputs are known. */

import { middleOf, pressAimed } from "../page-action.ts";
import type { PageHands, PageWindow, PointerPlace } from "../page-adapter.ts";
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
/** Frames of a step. */
const STEP = 4;
const SIDE = 3;
/** Places that come after one another are not neighbours: no divisor of SIDE * SIDE. */
const STRIDE = 4;
const MAX_ELEMENTS = 1_000;
const BUTTONS = "button, input:not([type=file]), select, summary, [role=button], [onclick]";
const LEADS_AWAY = "a[href]:not([href^='#']):not([href^='javascript:'])";
const HELD = "[draggable=true]";
const HELD_CURSORS = ["grab", "move"];
/** Sides of a thing, as a share of the window's and in pixels. */
const MAX_SHARE = 0.5;
const MIN_PX = 8;
/** Neighbours to which a thing is dragged as often as anywhere. */
const NUM_NEAR = 4;
/** So many turns further in a list of things: it seldom divides their number. */
const FURTHER = 7;

type Spot = readonly [x: number, y: number];

/** Options of `definePageGame`. */
export interface UsualInputs {
  readonly ticksPerStep: number;
  readonly action: DiscreteSpace;
  act(window: PageWindow, action: GivenAction, page: PageHands): void;
}

/**
 * Usual keys, or swipes of a finger, beside three that go round: `press` presses another of nine places of the window, or of
 * its small elements, in each step, `button` another of the elements that look as if they could be clicked and lead to no other
 * page, and `drag` drags another small element, or what is at a place. An action for each of them would be tried too seldom.
 */
export function usualInputs({ touch = false }: { readonly touch?: boolean } = {}): UsualInputs {
  const labels = ["nothing", ...Object.keys(touch ? SWIPES : KEYS), "press", "button", "drag"];
  return {
    ticksPerStep: STEP,
    action: discrete(labels),
    act: (window, action, page) => {
      const label = labels[action as number];
      page.hold((touch ? undefined : KEYS[label]) ?? []);
      const turn = Math.floor(page.ticks / STEP);
      pressAimed(() => stayingAt(window, placeOf(window, label, turn)), page, page.stepTick / STEP);
    },
  };
}

/** Null where a link to another page lies. */
function stayingAt({ document }: PageWindow, place: PointerPlace | null): PointerPlace | null {
  if (place === null) return null;
  return document.elementFromPoint(place[0], place[1])?.closest(LEADS_AWAY) == null ? place : null;
}

function placeOf(window: PageWindow, label: string, turn: number): PointerPlace | null {
  const { innerWidth, innerHeight } = window;
  if (label === "drag") return dragIn(window, turn);
  if (label in SWIPES) {
    const [x, y] = SWIPES[label];
    const middle = [0.5 * innerWidth, 0.5 * innerHeight] as const;
    return [...middle, "drag", [middle[0] + x * innerWidth, middle[1] + y * innerHeight]];
  }
  if (label === "press") return pressedIn(window, turn);
  const buttons = label === "button" ? buttonsIn(window) : [];
  return buttons[turn % buttons.length] ?? null;
}

/** In every second turn one of the page's things; of a canvas nothing is known but its places. */
function pressedIn(window: PageWindow, turn: number): Spot {
  const things = turn % 2 === 0 ? [] : thingsIn(window);
  if (things.length > 0) return things[Math.floor(turn / 2) % things.length];
  const places = placesIn(window);
  return places[turn % places.length];
}

/** In every second turn to a neighbour, else anywhere; null: there are not two things. */
function dragIn(window: PageWindow, turn: number): PointerPlace | null {
  const isHeld = (one: Element): boolean =>
    one.matches(HELD) || HELD_CURSORS.includes(window.getComputedStyle(one).cursor);
  const shown = shownIn(window);
  const held = middlesOf(shown.filter(isHeld), window);
  const small = thingsIn(window, shown);
  const things = small.length > 1 ? small : placesIn(window);
  const froms = held.length > 0 ? held : things;
  const [pair, far] = [Math.floor(turn / 2), turn % 2 === 0];
  const from = froms[pair % froms.length];
  const away = ([x, y]: Spot): number => Math.hypot(x - from[0], y - from[1]);
  const others = things.filter((one) => away(one) >= MIN_PX).sort((a, b) => away(a) - away(b));
  const nth = far ? FURTHER * pair : (pair + Math.floor(pair / froms.length)) % NUM_NEAR;
  return others.length === 0 ? null : [...from, "drag", others[nth % others.length]];
}

/** Middles of what is small, as cards, pieces and cells are, with what lies in it. */
function thingsIn(window: PageWindow, shown = shownIn(window)): Spot[] {
  const { innerWidth, innerHeight } = window;
  const small = shown.filter((one) => {
    const { width, height } = one.getBoundingClientRect();
    const isThing = width < MAX_SHARE * innerWidth && height < MAX_SHARE * innerHeight;
    return isThing && Math.min(width, height) >= MIN_PX;
  });
  return middlesOf(small, window);
}

/** Middles of the parts of the window. */
function placesIn({ innerWidth, innerHeight }: PageWindow): Spot[] {
  return Array.from({ length: SIDE * SIDE }, (_, i) => {
    const place = (STRIDE * i) % (SIDE * SIDE);
    const [x, y] = [place % SIDE, Math.floor(place / SIDE)].map((at) => (at + 0.5) / SIDE);
    return [x * innerWidth, y * innerHeight];
  });
}

/** Middles of visible elements that look as if they could be clicked. */
function buttonsIn(window: PageWindow): Spot[] {
  const isHand = (one: Element | null): boolean =>
    one !== null && window.getComputedStyle(one).cursor === "pointer";
  const buttons = shownIn(window).filter(
    (one) =>
      (one.matches(BUTTONS) || (isHand(one) && !isHand(one.parentElement))) &&
      !one.matches(":disabled") &&
      one.closest(LEADS_AWAY) === null,
  );
  return middlesOf(buttons, window);
}

function shownIn(window: PageWindow): HTMLElement[] {
  return everyIn(window)
    .slice(0, MAX_ELEMENTS)
    .filter((one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }));
}

/** Of those that are in the window. */
function middlesOf(found: readonly HTMLElement[], window: PageWindow): Spot[] {
  return found.flatMap((one) => {
    const place = middleOf(one, window);
    if (place === null) return [];
    const [x, y] = place;
    return x > 0 && y > 0 && x < window.innerWidth && y < window.innerHeight ? [place] : [];
  });
}
