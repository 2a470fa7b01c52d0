/** Whether a page runs any script, and why not. */

import type { PageWindow } from "attract/page-adapter";

const OWN = "/.attract/";
/** Types that a browser runs; others are data, or for a compiler that the page would have to load. */
const RUN = /^$|^module$|^(?:text|application)\/(?:x-)?(?:java|ecma)script$/i;
const MAX_SHOWN = 80;

/** What became of a page's scripts, from before its first one; owned by one look. */
export class PageScripts {
  readonly #failed = new WeakSet<EventTarget>();

  /** Called before the page has a script. */
  watch(window: PageWindow): void {
    // Errors of loading reach the window on their way to the element alone.
    window.addEventListener(
      "error",
      ({ target }: Event) => {
        if (target !== null) this.#failed.add(target);
      },
      true,
    );
  }

  /**
   * Why no script of the page runs, a sentence about it; empty: one may have.
   *
   * Handlers in attributes count as scripts.
   */
  whyNone({ document }: PageWindow): string[] {
    const scripts = ([...document.scripts] as HTMLScriptElement[]).filter(({ src }) => !src.includes(OWN));
    const unrun = scripts.map((script) => this.#whyNot(script));
    if (unrun.includes(null) || hasHandlers(document)) return [];
    const commented = commentOf(document);
    if (commented !== null)
      unrun.push(`an HTML comment holds scripts; is it closed where it should be? <!--${commented}`);
    return [`runs no script, so there is no game: ${unrun.join("; ") || "its HTML holds none"}`];
  }

  #whyNot(script: HTMLScriptElement): string | null {
    const name = script.getAttribute("src") ?? "a script in its HTML";
    if (!RUN.test(script.type)) return `${name} is of type ${script.type}, which browsers do not run`;
    if (this.#failed.has(script)) return `${name} did not arrive`;
    return script.hasAttribute("src") || script.text.trim() !== "" ? null : `${name} is empty`;
  }
}

function hasHandlers(document: Document): boolean {
  return [...document.querySelectorAll("*")].some(({ attributes }) =>
    [...attributes].some(({ name }) => name.startsWith("on")),
  );
}

/** The beginning of a comment with scripts in it; null: there is none. */
function commentOf(document: Document): string | null {
  const comments = document.createNodeIterator(document, NodeFilter.SHOW_COMMENT);
  for (let node = comments.nextNode(); node !== null; node = comments.nextNode())
    if (/<script\b/i.test(node.textContent ?? "")) return (node.textContent ?? "").slice(0, MAX_SHOWN);
  return null;
}
