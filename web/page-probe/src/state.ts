/** All that a page keeps and can be read: its own description of itself, its engine's objects, globals and variables. */

import type { PageWindow } from "attract/page-adapter";
import { hookRoots, portalRoot, textState } from "./contracts.ts";
import { engineHooks } from "./engines.ts";
import { findPlaces, type Place, type Root } from "./places.ts";
import { answersOf, globalsOf } from "./roots.ts";

/**
 * The page's own description first, then its state.
 *
 * @param pristine names of a browser's window without a page.
 * @param variables of the page's classic scripts.
 * @param hasText whether what `render_game_to_text()` says is read, if it is there.
 */
export function statePlaces(
  window: PageWindow,
  pristine: ReadonlySet<string>,
  variables: readonly Root[],
  hasText = true,
): Place[] {
  const found = globalsOf(window, pristine);
  const hooks = engineHooks(window, found);
  const globals = found.filter(({ name }) => name !== hooks?.global);
  const text = hasText ? textState(window) : null;
  const portal = portalRoot(window);
  return findPlaces(window, [
    ...(text === null ? [] : [text]),
    ...hookRoots(window),
    ...answersOf(window, globals),
    ...(portal === null ? [] : [portal]),
    ...(hooks?.roots ?? []),
    ...globals,
    ...variables,
  ]);
}

/** What the page offers agents by itself, in words. */
export function contractsOf(window: PageWindow, globals: readonly Root[]): string[] {
  return [
    ...(textState(window) === null ? [] : ["render_game_to_text()"]),
    ...(typeof window.advanceTime === "function" ? ["advanceTime(ms)"] : []),
    ...(portalRoot(window) === null ? [] : [`the portal ${window.attractPortal.name}`]),
    ...[...hookRoots(window), ...answersOf(window, globals)].map(({ text }) => text.slice(2)),
  ];
}
