/** Evaluates an expression in a page. */

import type { PageWindow } from "attract/page-adapter";
import { drawn } from "../../sdk/src/page/drawn.ts";
import { made } from "../../sdk/src/page/made.ts";

/**
 * What `expression` is in the page, where variables of its classic scripts are known, with what adapters have besides: `w`,
 * `made` and `drawn`. A function is called with the window. Raises whatever it throws.
 */
export function valueIn(window: PageWindow, expression: string): unknown {
  const value = evaluated(window, expression);
  return typeof value === "function" ? value(window) : value;
}

function evaluated(window: PageWindow, expression: string): unknown {
  let compiled: unknown;
  try {
    compiled = window.eval(`(w, made, drawn) => (${expression}\n)`);
  } catch {
    // Statements rather than an expression.
    return window.eval(expression);
  }
  return (compiled as (...given: unknown[]) => unknown)(window, made, drawn);
}
