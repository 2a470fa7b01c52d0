/** Settings of a run as rows: the value, the value it is compared with, and whether they differ. */

import type { SettingsView } from "@attract/schema";
import { flatSettings } from "./run-table.ts";
import { emptyText, type Field, PRESET, textOf, valueAt } from "./settings-form.ts";

export interface SettingRow {
  path: string;
  label: string;
  help: string;
  value: string;
  /** Null: there is nothing to compare with. */
  other: string | null;
}

export interface SettingRows {
  different: readonly SettingRow[];
  equal: readonly SettingRow[];
}

/** Settings, and the values that a run uses for empty ones by the server's answer; null: no answer yet. */
export interface Side {
  settings: Readonly<Record<string, unknown>>;
  view: SettingsView | null;
}

/** The preset first, then the fields in their order, then settings that the form does not know. */
export function settingRows(fields: readonly Field[], run: Side, other: Side | null): SettingRows {
  const paths = [run, other].flatMap((side) => [...flatSettings(side?.settings ?? {}).keys()]);
  const unknown = [...new Set(paths)].filter(
    (path) =>
      path !== PRESET && !fields.some((field) => path === field.path || path.startsWith(`${field.path}.`)),
  );
  const all = [PRESET_FIELD, ...fields, ...unknown.map(unknownField)];
  const rows = all.flatMap((field) => {
    const [mine, theirs] = [valueAt(run.settings, field.path), valueAt(other?.settings, field.path)];
    // A run of another version of Attract may lack a setting.
    if (mine === undefined && theirs === undefined) return [];
    const row: SettingRow = {
      path: field.path,
      label: field.label,
      help: field.help,
      value: shown(field, mine, run.view),
      other: other === null ? null : shown(field, theirs, other.view),
    };
    return [{ row, isEqual: other === null || JSON.stringify(mine) === JSON.stringify(theirs) }];
  });
  return {
    different: rows.filter(({ isEqual }) => !isEqual).map(({ row }) => row),
    equal: rows.filter(({ isEqual }) => isEqual).map(({ row }) => row),
  };
}

/** The rows whose label, path, help or value has every word of `search`. */
export function rowsFound(rows: readonly SettingRow[], search: string): readonly SettingRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    const text = `${row.label} ${row.path} ${row.help} ${row.value} ${row.other ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

const PRESET_FIELD: Field = {
  path: PRESET,
  label: "Preset",
  help: "The named set of settings that the run began with.",
  kind: "text",
  isNullable: true,
};

function unknownField(path: string): Field {
  return { path, label: path, help: "", kind: "json", isNullable: true };
}

function shown(field: Field, value: unknown, view: SettingsView | null): string {
  if (value === undefined) return "not set";
  const text = textOf(field, value);
  if (text !== "") return text;
  return field.path === PRESET ? "none" : emptyText(field, view);
}
