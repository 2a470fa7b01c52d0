/** One cursor for all charts. */

import { expect, it } from "vitest";
import { ChartCursor, type CursorPlace } from "../../../../web/dashboard/src/state/chart-cursor.ts";

it("tells every chart where it is, until a chart listens no more", () => {
  const cursor = new ChartCursor();
  const heard: (CursorPlace | null)[][] = [[], []];
  const stops = heard.map((list) => cursor.listen((place) => list.push(place)));
  const place = { x: 5, chart: "a", by: "keys" } as const;
  cursor.set(null);
  cursor.set(place);
  stops[1]();
  cursor.set(null);
  expect(heard).toEqual([[place, null], [place]]);
  expect(cursor.current).toBeNull();
});
