/** What elements lie in, also outside of their shadows, and which of it scrolls. */

type Page = Window & typeof globalThis;

/** What lies at a place of the window, in whatever shadow. */
export function elementAt(document: Document, [x, y]: readonly [x: number, y: number]): Element {
  let found = document.elementFromPoint(x, y) ?? document.documentElement;
  for (let inner = found.shadowRoot?.elementFromPoint(x, y); inner && inner !== found; ) {
    found = inner;
    inner = found.shadowRoot?.elementFromPoint(x, y);
  }
  return found;
}

/** An element and all that it lies in, also outside of its shadow. */
export function pathOf(element: Element | null): Element[] {
  const path: Element[] = [];
  for (let one = element; one !== null; one = parentOf(one)) path.push(one);
  return path;
}

/** What an element lies in: in a shadow's outermost, its host. */
export function parentOf(element: Element): Element | null {
  const { parentElement } = element;
  if (parentElement !== null) return parentElement;
  const root = element.getRootNode();
  return "host" in root ? (root as ShadowRoot).host : null;
}

/** The nearest element that holds both, or is one of them: browsers give it the click. Null: there is none any more. */
export function commonAncestor(one: Element | null, other: Element): Element | null {
  const others = pathOf(other);
  return pathOf(one).find((element) => others.includes(element)) ?? null;
}

/** Scrolls what `target` lies in down by `pixels` as a wheel does: the first that can be, and is not at its end. */
export function scrollFrom(window: Page, target: Element, pixels: number): void {
  const { documentElement: root, scrollingElement, body } = window.document;
  const overflow = (one: Element): string => window.getComputedStyle(one).overflowY;
  for (const one of pathOf(target)) {
    const isWindow = one === scrollingElement;
    const said = overflow(isWindow && overflow(root) === "visible" ? (body ?? one) : one);
    if (!(isWindow ? /visible|auto|scroll/ : /auto|scroll/).test(said)) continue;
    const before = one.scrollTop;
    one.scrollBy({ top: pixels, behavior: "instant" });
    if (one.scrollTop !== before) return;
  }
}
