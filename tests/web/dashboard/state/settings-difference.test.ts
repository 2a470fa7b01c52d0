/** Settings of a run beside the game's own, or another run's. */

import type { SettingsView } from "@attract/schema";
import { describe, expect, it } from "vitest";
import { rowsFound, settingRows } from "../../../../web/dashboard/src/state/settings-difference.ts";
import type { Field } from "../../../../web/dashboard/src/state/settings-form.ts";

const FIELDS: readonly Field[] = [
  { path: "seed", label: "Seed", help: "Of all randomness.", kind: "integer", isNullable: false },
  { path: "ppo.gae_lambda", label: "GAE lambda", help: "", kind: "number", isNullable: true },
  { path: "ppo.hidden", label: "Hidden layers", help: "", kind: "list", isNullable: false, item: "number" },
];
const OWN = { preset: null, seed: 0, ppo: { gae_lambda: null, hidden: [64, 64] } };
const RUN = { preset: "long", seed: 3, ppo: { gae_lambda: null, hidden: [64, 64] } };
const VIEW: SettingsView = {
  own: OWN,
  effective: RUN,
  resolved: { "ppo.gae_lambda": 0.95 },
  undecided: {},
  problems: [],
};

describe("settingRows", () => {
  it("sets apart what differs, the preset first, and says what an empty setting becomes", () => {
    const rows = settingRows(FIELDS, { settings: RUN, view: VIEW }, { settings: OWN, view: null });
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
    const rows = settingRows(FIELDS, { settings: old, view: null }, { settings: RUN, view: VIEW });
    expect(rows.different.map(({ path, value, other }) => [path, value, other])).toEqual([
      ["preset", "not set", "long"],
      ["ppo.gae_lambda", "not set", "0.95 (automatic)"],
      ["ppo.clip.low", "0.1", "not set"],
    ]);
    const back = settingRows(FIELDS, { settings: RUN, view: VIEW }, { settings: old, view: null });
    expect(back.different.map(({ path, value, other }) => [path, value, other])).toEqual([
      ["preset", "long", "not set"],
      ["ppo.gae_lambda", "0.95 (automatic)", "not set"],
      ["ppo.clip.low", "not set", "0.1"],
    ]);
  });

  it("is one list where there is nothing to compare with", () => {
    const rows = settingRows(FIELDS, { settings: RUN, view: VIEW }, null);
    expect(rows.different).toEqual([]);
    expect(rows.equal.map(({ other }) => other)).toEqual([null, null, null, null]);
  });
});

it("rowsFound has rows with every word, of label, path, help or value", () => {
  const { equal } = settingRows(FIELDS, { settings: RUN, view: VIEW }, null);
  const found = (search: string) => rowsFound(equal, search).map(({ path }) => path);
  expect(found("PPO 64")).toEqual(["ppo.hidden"]);
  expect(found("randomness")).toEqual(["seed"]);
  expect(found("")).toHaveLength(4);
});
