/** A page with one canvas, for tests of what is drawn there and of where it is. */

import { expect } from "vitest";
import { drawn } from "../../../../web/sdk/src/page/drawn.ts";
import type { PageWindow } from "../../../../web/sdk/src/page-adapter.ts";
import { blankPage } from "../../../support/blank-page.ts";

/** A page with a canvas of 200 x 100 that is shown twice as large, ten pixels from the corner. */
export function opened(): PageWindow {
  const page = blankPage(600, 400);
  page.document.body.style.margin = "10px";
  page.document.body.innerHTML = '<canvas width="200" height="100" style="width: 400px"></canvas>';
  drawn(page);
  return page;
}

export function near(place: readonly [number, number] | undefined, x: number, y: number): void {
  expect(place).toBeDefined();
  expect(Math.hypot(place![0] - x, place![1] - y)).toBeLessThan(8);
}
