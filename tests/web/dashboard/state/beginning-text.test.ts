/** What the dashboard says before a run's first update. */

import type { BeginningView } from "@attract/schema";
import { expect, test } from "vitest";
import { beginningText } from "../../../../web/dashboard/src/state/beginning-text.ts";
import cases from "../../../contract/golden/beginnings.json";

test.each(cases)("$text", ({ beginning, text }) => {
  expect(beginningText(beginning as BeginningView)).toBe(text);
});
