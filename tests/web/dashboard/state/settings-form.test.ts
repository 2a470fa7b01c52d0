/** The start form: what is sent and what is refused. */

import { describe, expect, it } from "vitest";
import {
  ADVANCED_FIELDS,
  checkField,
  MAIN_FIELDS,
  settingsFromForm,
  suggestedWorkers,
} from "../../../../web/dashboard/src/state/settings-form.ts";

const FIELDS = [...MAIN_FIELDS, ...ADVANCED_FIELDS];
const field = (path: string) => FIELDS.find((one) => one.path === path)!;

describe("settingsFromForm", () => {
  it("sends only what was typed, nested as the run settings are", () => {
    const values = {
      "collection.num_workers": "3",
      "ppo.learning_rate": " 1e-3 ",
      "ppo.gamma": "",
      "policy.hidden_sizes": "128, 64",
      "collection.schedule": "sync",
      "collection.seats": "scout, keeper,keeper",
      until_return: "-5.5",
    };
    expect(settingsFromForm(FIELDS, values)).toEqual({
      collection: { num_workers: 3, schedule: "sync", seats: ["scout", "keeper", "keeper"] },
      ppo: { learning_rate: 0.001 },
      policy: { hidden_sizes: [128, 64] },
      until_return: -5.5,
    });
  });

  it("sends nothing for an empty form", () => {
    expect(settingsFromForm(FIELDS, {})).toEqual({});
  });
});

describe("checkField", () => {
  it.each([
    ["collection.num_workers", "0", "At least 1"],
    ["collection.num_workers", "2.5", "A whole number"],
    ["collection.num_workers", "9999", "At most 1024"],
    ["collection.num_workers", "two", "Not a number"],
    ["collection.num_workers", "", null],
    ["collection.num_workers", "4", null],
    ["ppo.gamma", "1.01", "At most 1"],
    ["until_return", "-100", null],
    ["policy.hidden_sizes", "64,,64", "Whole numbers with commas, such as 64, 64"],
    ["policy.hidden_sizes", "64, 64", null],
    ["collection.schedule", "sync", null],
    ["collection.seats", "scout, keeper,keeper", null],
    ["collection.seats", "scout,,keeper", "Names with commas, such as scout, keeper"],
    ["collection.seats", "sc/out", "Names with commas, such as scout, keeper"],
  ])("%s = %j", (path, text, problem) => {
    expect(checkField(field(path), text)).toBe(problem);
  });
});

describe("suggestedWorkers", () => {
  it("leaves a core for the learner, and is never none", () => {
    expect([1, 2, 4, 16].map(suggestedWorkers)).toEqual([1, 1, 3, 4]);
  });
});
