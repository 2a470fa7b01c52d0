/** How a game starts from its menu: by itself, by a key, by a click. */

import { middleOf } from "attract/page-action";
import type { PageWindow } from "attract/page-adapter";
import { drawn } from "../../sdk/src/page/drawn.ts";
import { canvasesIn, elements, everyIn, hostOf, INTO } from "../../sdk/src/page/elements.ts";
import { phaserSpots } from "../../sdk/src/page/phaser.ts";
import { spot, spotsIn } from "../../sdk/src/page/spot.ts";
import { heightForClicks } from "./clicks.ts";

import { classesOf, idOf, selectorOf, withinOf } from "./roots.ts";
import {
  COUNTDOWN,
  LOADING,
  OTHER_WORDS,
  PRESS_WORDS,
  PROMPT,
  START_PICTURES,
  START_WORDS,
} from "./rules.ts";
import { type Input, NOTHING, type PageToProbe, Trial } from "./trial.ts";

/** Frames of a press, and frames until the next. */
const PRESS = 4;
/** One press, or presses until menus are over: an unplayed game may end soon. */
export const FIRST_WAIT = 10;
const WAITS = [FIRST_WAIT, 40];
/** Until an intro or a countdown is over: tried if no input had an effect before. */
export const LONG_WAIT = 240;
const LAST_PRESS = 24;
/** Menus behind one another: a start page, help, a name. */
const MAX_PAGES = 4;
/** Buttons that are tried if none has a start word: levels, and numbers of players. */
const PLAIN_BUTTONS = "button, input[type=button], input[type=submit], [role=button]";
/** What is a button, and what looks like one. */
const REAL_BUTTONS = `${PLAIN_BUTTONS}, [onclick]`;
const BUTTON_LIKE = `${REAL_BUTTONS}, a, [class*=btn], [class*=button]`;
/** Beside them what is named as a start, in any of its words. */
export const BUTTONS = `${BUTTON_LIKE}, [id*=start i], [id*=play i]`;
const MAX_BUTTONS = 3;
/** Elements that are looked at: to find a selector for each takes as long as there are elements. */
const MAX_CANDIDATES = 500;
const LONGEST_BUTTON = 24;
/** Keys of start menus, also of menus for one or two players. */
type Screen = Pick<PageToProbe, "size" | "touch">;

const START_KEYS = ["Space", "Enter", "Digit1"];
const MAX_KEYS = 3;

export type Press =
  | { readonly kind: "key"; readonly code: string }
  | { readonly kind: "click"; readonly x: number; readonly y: number }
  | { readonly kind: "element"; readonly selector: string; readonly text: string }
  | { readonly kind: "spot"; readonly name: string };

export type StartAction = {
  readonly ticks: number;
  /** What menus behind the first one ask for. Default: nothing. */
  readonly further?: readonly Press[];
} & ({ readonly kind: "none" } | Press);

export const BY_ITSELF: StartAction = { kind: "none", ticks: 0 };

/** Presses begin before this tick. All are whole, since a cut click on "Start/Pause" would start and then pause. */
export function lastPress({ ticks, further = [] }: StartAction): number {
  return Math.min(LAST_PRESS * (further.length + 1), ticks - (ticks % (2 * PRESS)));
}

/** What is pressed, the first menu's first. */
export function pressesOf({ ticks: _ticks, further = [], ...first }: StartAction): Press[] {
  return first.kind === "none" ? [] : [first, ...further];
}

/**
 * Starts the game.
 *
 * @param isBegun ends the presses, once one of them is over. Default: there are as many as the start action's time allows.
 */
export async function start(trial: Trial, startAction: StartAction, isBegun?: () => boolean): Promise<void> {
  const last = isBegun === undefined ? lastPress(startAction) : startAction.ticks;
  for (let tick = 0; tick < startAction.ticks && !isBegun?.(); tick++) {
    const isDown = tick % (2 * PRESS) < PRESS && tick < last;
    await trial.play((_, window) => (isDown ? inputOf(startAction, window) : NOTHING), 1, []);
  }
}

/** The height of the window in which a board of elements is in sight: nothing is clicked that is below. */
export async function heightNeeded(page: PageToProbe, startActions: readonly StartAction[]): Promise<number> {
  let height = page.size[1];
  for (const startAction of startActions.filter(({ ticks }) => ticks <= FIRST_WAIT)) {
    const trial = await Trial.open(page);
    try {
      await start(trial, startAction);
      if (canvasesIn(trial.window).length > 0) break;
      height = Math.max(height, heightForClicks(trial.window, trial.clickable));
    } finally {
      trial.close();
    }
  }
  return height;
}

/** As adapters have it: the button of the last menu that is there; keys and a click where there is none. */
function inputOf(startAction: StartAction, window: PageWindow): Input {
  const presses = pressesOf(startAction);
  for (const press of presses.toReversed()) {
    const place = placeOf(press, window);
    if (place !== undefined) return { keys: [], pointer: place };
  }
  const keys = presses.flatMap((press) => (press.kind === "key" ? [press.code] : []));
  const click = presses.findLast((press) => press.kind === "click");
  return click === undefined ? { keys } : { keys, pointer: [click.x, click.y] };
}

function placeOf(press: Press, window: PageWindow): readonly [x: number, y: number] | undefined {
  if (press.kind === "spot") return spot(window, press.name);
  if (press.kind !== "element") return undefined;
  const [element] = elements(window, press.selector);
  if (!element?.checkVisibility()) return undefined;
  // As in the adapter: a page longer than its window is scrolled to the button.
  const below = element.getBoundingClientRect().bottom - window.innerHeight;
  if (below > 0) window.scrollBy({ top: below, behavior: "instant" });
  return middleOf(element, window) ?? undefined;
}

/**
 * Candidates for the start action: keys, a click in the middle, and what looks like a button.
 *
 * @param written texts that the page drew.
 */
export function startActionsOf(
  window: PageWindow,
  page: Screen,
  written: Iterable<string> = [],
): StartAction[] {
  const named = keysNamed([window.document.body.innerText, ...written].join("\n"));
  const keys = keysIn([...named, ...START_KEYS], page);
  const presses = [...buttonsIn(window), ...keys, clickIn(window, page.size)];
  return [
    BY_ITSELF,
    ...[...WAITS, LONG_WAIT].flatMap((ticks) => presses.map((press): StartAction => ({ ...press, ticks }))),
  ];
}

/**
 * What the menu in `window` asks for: buttons, and the keys or the click that its prompts name.
 *
 * @param before prompts of the menu before it, which ask for nothing now.
 */
export function pressesIn(window: PageWindow, page: Screen, before: readonly string[]): Press[] {
  const prompts = promptsIn(window).filter((text) => PROMPT.test(text) && !before.includes(text));
  const asksForClick = prompts.some((text) => /click|tap|touch/i.test(text));
  return [
    ...buttonsIn(window),
    ...keysIn(keysNamed(prompts.join("\n")), page),
    ...(asksForClick ? [clickIn(window, page.size)] : []),
  ];
}

/** Start actions that continue from the menu behind `startAction`, by what is pressed there. */
export function startActionsAfter(startAction: StartAction, presses: readonly Press[]): StartAction[] {
  const { further = [] } = startAction;
  const own = pressesOf(startAction).map(pressKey);
  if (own.length === 0 || own.length >= MAX_PAGES) return [];
  return WAITS.flatMap((ticks) =>
    presses
      .filter((press) => !own.includes(pressKey(press)))
      .map((press) => ({
        ...startAction,
        further: [...further, press],
        ticks: (own.length + 1) * ticks,
      })),
  );
}

/** Equal for presses of the same. */
export function pressKey(press: Press): string {
  return press.kind === "element" ? `element ${press.selector}` : JSON.stringify(press);
}

/** None on a phone. */
function keysIn(codes: readonly string[], { touch = false }: Screen): Press[] {
  if (touch) return [];
  return [...new Set(codes)].map((code) => ({ kind: "key", code }));
}

/** A click in the middle: of the canvas, or of the window. */
function clickIn(window: PageWindow, size: readonly [number, number]): Press {
  const canvas = canvasesIn(window)[0]?.getBoundingClientRect();
  const { x, y, width, height } = canvas?.width ? canvas : { x: 0, y: 0, width: size[0], height: size[1] };
  return { kind: "click", x: Math.round(x + width / 2), y: Math.round(y + height / 2) };
}

function buttonsIn(window: PageWindow): Press[] {
  return [...buttonsOf(window), ...drawnButtons(window).map((name): Press => ({ kind: "spot", name }))];
}

/** Drawn buttons: short start words, interactive objects without words, and pictures whose files say it. */
export function drawnButtons(window: PageWindow): string[] {
  const names = spotsIn(window).map(({ name }) => name);
  const worded = names.filter((name) => name.length <= LONGEST_BUTTON && START_WORDS.test(name));
  const wordless = phaserSpots(window).map(({ name }) => name);
  const pictures = drawn(window)
    .pictures()
    .flatMap(({ name }) => (START_PICTURES.test(name) ? [name] : []));
  return [...new Set([...worded, ...wordless, ...pictures])]
    .filter((name) => keysNamed(name).length === 0 && !COUNTDOWN.test(name))
    .slice(0, MAX_BUTTONS);
}

/** Visible texts that prompt for a start, or ask to wait. */
export function promptsIn(window: PageWindow): string[] {
  return [...new Set(textsIn(window))].filter((text) => PROMPT.test(text) || COUNTDOWN.test(text));
}

/** Whether the page shows that it is still loading. */
export function isLoading(window: PageWindow): boolean {
  return textsIn(window).some((text) => LOADING.test(text));
}

function textsIn(window: PageWindow): string[] {
  // The body does not say what lies in shadows and frames.
  const inner = everyIn(window, ":not(script, style, template)").filter(
    (one) =>
      hostOf(window, one) !== null && (one.parentElement === null || one.parentElement.matches("body")),
  );
  return [
    ...drawn(window).texts(),
    ...[window.document.body, ...inner].flatMap((one) => String(one.innerText ?? "").split("\n")),
  ];
}

/** Whether a prompt from before the first press is still there, or the game counts down to its start. */
export function isWaiting(prompts: readonly string[], before: readonly string[]): boolean {
  return prompts.some((text) => before.includes(text) || COUNTDOWN.test(text));
}

/** Keys that a text asks for: "Press N to start". */
export function keysNamed(text: string): string[] {
  const codes = [...text.matchAll(PRESS_WORDS)].map(([, name]) => {
    const word = name.toLowerCase();
    if (word.startsWith("space")) return "Space";
    if (word === "enter" || word === "return") return "Enter";
    return /\d/.test(word) ? `Digit${word}` : `Key${word.toUpperCase()}`;
  });
  return [...new Set(codes)].slice(0, MAX_KEYS);
}

type Button = Extract<Press, { kind: "element" }>;

function buttonsOf(window: PageWindow): Button[] {
  const worded = shownButtons(window, BUTTONS).filter(({ words }) => START_WORDS.test(words));
  const found =
    worded.length > 0
      ? worded
      : shownButtons(window, PLAIN_BUTTONS).filter(({ button }) => !OTHER_WORDS.test(button.text));
  return found.slice(0, MAX_BUTTONS).map(({ button }) => button);
}

/** Visible elements that do not lead to another page, with their texts and names. */
export function shownButtons(window: PageWindow, kinds: string): { button: Button; words: string }[] {
  const candidates = everyIn(window, kinds).slice(0, MAX_CANDIDATES);
  const isReal = (element: HTMLElement): number => Number(element.matches(REAL_BUTTONS));
  return candidates
    .sort((one, other) => isReal(other) - isReal(one))
    .flatMap((element) => {
      const [id, classes] = [idOf(element), classesOf(element)];
      const said = element.textContent?.trim() || (element as HTMLInputElement).value;
      const text = (said || id || classes).slice(0, 40);
      const isAway = /^https?:/.test(element.getAttribute("href") ?? "");
      if (isAway || !element.checkVisibility()) return [];
      if (!element.matches(BUTTON_LIKE) && !START_WORDS.test(wordsIn(id))) return [];
      const selector = selectorOf(window, element) ?? pathOf(window, element);
      return [{ button: { kind: "element", selector, text }, words: wordsIn(`${text} ${id} ${classes}`) }];
    });
}

/** The words of names, as in `scoreDisplay` and `btn-start`, apart from each other. */
function wordsIn(names: string): string {
  return names.replace(/(?<=[a-z\d])(?=[A-Z])|[-_.]/g, " ");
}

/** A path from the body, for elements that neither a name nor a class identifies. */
export function pathOf(window: PageWindow, element: Element): string {
  const parent = element.parentNode as Element | ShadowRoot | null;
  if (element.tagName === "BODY" || parent === null) return `${withinOf(window, element) ?? ""}body`;
  const own = ` > :nth-child(${[...parent.children].indexOf(element) + 1})`;
  return "host" in parent ? `${pathOf(window, parent.host)}${INTO}:host${own}` : pathOf(window, parent) + own;
}
