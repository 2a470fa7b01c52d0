/** What can be read of a page: globals, variables of its classic scripts, results of its functions, and what it shows. */

import type { PageWindow } from "attract/page-adapter";
import { elements, everyIn, hostOf, INTO } from "../../sdk/src/page/elements.ts";
import { numberIn } from "../../sdk/src/page/numerals.ts";

import { engineNames } from "./engine-names.ts";
import { attempt, type Place, type Root } from "./places.ts";
import { GETTER_NAMES, MENU_NAMES, OPPONENTS, OVER_ELEMENTS, PROMPT } from "./rules.ts";

/** Declarations of a script at any depth; the page then shows which of them are global. */
const DECLARED = /\b(?:let|const|class)\s+([A-Za-z_$][\w$]*)|\b(?:let|const)\s*\{([^}=]*)\}/g;
/** Further names of one declaration: `let a = 1, b = 2`. */
const FURTHER = /,\s*([A-Za-z_$][\w$]*)\s*(?:=|,|;|\n)/g;
const MAX_NAMES = 400;
const MAX_ALIKE = 64;
const LONGEST_PROMPT = 80;

/** The page's own globals that are not a browser's. */
export function globalsOf(window: PageWindow, pristine: ReadonlySet<string>): Root[] {
  const engines = engineNames(window, window);
  const names = (Object.getOwnPropertyNames(window) as string[]).filter(
    (name) => !pristine.has(name) && !engines.has(name) && !/^\d+$/.test(name) && !name.startsWith("attract"),
  );
  return names.map((name) => ({ text: `w.${name}`, name, read: (page) => page[name] }));
}

/** Names of a browser's window without a page. */
export function pristineNames(): ReadonlySet<string> {
  const frame = document.createElement("iframe");
  document.body.append(frame);
  const names = new Set(Object.getOwnPropertyNames(frame.contentWindow as object));
  frame.remove();
  return names;
}

/** The texts of the page's own classic scripts, those of other origins left out. */
export async function scriptsOf(window: PageWindow): Promise<string[]> {
  const texts: string[] = [];
  for (const script of [...window.document.scripts] as HTMLScriptElement[]) {
    if (script.src === "") texts.push(script.text);
    else if (new URL(script.src).origin === location.origin && !script.src.includes("/.attract/"))
      texts.push(
        await fetch(script.src).then(
          (answer) => (answer.ok ? answer.text() : ""),
          () => "",
        ),
      );
  }
  return texts;
}

/** `let` and `const` of classic scripts belong to no object: a function made within the page can name them. */
export function variablesOf(window: PageWindow, scripts: readonly string[]): Root[] {
  const names = new Set<string>();
  for (const text of scripts) {
    for (const [, name, several] of text.matchAll(DECLARED))
      for (const one of name === undefined ? several.split(",") : [name])
        names.add(one.split(":").at(-1)?.trim() ?? "");
    for (const [, name] of text.matchAll(FURTHER)) names.add(name);
  }
  const known = [...names]
    .filter((name) => name !== "" && !Object.hasOwn(window, name))
    // A variable may have no value yet. `null` between commas is no variable.
    .filter((name) => attempt(() => [window.eval(`({ ${name} })`)]) !== undefined)
    .slice(0, MAX_NAMES);
  return known.map((name) => {
    const look = window.eval(`() => ${name}`) as () => unknown;
    const looks = new WeakMap<object, () => unknown>([[window, look]]);
    return {
      text: `w.lookInside().${name}`,
      name,
      read: (page) => {
        // A function per page.
        const own = looks.get(page) ?? (page.eval(`() => ${name}`) as () => unknown);
        looks.set(page, own);
        return own();
      },
    };
  });
}

/** Functions that give the game's state, and what they say they give. */
export function answersOf(window: PageWindow, globals: readonly Root[]): Root[] {
  const roots: Root[] = [];
  for (const { name, text } of globals) {
    if (!GETTER_NAMES.test(name) || typeof window[name] !== "function" || window[name].length > 0) continue;
    if (attempt(() => window[name]()) !== undefined)
      roots.push({ text: `${text}()`, name, read: (page) => page[name]() });
  }
  return roots;
}

/** Numbers that elements show, and whether those that tell of an end are to be seen. */
export function shownIn(window: PageWindow): Place[] {
  const places: Place[] = [];
  for (const element of everyIn(window)) {
    const selector = selectorOf(window, element);
    if (selector === null) continue;
    const find = (page: PageWindow): HTMLElement | undefined => elements(page, selector)[0];
    const own = idOf(element) || classesOf(element) || selector;
    const name = isOpponents(element) ? `opponent's ${own}` : own;
    const written = selector.includes(INTO)
      ? `elements(w, ${JSON.stringify(selector)})[0]`
      : `w.document.querySelector(${JSON.stringify(selector)})`;
    const text = element.textContent?.trim() ?? "";
    // What the cells of a board say together is no text of the board's own.
    const hasOwnText = [...element.childNodes].some((node) => node.nodeType === 3 && node.nodeValue?.trim());
    const isLeaf = element.children.length === 0 || (hasOwnText && text.length < 40);
    if (isLeaf && text.length <= 40 && /\d/.test(text))
      places.push({
        text: `numberIn(${written})`,
        name,
        kind: "number",
        fields: [],
        isShown: true,
        read: (page) => numberIn(find(page)),
      });
    const names = `${idOf(element)} ${classesOf(element)}`;
    const isMenu = MENU_NAMES.test(names) || (text.length <= LONGEST_PROMPT && PROMPT.test(text));
    if (isMenu || OVER_ELEMENTS.test(names))
      places.push({
        text: `(${written}?.checkVisibility({ opacityProperty: true, visibilityProperty: true }) ?? false)`,
        name,
        kind: "truth",
        fields: [],
        isShown: true,
        read: (page) =>
          find(page)?.checkVisibility({ opacityProperty: true, visibilityProperty: true }) ?? false,
      });
  }
  return places;
}

/** Elements that are alike, such as the cells of a board. */
export interface Group {
  readonly selector: string;
  readonly count: number;
}

/** The largest groups of elements that are alike and to be seen. */
export function groupsOf(window: PageWindow): Group[] {
  const groups = new Map<string, Group>();
  for (const element of everyIn(window)) {
    const [name] = element.classList;
    const { parentNode } = element;
    if (parentNode === null || (name === undefined && element.tagName !== "BUTTON")) continue;
    const within = withinOf(window, element);
    if (within === null) continue;
    const own =
      within + (name === undefined ? element.tagName.toLowerCase() : `.${window.CSS.escape(name) as string}`);
    const alike = elements(window, own);
    if (alike.length < 2 || alike.length > MAX_ALIKE || groups.has(own)) continue;
    const isShown = alike.every((one) => one.checkVisibility() && one.offsetWidth * one.offsetHeight >= 64);
    if (isShown) groups.set(own, { selector: own, count: alike.length });
  }
  const found = [...groups.values()];
  // By a class rather than by a tag that others have as well.
  const byClass = found.filter(({ selector }) => selector.startsWith("."));
  return (byClass.length > 0 ? byClass : found).sort((a, b) => b.count - a.count).slice(0, 3);
}

/** A grid of one row, as number of columns, cells per column, and the cells. */
function row(cells: number[]): number[] {
  return [cells.length, 1, ...cells];
}

/** What such elements show: how many classes each has, and the number in each. */
export function shownInGroups(window: PageWindow): Place[] {
  return groupsOf(window).flatMap(({ selector }) => {
    const all = selector.includes(INTO)
      ? `elements(w, ${JSON.stringify(selector)})`
      : `[...w.document.querySelectorAll(${JSON.stringify(selector)})]`;
    const base = { name: selector, kind: "grid", fields: [], isShown: true } as const;
    return [
      {
        ...base,
        text: `${all}.map((one) => one.classList.length)`,
        read: (page: PageWindow) => row(elements(page, selector).map((one) => one.classList.length)),
      },
      {
        ...base,
        text: `${all}.map((one) => Number(one.textContent) || 0)`,
        read: (page: PageWindow) => row(elements(page, selector).map((one) => Number(one.textContent) || 0)),
      },
    ];
  });
}

/** Whether the words beside it name an opponent of the player. */
function isOpponents(element: Element): boolean {
  const near = [element, element.previousSibling, element.previousElementSibling, element.parentElement];
  const words = near.map((one) => one?.textContent ?? "");
  const said = words.find((text) => /\p{L}/u.test(text)) ?? "";
  return said.length <= LONGEST_PROMPT && OPPONENTS.test(said);
}

/** Its id as it is written: of a form, `element.id` may be a field of that name. */
export function idOf(element: Element): string {
  return element.getAttribute("id") ?? "";
}

/** Its classes as they are written: of a drawing, `element.className` is no text. */
export function classesOf(element: Element): string {
  return element.getAttribute("class") ?? "";
}

/** A selector that gives this element and will again; null where none does. */
export function selectorOf(window: PageWindow, element: Element): string | null {
  const root = element.getRootNode() as Document | ShadowRoot;
  const within = withinOf(window, element);
  if (within === null) return null;
  const escaped = (name: string): string => window.CSS.escape(name) as string;
  const classes = [...element.classList].filter((name) => !/^(hidden|active|visible|show)$/.test(name));
  const selectors = [
    ...(idOf(element) === "" ? [] : [`#${escaped(idOf(element))}`]),
    ...classes.map((name) => `.${escaped(name)}`),
    ...classes.map((name) => `${element.tagName.toLowerCase()}.${escaped(name)}`),
  ];
  const parent = element.parentElement;
  if (parent !== null && idOf(parent) !== "")
    selectors.push(`#${escaped(idOf(parent))} > ${element.tagName.toLowerCase()}`);
  selectors.push(element.tagName.toLowerCase());
  const found = selectors.find((selector) => root.querySelectorAll(selector).length === 1);
  return found === undefined ? null : within + found;
}

/** What leads to the shadow root or the frame of an element, empty for one of the page itself; null: nothing does. */
export function withinOf(window: PageWindow, element: Element): string | null {
  const host = hostOf(window, element);
  if (host === null) return "";
  const own = selectorOf(window, host);
  return own === null ? null : own + INTO;
}
