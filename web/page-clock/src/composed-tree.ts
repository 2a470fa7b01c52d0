/** The page's elements as one tree, in and out of shadows. */

/** What an element lies in: in a shadow's outermost, its host. */
export function parentOf(element: Element): Element | null {
  if (element.parentElement !== null) return element.parentElement;
  const root = element.getRootNode();
  return "host" in root ? (root as ShadowRoot).host : null;
}

/** An element and all that it lies in. */
export function pathOf(element: Element | null): Element[] {
  const path: Element[] = [];
  for (let one = element; one !== null; one = parentOf(one)) path.push(one);
  return path;
}
