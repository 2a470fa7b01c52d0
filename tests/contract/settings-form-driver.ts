/** The start form's fields from the server's schema; run by `test_dashboard_settings.py` as `node driver.mjs IN OUT`. */

import { readFileSync, writeFileSync } from "node:fs";
import type { SettingsForm } from "@attract/schema";
import {
  type Changes,
  fieldsOf,
  settingsFromForm,
  textOf,
  valueAt,
} from "../../web/dashboard/src/state/settings-form.ts";

const [, , inputPath, outputPath] = process.argv;
const { form, settings, typed } = JSON.parse(readFileSync(inputPath, "utf8")) as {
  form: SettingsForm;
  settings: Record<string, unknown>;
  typed: Changes;
};
const { all, common, sections } = fieldsOf(form);
/** Every field with what `settings` shows in it, as if a person had typed each anew. */
const shown = Object.fromEntries(
  all.map((field) => [field.path, textOf(field, valueAt(settings, field.path))]),
);
writeFileSync(
  outputPath,
  JSON.stringify({
    paths: all.map(({ path }) => path),
    common: common.map(({ path }) => path),
    inSections: sections.flatMap(({ fields }) => fields.map(({ path }) => path)),
    sent: settingsFromForm(all, { ...shown, ...typed }),
  }),
);
