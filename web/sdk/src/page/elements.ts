/** Elements of a page wherever they lie: also in open shadow roots, and in frames of its origin. */

import type { PageWindow } from "../page-adapter.ts";

/** Stands between an element and what lies in its shadow root or its frame. */
export const INTO = " >>> ";

/**
 * All that match, in the document's order; `lane-game >>> button` are those in the shadow root, or the frame, of each `lane-game`.
 *
 * Throws where a part is no CSS selector.
 */
export function elements(window: PageWindow, selector: string): HTMLElement[] {
  const parts = selector.split(INTO);
  let found: Element[] = [...window.document.querySelectorAll(parts[0])];
  for (const part of parts.slice(1))
    found = found.flatMap((one) => [...(innerOf(one)?.querySelectorAll(part) ?? [])]);
  return found as HTMLElement[];
}

/** All that match in the page's body, whatever shadow root or frame they lie in. */
export function everyIn({ document }: PageWindow, selector = "*"): HTMLElement[] {
  const found: Element[] = [];
  const visit = (root: ParentNode | null): void => {
    for (const one of root?.querySelectorAll("*") ?? []) {
      if (selector === "*" || one.matches(selector)) found.push(one);
      visit(innerOf(one));
    }
  };
  visit(document.body);
  return found as HTMLElement[];
}

/** The page's canvases; where the document itself has none, those of its shadow roots and frames, which takes a while to find. */
export function canvasesIn(window: PageWindow): HTMLCanvasElement[] {
  const own: HTMLCanvasElement[] = Array.from(window.document.querySelectorAll("canvas"));
  return own.length > 0 ? own : (everyIn(window, "canvas") as HTMLCanvasElement[]);
}

/** What an element lies in besides its parents: the host of its shadow root, or the frame of its document; null: the page. */
export function hostOf({ document }: PageWindow, element: Element): Element | null {
  const root = element.getRootNode();
  if (root === document) return null;
  return "host" in root ? (root as ShadowRoot).host : ((root as Document).defaultView?.frameElement ?? null);
}

function innerOf(element: Element): ParentNode | null {
  return element.shadowRoot ?? (element as HTMLIFrameElement).contentDocument?.body ?? null;
}
