/** The start form: what is shown, what is sent and what is refused (the server's own schema is in tests/contract); and settings side by side. */

import type { SettingsView } from "@attract/schema";
import { describe, expect, it } from "vitest";
import { rowsFound, settingRows } from "../../../../web/dashboard/src/state/settings-difference.ts";
import {
  type Changes,
  changedBy,
  changesFrom,
  changesOfPerson,
  emptyText,
  type Field,
  fieldsOf,
  problemsByField,
  sectionsFor,
  settingsFromForm,
  suggestedWorkers,
  textOf,
  usedNote,
  valueAt,
  workersOf,
  yamlOf,
} from "../../../../web/dashboard/src/state/settings-form.ts";

const setting = (title: string, schema: object) => ({ title, description: `Help of ${title}.`, ...schema });
const FORM = {
  common: ["collection.num_workers"],
  json_schema: {
    properties: {
      preset: setting("Preset", { anyOf: [{ enum: ["fast"], type: "string" }, { type: "null" }] }),
      until_return: {
        ...setting("Stop at return", { anyOf: [{ type: "number" }, { type: "null" }] }),
        description: "Ends the run. Empty: no goal.",
      },
      ppo: {
        title: "Learning",
        type: "object",
        properties: {
          learning_rate: setting("Learning rate", {
            type: "number",
            exclusiveMinimum: 0,
            exclusiveMaximum: 9,
          }),
          gamma: setting("Gamma", { type: "number", minimum: 0, maximum: 1 }),
          normalize: setting("Normalise", { type: "boolean" }),
        },
      },
      collection: {
        title: "Workers",
        type: "object",
        properties: {
          num_workers: setting("Workers", { type: "integer", minimum: 1, maximum: 1024 }),
          schedule: setting("Schedule", { type: "string", enum: ["sync", "overlap"] }),
          seats: setting("Policies", { type: "array", items: { type: "string" } }),
          sizes: setting("Sizes", { type: "array", items: { type: "integer" } }),
        },
      },
      parameters: setting("Parameters", { type: "object", additionalProperties: {} }),
    },
  },
};
const FIELDS = fieldsOf(FORM).all;
const field = (path: string) => FIELDS.find((one) => one.path === path)!;
const OWN = {
  preset: null,
  until_return: null,
  ppo: { learning_rate: 0.001, gamma: 0.9, normalize: true },
  collection: { num_workers: 2, schedule: "sync", seats: [], sizes: [64, 64] },
  parameters: {},
};

describe("fieldsOf", () => {
  it("has the common fields apart, the others by section, and the preset nowhere", () => {
    const { common, sections } = fieldsOf(FORM);
    expect(common.map(({ label }) => label)).toEqual(["Workers"]);
    expect(sections.map(({ title, fields }) => [title, fields.map(({ label }) => label)])).toEqual([
      ["General", ["Stop at return", "Parameters"]],
      ["Learning", ["Learning rate", "Gamma", "Normalise"]],
      ["Workers", ["Schedule", "Policies", "Sizes"]],
    ]);
    expect(field("until_return")).toMatchObject({ kind: "number", isNullable: true });
    expect(field("parameters")).toMatchObject({ kind: "json", help: "Help of Parameters." });
  });
});

describe("sectionsFor", () => {
  it("leaves out the sections of algorithms that were not chosen", () => {
    const numbers = { type: "object", properties: { rate: { type: "number" } } };
    const algorithm = { enum: ["ppo", "dqn"] };
    const json_schema = { properties: { algorithm, ppo: numbers, dqn: numbers, policy: numbers } };
    const fields = fieldsOf({ json_schema, common: [] });
    const names = (own: object, effective: object | null, changes = {}) =>
      sectionsFor(fields, { own, effective } as never, changes).map(({ name }) => name);
    expect(names({ algorithm: "ppo" }, null)).toEqual(["", "ppo", "policy"]);
    expect(names({ algorithm: "ppo" }, { algorithm: "dqn" })).toEqual(["", "dqn", "policy"]);
    // What was just chosen counts, also where the server refuses it.
    expect(names({ algorithm: "ppo" }, null, { algorithm: "dqn" })).toEqual(["", "dqn", "policy"]);
  });
});

describe("what a field reads", () => {
  const view = { own: OWN, effective: OWN, resolved: {}, undecided: {} };

  it("is the server's value where the field is empty, never the help's text", () => {
    const resolved = { until_return: 0.95 };
    expect(emptyText(field("until_return"), { ...view, resolved })).toBe("0.95 (automatic)");
    expect(emptyText(field("until_return"), { ...view, resolved: { until_return: null } })).toBe("none");
    expect(emptyText(field("until_return"), null)).toBe("automatic");
  });

  it("says in words what is decided later", () => {
    const undecided = { until_return: "The learner decides." };
    expect(emptyText(field("until_return"), { ...view, undecided })).toBe("automatic");
    expect(usedNote(field("until_return"), "", { ...view, undecided })).toBe("The learner decides.");
  });

  it("is followed by what the run uses where another setting overrules it", () => {
    const resolved = { "collection.num_workers": 1 };
    expect(usedNote(field("collection.num_workers"), "2", { ...view, resolved })).toBe("The run uses 1.");
    // What is being typed has not been asked about yet.
    expect(usedNote(field("collection.num_workers"), "3", { ...view, resolved })).toBeNull();
    expect(usedNote(field("ppo.gamma"), "0.9", { ...view, resolved })).toBeNull();
  });

  it("is left open while the settings cannot work", () => {
    expect(emptyText(field("ppo.gamma"), { ...view, effective: null })).toBe("automatic");
  });
});

describe("settingsFromForm", () => {
  it("sends what was changed, nested as the run settings are, also what equals the game's own", () => {
    const changes: Changes = {
      "collection.num_workers": "3",
      "ppo.learning_rate": " 1e-3 ",
      "ppo.normalize": "false",
      "collection.sizes": "128, 64",
      "collection.schedule": "sync",
      "collection.seats": "scout, keeper,keeper",
      parameters: '{"size": 3}',
      until_return: "-5.5",
      preset: "fast",
    };
    expect(settingsFromForm(FIELDS, changes)).toEqual({
      preset: "fast",
      collection: {
        num_workers: 3,
        schedule: "sync",
        seats: ["scout", "keeper", "keeper"],
        sizes: [128, 64],
      },
      ppo: { learning_rate: 0.001, normalize: false },
      parameters: { size: 3 },
      until_return: -5.5,
    });
  });

  it("sends none for a setting that was emptied, nothing for one that nobody touched", () => {
    expect(settingsFromForm(FIELDS, { until_return: "", "collection.seats": "" })).toEqual({
      until_return: null,
      collection: { seats: [] },
    });
    expect(settingsFromForm(FIELDS, {})).toEqual({});
  });

  it("sends what cannot be read as it was typed, for the server to refuse", () => {
    const typed = {
      "ppo.gamma": "1.",
      "ppo.learning_rate": "-",
      "collection.num_workers": "two",
      "collection.sizes": "64, x",
      parameters: "{size: 1}",
    };
    expect(settingsFromForm(FIELDS, typed)).toEqual({
      ppo: { gamma: 1, learning_rate: "-" },
      collection: { num_workers: "two", sizes: [64, "x"] },
      parameters: "{size: 1}",
    });
  });
});

describe("what a field shows", () => {
  it.each([
    ["ppo.learning_rate", "0.001"],
    ["ppo.normalize", "true"],
    ["until_return", ""],
    ["collection.sizes", "64, 64"],
    ["parameters", "{}"],
  ])("%s: %j", (path, text) => {
    expect(textOf(field(path), valueAt(OWN, path))).toBe(text);
  });

  it("is marked as yours where you changed it, and as the preset's where that did", () => {
    const effective = { ...OWN, ppo: { ...OWN.ppo, gamma: 0.98 } };
    const marks = (changes: Changes) =>
      FIELDS.filter((one) => changedBy(one, { own: OWN, effective }, changes)).map((one) => [
        one.path,
        changedBy(one, { own: OWN, effective }, changes),
      ]);
    expect(marks({ preset: "fast" })).toEqual([["ppo.gamma", "preset"]]);
    // Chosen by hand it is sent, also where it is what would run anyway.
    expect(marks({ "collection.schedule": "sync" })).toEqual([
      ["ppo.gamma", "preset"],
      ["collection.schedule", "you"],
    ]);
  });

  it("says what this machine suggests, until a person changes it", () => {
    const schedule = FIELDS.find((one) => one.path === "collection.schedule") as Field;
    const views = { own: OWN, effective: OWN };
    const suggested = { "collection.schedule": "overlap" };
    expect(changedBy(schedule, views, suggested, suggested)).toBe("machine");
    expect(changesOfPerson(suggested, suggested)).toEqual({});
    const changes = { "collection.schedule": "sync", "ppo.gamma": "0.5" };
    expect(changedBy(schedule, views, changes, suggested)).toBe("you");
    expect(changesOfPerson(changes, suggested)).toEqual(changes);
  });

  it("begins with the settings of an earlier run", () => {
    const wanted = { ...OWN, until_return: 9, ppo: { ...OWN.ppo, gamma: 0.5 }, collection: { seats: ["a"] } };
    expect(changesFrom(FIELDS, OWN, wanted)).toEqual({
      until_return: "9",
      "ppo.gamma": "0.5",
      "collection.seats": "a",
    });
    expect(changesFrom(FIELDS, OWN, OWN)).toEqual({});
  });
});

describe("problemsByField", () => {
  it("puts what the server refuses at its field, and apart what is of several", () => {
    const problems = [
      { setting: "ppo.gamma", error: "too large" },
      { setting: "parameters.size.uniform", error: "two numbers" },
      { setting: "ppo", error: "these two exclude each other" },
      { setting: "", error: "nothing works" },
    ];
    expect(problemsByField(FIELDS, problems)).toEqual({
      byPath: { "ppo.gamma": "too large", parameters: "parameters.size.uniform: two numbers" },
      others: ["ppo: these two exclude each other", "nothing works"],
    });
  });
});

describe("yamlOf", () => {
  it("nests by two spaces, values as JSON, which YAML reads", () => {
    const text = yamlOf({ seed: 1, ppo: { gamma: 0.9 }, collection: { seats: ["a", "b"] }, parameters: {} });
    expect(text).toBe('seed: 1\nppo:\n  gamma: 0.9\ncollection:\n  seats: ["a","b"]\nparameters: {}\n');
  });
});

describe("workers", () => {
  it("leave a core for the learner, and are never none", () => {
    expect([1, 2, 4, 16].map(suggestedWorkers)).toEqual([1, 1, 3, 4]);
  });

  it("are as many as the run's settings say", () => {
    expect(workersOf({ settings: OWN })).toBe(2);
    expect(workersOf({ settings: { collection: { num_workers: 5 } } })).toBe(5);
    expect(workersOf({ settings: {} })).toBe(1);
  });
});

const COMPARED_FIELDS: readonly Field[] = [
  { path: "seed", label: "Seed", help: "Of all randomness.", kind: "integer", isNullable: false },
  { path: "ppo.gae_lambda", label: "GAE lambda", help: "", kind: "number", isNullable: true },
  { path: "ppo.hidden", label: "Hidden layers", help: "", kind: "list", isNullable: false, item: "number" },
];
const OWN_SETTINGS = { preset: null, seed: 0, ppo: { gae_lambda: null, hidden: [64, 64] } };
const RUN = { preset: "long", seed: 3, ppo: { gae_lambda: null, hidden: [64, 64] } };
const VIEW: SettingsView = {
  own: OWN_SETTINGS,
  effective: RUN,
  resolved: { "ppo.gae_lambda": 0.95 },
  undecided: {},
  problems: [],
};

describe("settingRows", () => {
  it("sets apart what differs, the preset first, and says what an empty setting becomes", () => {
    const rows = settingRows(
      COMPARED_FIELDS,
      { settings: RUN, view: VIEW },
      { settings: OWN_SETTINGS, view: null },
    );
    expect(rows.different.map(({ path, value, other }) => [path, value, other])).toEqual([
      ["preset", "long", "none"],
      ["seed", "3", "0"],
    ]);
    expect(rows.equal.map(({ path, value }) => [path, value])).toEqual([
      ["ppo.gae_lambda", "0.95 (automatic)"],
      ["ppo.hidden", "64, 64"],
    ]);
  });

  it("has settings that only one of the two knows, by their path", () => {
    const old = { seed: 3, ppo: { hidden: [64, 64], clip: { low: 0.1 } } };
    const rows = settingRows(COMPARED_FIELDS, { settings: old, view: null }, { settings: RUN, view: VIEW });
    expect(rows.different.map(({ path, value, other }) => [path, value, other])).toEqual([
      ["preset", "not set", "long"],
      ["ppo.gae_lambda", "not set", "0.95 (automatic)"],
      ["ppo.clip.low", "0.1", "not set"],
    ]);
    const back = settingRows(COMPARED_FIELDS, { settings: RUN, view: VIEW }, { settings: old, view: null });
    expect(back.different.map(({ path, value, other }) => [path, value, other])).toEqual([
      ["preset", "long", "not set"],
      ["ppo.gae_lambda", "0.95 (automatic)", "not set"],
      ["ppo.clip.low", "not set", "0.1"],
    ]);
  });

  it("is one list where there is nothing to compare with", () => {
    const rows = settingRows(COMPARED_FIELDS, { settings: RUN, view: VIEW }, null);
    expect(rows.different).toEqual([]);
    expect(rows.equal.map(({ other }) => other)).toEqual([null, null, null, null]);
  });
});

it("rowsFound has rows with every word, of label, path, help or value", () => {
  const { equal } = settingRows(COMPARED_FIELDS, { settings: RUN, view: VIEW }, null);
  const found = (search: string) => rowsFound(equal, search).map(({ path }) => path);
  expect(found("PPO 64")).toEqual(["ppo.hidden"]);
  expect(found("randomness")).toEqual(["seed"]);
  expect(found("")).toHaveLength(4);
});
