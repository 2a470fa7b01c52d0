/** What games say of themselves, and what the start form reads; run by `test_resolved_settings.py` as `node driver.mjs IN OUT`. */

import { readFileSync, writeFileSync } from "node:fs";
import type { SettingsForm, SettingsView } from "@attract/schema";
import { describe } from "attract/description";
import {
  emptyText,
  fieldsOf,
  sectionsFor,
  textOf,
  usedNote,
  valueAt,
} from "../../web/dashboard/src/state/settings-form.ts";

const [, , inputPath, outputPath] = process.argv;
const order = JSON.parse(readFileSync(inputPath, "utf8")) as
  | { modules: string[] }
  | { form: SettingsForm; views: SettingsView[] };

/** Per field: its text, or its placeholder while it is empty, and the text below it. */
function readings(form: SettingsForm, view: SettingsView) {
  const fields = fieldsOf(form);
  const shown = [...fields.common, ...sectionsFor(fields, view, {}).flatMap((section) => section.fields)];
  return Object.fromEntries(
    shown.map((field) => {
      const text = textOf(field, valueAt(view.effective, field.path));
      return [
        field.path,
        { text, empty: text === "" ? emptyText(field, view) : null, note: usedNote(field, text, view) },
      ];
    }),
  );
}

async function main() {
  if ("form" in order) return order.views.map((view) => readings(order.form, view));
  return Promise.all(order.modules.map(async (path) => describe((await import(path)).default)));
}

writeFileSync(outputPath, JSON.stringify(await main()));
