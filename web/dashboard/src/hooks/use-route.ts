/** The current route, and the way to change it. */

import { useSyncExternalStore } from "react";
import { formatRoute, parseRoute, type Route } from "../routes.ts";

/** The route in the address bar; re-renders when it changes. */
export function useRoute(): Route {
  const fragment = useSyncExternalStore(subscribe, () => location.hash);
  return parseRoute(fragment);
}

/** Goes to `route`, with an entry in the history. */
export function goTo(route: Route): void {
  location.hash = formatRoute(route);
}

/** Shows `route` in the address bar in place of the current entry: for settings of a view, not for moves. */
export function replaceRoute(route: Route): void {
  history.replaceState(null, "", formatRoute(route));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function subscribe(onChange: () => void): () => void {
  window.addEventListener("hashchange", onChange);
  return () => window.removeEventListener("hashchange", onChange);
}
