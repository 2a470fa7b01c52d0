/** The start form as data: its fields from the settings' JSON Schema, what each shows, what is sent, what is wrong. */

import type { RunView, SettingProblem, SettingsForm, SettingsView } from "@attract/schema";

export type FieldKind = "integer" | "number" | "boolean" | "choice" | "list" | "text" | "json";

export interface Field {
  /** Path in the run settings, for example `ppo.learning_rate`. */
  path: string;
  label: string;
  help: string;
  kind: FieldKind;
  /** Whether the setting may be empty. */
  isNullable: boolean;
  choices?: readonly string[];
  /** What a list holds. */
  item?: "number" | "text";
}

export interface Section {
  name: string;
  title: string;
  fields: readonly Field[];
}

export interface Fields {
  common: readonly Field[];
  sections: readonly Section[];
  all: readonly Field[];
}

/** What a person has changed, by path: what stands in the field. A path that is missing shows what the run would use. */
export type Changes = Readonly<Record<string, string>>;

type Resolved = Pick<SettingsView, "own" | "effective" | "resolved" | "undecided">;

/** The part of JSON Schema that `GET /api/settings` uses. */
interface Schema {
  type?: string;
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
  items?: Schema;
  enum?: string[];
}

/** Chosen beside the form's other fields, because it changes what they show. */
export const PRESET = "preset";
export const WORKERS = "collection.num_workers";
const ALGORITHM = "algorithm";

const GENERAL = "General";

/** The fields of the settings' schema: the common ones, and all others by section. */
export function fieldsOf(form: Pick<SettingsForm, "json_schema" | "common">): Fields {
  const all: Field[] = [];
  const sections: { name: string; title: string; fields: Field[] }[] = [
    { name: "", title: GENERAL, fields: [] },
  ];
  const isCommon = new Set(form.common);
  const add = (path: string, schema: Schema, section: Field[]) => {
    if (path === PRESET) return;
    const field = fieldOf(path, schema);
    all.push(field);
    if (!isCommon.has(path)) section.push(field);
  };
  const addAll = (schema: Schema, prefix: string, section: Field[]) => {
    for (const [name, part] of Object.entries(schema.properties ?? {})) {
      if (part.properties === undefined) add(prefix + name, part, section);
      else addAll(part, `${prefix}${name}.`, section);
    }
  };
  for (const [name, part] of Object.entries((form.json_schema as Schema).properties ?? {})) {
    if (part.properties === undefined) {
      add(name, part, sections[0].fields);
      continue;
    }
    const section = { name, title: part.title ?? name, fields: [] };
    addAll(part, `${name}.`, section.fields);
    sections.push(section);
  }
  return {
    all,
    common: form.common.flatMap((path) => all.filter((field) => field.path === path)),
    sections: sections.filter((section) => section.fields.length > 0),
  };
}

/** The sections that have an effect: those of algorithms that neither `changes` nor `view` choose have none. */
export function sectionsFor(
  { all, sections }: Fields,
  view: Pick<Resolved, "own" | "effective"> | null,
  changes: Changes,
): readonly Section[] {
  const chosen = changes[ALGORITHM] ?? valueAt(view?.effective ?? view?.own, ALGORITHM);
  const algorithms = all.find(({ path }) => path === ALGORITHM)?.choices ?? [];
  return sections.filter(({ name }) => name === chosen || !algorithms.includes(name));
}

/** The value at `path` of nested settings; undefined when it is not there. */
export function valueAt(settings: unknown, path: string): unknown {
  let value = settings;
  for (const part of path.split(".")) value = (value as Record<string, unknown> | undefined | null)?.[part];
  return value;
}

/** A value as it stands in its field; "" for none. */
export function textOf(field: Field, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (field.kind === "json") return JSON.stringify(value);
  if (Array.isArray(value)) return value.join(", ");
  return String(value);
}

/** What an empty field reads: what the run uses in its place, as the server says. */
export function emptyText(field: Field, view: Resolved | null): string {
  const value = view?.resolved[field.path];
  const text = textOf(field, value);
  if (text !== "") return `${text} (automatic)`;
  return value === null || (view?.effective != null && view.undecided[field.path] === undefined)
    ? "none"
    : "automatic";
}

/** What stands below a field that shows `text`: what the run uses instead, or what decides it; null: it is used as it stands. */
export function usedNote(field: Field, text: string, view: Resolved | null): string | null {
  if (view === null || text !== textOf(field, valueAt(view.effective ?? view.own, field.path))) return null;
  if (view.undecided[field.path] !== undefined) return view.undecided[field.path];
  const used = view.resolved[field.path];
  return text === "" || used === undefined ? null : `The run uses ${textOf(field, used)}.`;
}

/** The nested settings to send: everything that was changed, whatever the run would use without it. */
export function settingsFromForm(fields: readonly Field[], changes: Changes): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  if (changes[PRESET]) settings[PRESET] = changes[PRESET];
  for (const field of fields) {
    const text = changes[field.path];
    if (text !== undefined) setPath(settings, field.path, parseValue(field, text.trim()));
  }
  return settings;
}

/** The changes that make of a game's own settings those of `wanted`, such as an earlier run's. */
export function changesFrom(
  fields: readonly Field[],
  own: SettingsView["own"],
  wanted: Record<string, unknown>,
): Changes {
  const changes: Record<string, string> = {};
  for (const field of fields) {
    const value = valueAt(wanted, field.path);
    if (value === undefined || JSON.stringify(value) === JSON.stringify(valueAt(own, field.path))) continue;
    changes[field.path] = textOf(field, value);
  }
  return changes;
}

export type ChangedBy = "you" | "machine" | "preset";

/**
 * Who decided what a field shows: the person, this machine (`suggested`), the preset that was chosen, or (null) the game
 * and the defaults.
 */
export function changedBy(
  field: Field,
  view: Pick<SettingsView, "own" | "effective">,
  changes: Changes,
  suggested: Changes = {},
): ChangedBy | null {
  const change = changes[field.path];
  if (change !== undefined) return change === suggested[field.path] ? "machine" : "you";
  if (view.effective === null) return null;
  const isSame =
    JSON.stringify(valueAt(view.own, field.path)) === JSON.stringify(valueAt(view.effective, field.path));
  return isSame ? null : "preset";
}

/** The changes that the person made: those that differ from what this machine suggests. */
export function changesOfPerson(changes: Changes, suggested: Changes): Changes {
  return Object.fromEntries(Object.entries(changes).filter(([path, text]) => text !== suggested[path]));
}

/** The problem of each field, and what is wrong with no single one of them. */
export function problemsByField(
  fields: readonly Field[],
  problems: readonly SettingProblem[],
): { byPath: Readonly<Record<string, string>>; others: readonly string[] } {
  const byPath: Record<string, string> = {};
  const others: string[] = [];
  for (const { setting, error } of problems) {
    // The server names what is inside a field too: `parameters.gravity.uniform`.
    const field = fields.find(({ path }) => setting === path || setting.startsWith(`${path}.`));
    if (field === undefined) others.push(setting === "" ? error : `${setting}: ${error}`);
    else byPath[field.path] = setting === field.path ? error : `${setting}: ${error}`;
  }
  return { byPath, others };
}

/** Settings as YAML, for a file beside the game or `--config`. */
export function yamlOf(settings: Record<string, unknown>, indent = ""): string {
  return Object.entries(settings)
    .map(([name, value]) =>
      isPlain(value)
        ? `${indent}${name}:\n${yamlOf(value, `${indent}  `)}`
        : `${indent}${name}: ${JSON.stringify(value)}\n`,
    )
    .join("");
}

/** The number of workers this page should run by itself: one less than the cores, from 1 to 4. */
export function suggestedWorkers(cores: number): number {
  return Math.max(1, Math.min(4, cores - 1));
}

/** The number of workers a run waits for, from its settings; the least where they do not say. */
export function workersOf(run: Pick<RunView, "settings">): number {
  const found = valueAt(run.settings, WORKERS);
  return typeof found === "number" ? found : 1;
}

function fieldOf(path: string, schema: Schema): Field {
  const kinds = (schema.anyOf ?? [schema]).filter((one) => one.type !== "null");
  const isNullable = schema.anyOf?.some((one) => one.type === "null") ?? false;
  const one = kinds.length === 1 ? kinds[0] : {};
  const field: Field = {
    path,
    label: schema.title ?? path,
    help: schema.description ?? "",
    kind: kindOf(one),
    isNullable,
  };
  if (one.enum !== undefined) field.choices = one.enum;
  if (field.kind === "list") field.item = ITEMS[one.items?.type ?? ""] ?? "text";
  return field;
}

const ITEMS: Readonly<Record<string, Field["item"]>> = { integer: "number", number: "number" };

function kindOf(schema: Schema): FieldKind {
  if (schema.enum !== undefined) return "choice";
  switch (schema.type) {
    case "integer":
    case "number":
    case "boolean":
      return schema.type;
    case "string":
      return "text";
    case "array":
      return ["integer", "number", "string"].includes(schema.items?.type ?? "") ? "list" : "json";
    default:
      return "json";
  }
}

/** What a person has typed as a value; what cannot be read is sent as it stands, and the server refuses it. */
function parseValue(field: Field, text: string): unknown {
  if (field.kind === "list") {
    const parts = text === "" ? [] : text.split(",").map((part) => part.trim());
    return field.item === "text" ? parts : parts.map(parsedNumber);
  }
  if (text === "") return null;
  switch (field.kind) {
    case "integer":
    case "number":
      return parsedNumber(text);
    case "boolean":
      return text === "true";
    case "json":
      return parsedJson(text);
    default:
      return text;
  }
}

function parsedNumber(text: string): number | string {
  const value = Number(text);
  return text === "" || !Number.isFinite(value) ? text : value;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function setPath(target: Record<string, unknown>, path: string, value: unknown): void {
  const parts = path.split(".");
  const name = parts.pop() as string;
  let level = target;
  for (const part of parts) {
    level[part] ??= {};
    level = level[part] as Record<string, unknown>;
  }
  level[name] = value;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
  );
}
