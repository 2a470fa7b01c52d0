/** The table of runs: its address, its groups, live rows, and settings side by side. */

import type { RunRow } from "@attract/schema";
import { describe, expect, it } from "vitest";
import {
  bandOf,
  compareSettings,
  completions,
  differenceText,
  differentSettings,
  flatSettings,
  formatTableView,
  groupRuns,
  isOfTrash,
  type Node,
  nextSort,
  parseTableView,
  rangeOf,
  runStyles,
  settingText,
  shortName,
  summaryOf,
  withLive,
} from "../../../../web/dashboard/src/state/run-table.ts";

const run = (run_id: string, changes: Partial<RunRow> = {}): RunRow => ({
  run_id,
  game: "snake",
  title: "Snake",
  state: "finished",
  created: "2026-11-20T10:00:00+00:00",
  seed: 1,
  policy_version: 1,
  agent_steps: 100,
  collected_steps: 100,
  updates: 1,
  episodes: 1,
  elapsed_seconds: 1,
  steps_per_second: 1,
  episode_return_mean: 1,
  goal: null,
  total_steps: null,
  error: null,
  name: "",
  note: "",
  tags: [],
  starred: false,
  archived: false,
  is_deleted: false,
  preset: null,
  progress: null,
  return_best: null,
  return_eval: null,
  sparkline: [],
  settings: {},
  changed: [],
  metrics: {},
  ...changes,
});

const usual = {
  query: "",
  sort: "-created",
  group: "",
  hidden: [],
  metrics: [],
  ticked: [],
  unseen: [],
  baseline: "",
  isDifference: false,
};

describe("the address", () => {
  it.each([
    ["", usual],
    ["q=lr%3C0.001+tag%3Aa", { ...usual, query: "lr<0.001 tag:a" }],
    [
      "sort=return&group=seeds&hide=note%2Ctags&ticked=a%2Cb",
      { ...usual, sort: "return", group: "seeds", hidden: ["note", "tags"], ticked: ["a", "b"] },
    ],
    [
      "metrics=train%2Floss&ticked=a%2Cb&unseen=b&base=a&difference=1",
      {
        ...usual,
        metrics: ["train/loss"],
        ticked: ["a", "b"],
        unseen: ["b"],
        baseline: "a",
        isDifference: true,
      },
    ],
  ])("%s is read and written alike", (search, view) => {
    expect(parseTableView(search)).toEqual(view);
    expect(formatTableView(view)).toBe(search);
  });

  it("has each name once, and an empty sort is the usual one", () => {
    expect(parseTableView("ticked=a,,a,b&sort=").ticked).toEqual(["a", "b"]);
    expect(parseTableView("sort=").sort).toBe("-created");
  });

  it.each([
    ["is:deleted", true],
    ["lr<0.001 is:deleted", true],
    ["-is:deleted", false],
    ["is:all", false],
  ])("%s is of the trash: %s", (query, expected) => {
    expect(isOfTrash(query)).toBe(expected);
  });

  it("sorts from the largest, from the smallest, then as usual", () => {
    const pressed = ["-created", "-return", "return"].map((sort) => nextSort(sort, "return"));
    expect(pressed).toEqual(["-return", "return", "-created"]);
    expect(nextSort("score", "score", "")).toBe("");
  });
});

const shown = (nodes: Node<RunRow>[]) =>
  nodes.map((node) =>
    node.kind === "one" ? node.id : `${node.label}: ${node.rows.map(({ run_id }) => run_id).join(" ")}`,
  );

describe("completions", () => {
  const settings = ["ppo.learning_rate", "ppo.gamma", "rnd.gamma"];

  it.each([
    ["l", []],
    ["le", ["learning_rate:"]],
    ["return>3 ga", ["return>3 game:"]],
    ["pp", ["ppo.gamma:"]],
    ["is:l", ["is:live"]],
    ["is:d", ["is:deleted"]],
    ["learning_rate:", []],
  ])("of %s", (text, expected) => {
    expect(completions(text, settings)).toEqual(expected);
  });
});

describe("N18: groups of equal settings", () => {
  it("say in what they differ from the others of their game", () => {
    const of = (id: string, lr: number) =>
      run(id, { settings: { "ppo.learning_rate": lr, "evaluation.seed": lr } });
    const pole = { game: "cartpole", title: "CartPole", settings: { "ppo.gamma": 0.9 } };
    const rows = [of("a", 0.1), of("b", 0.1), of("c", 0.2), of("d", 0.2), run("e", pole), run("f", pole)];
    const labels = groupRuns(rows, "seeds").map((node) => node.kind === "group" && node.label);
    expect(labels).toEqual(["Snake, learning_rate 0.1", "Snake, learning_rate 0.2", "CartPole"]);
  });
});

describe("N12: a range of rows", () => {
  const nodes = groupRuns([run("a"), run("b", { state: "stopped" }), run("c"), run("d")], "state");
  const ids = (from: string, to: string) => rangeOf(nodes, from, to).map(({ id }) => id);

  it("goes from one to the other in the order of the table, either way", () => {
    expect(ids("c", "b")).toEqual(["c", "d", "group stopped", "b"]);
    expect(ids("b", "c")).toEqual(ids("c", "b"));
    expect(ids("gone", "d")).toEqual(["d"]);
  });
});

describe("groups", () => {
  const runs = [
    run("a", { settings: { "ppo.gamma": 0.9 }, seed: 1 }),
    run("b", { settings: { "ppo.gamma": 0.99 }, preset: "memory" }),
    run("c", { settings: { "ppo.gamma": 0.9 }, seed: 2, tags: ["x", "a"] }),
    run("d", { game: "cartpole", title: "CartPole", settings: { "ppo.gamma": 0.9 }, tags: ["a", "x"] }),
  ];

  it.each([
    ["", ["a", "b", "c", "d"]],
    ["seeds", ["Snake, no preset, gamma 0.9: a c", "b", "d"]],
    ["game", ["Snake: a b c", "CartPole: d"]],
    ["preset", ["no preset: a c d", "memory: b"]],
    ["state", ["finished: a b c d"]],
    ["tags", ["no tag: a b", "a x: c d"]],
    ["ppo.gamma", ["gamma 0.9: a c d", "gamma 0.99: b"]],
  ])("by %s, in the order of their first runs", (group, expected) => {
    expect(shown(groupRuns(runs, group))).toEqual(expected);
  });

  it("have their runs as children", () => {
    const [first] = groupRuns(runs, "game");
    expect(first?.kind === "group" && shown(first.children)).toEqual(["a", "b", "c"]);
  });

  it("sum up what is known", () => {
    expect(summaryOf([1, null, 4])).toEqual({ mean: 2.5, min: 1, max: 4, count: 2 });
    expect(summaryOf([null])).toBeNull();
  });
});

describe("a band of curves", () => {
  it("has the mean and the extremes at each place along them", () => {
    expect(
      bandOf([
        [0, 10],
        [2, 4, 6],
      ]),
    ).toEqual({ mean: [1, 7, 8], min: [0, 4, 6], max: [2, 10, 10] });
  });

  it("is one curve as it is, at most as many points, and nothing without any", () => {
    expect(bandOf([[1, 2, 3]]).mean).toEqual([1, 2, 3]);
    expect(bandOf([Array.from({ length: 100 }, (_, i) => i)], 3).mean).toEqual([0, 50, 99]);
    expect(bandOf([[], [5]])).toEqual({ mean: [5], min: [5], max: [5] });
    expect(bandOf([[]]).mean).toEqual([]);
  });
});

describe("live rows", () => {
  const rows = [run("a", { state: "running", agent_steps: 5, settings: { x: 1, y: 2 } }), run("b")];

  it("take the place of older ones and keep the columns of the list", () => {
    const merged = withLive(rows, [run("a", { state: "running", agent_steps: 9, settings: { x: 1 } })]);
    expect(merged?.map(({ agent_steps }) => agent_steps)).toEqual([9, 100]);
    expect(merged?.[0]?.settings).toEqual({ x: 1, y: 2 });
  });

  it("ask for the list anew when a run began or ended", () => {
    expect(withLive(rows, [])).toBeNull();
    expect(withLive(rows, [run("a", { state: "running" }), run("new", { state: "starting" })])).toBeNull();
  });

  it("are nothing where no run goes on", () => {
    expect(withLive([run("b")], [])).toEqual([run("b")]);
  });
});

describe("settings", () => {
  it("are flat texts by path", () => {
    const nested = {
      ppo: { gamma: 0.9, n: [64, 64] },
      off: null,
      parameters: { size: 3 },
      on: true,
      shares: {},
    };
    expect([...flatSettings(nested)]).toEqual([
      ["ppo.gamma", "0.9"],
      ["ppo.n", "64,64"],
      ["off", "none"],
      ["parameters", '{"size":3}'],
      ["on", "true"],
      ["shares", "{}"],
    ]);
  });

  it("of several runs are those that differ and those that are equal", () => {
    const { different, equal } = compareSettings([
      { ppo: { gamma: 0.9, lambda: 1 }, seed: 1 },
      { ppo: { gamma: 0.9, lambda: 2 }, seed: 1, new: true },
    ]);
    expect(different).toEqual([
      { path: "ppo.lambda", texts: ["1", "2"] },
      { path: "new", texts: ["–", "true"] },
    ]);
    expect(equal.map(({ path }) => path)).toEqual(["ppo.gamma", "seed"]);
  });

  it("of rows are those that differ", () => {
    const rows = [run("a", { settings: { x: 1, y: 2 } }), run("b", { settings: { x: 1, y: 3, z: null } })];
    // Unset is unset, whether the row says so or not.
    expect(differentSettings(rows)).toEqual(["y"]);
    expect(differentSettings([])).toEqual([]);
  });

  it("have short names and the texts of a search", () => {
    expect(shortName("ppo.learning_rate")).toBe("learning_rate");
    expect([null, undefined, true, 0.5, "a", [64, 64]].map(settingText)).toEqual([
      "none",
      "none",
      "true",
      "0.5",
      "a",
      "64,64",
    ]);
  });
});

describe("runs in charts", () => {
  const colours = ["red", "blue"];
  const of = (id: string, lr: number, changes = {}) =>
    run(id, { settings: { "ppo.learning_rate": lr }, ...changes });

  it("have a colour each where they are seeds of one setting", () => {
    const styles = runStyles([of("a", 0.1, { name: "hero" }), of("b", 0.1), of("c", 0.1)], colours);
    expect(styles).toEqual([
      { id: "a", name: "hero", colour: "red" },
      { id: "b", name: "b", colour: "blue" },
      { id: "c", name: "c", colour: "red" },
    ]);
  });

  it("share that of their setting where there are several", () => {
    const styles = runStyles([of("a", 0.1), of("b", 0.2), of("c", 0.1)], colours);
    expect(styles.map(({ id, colour, group }) => [id, colour, group])).toEqual([
      ["a", "red", "learning_rate 0.1, 2 seeds"],
      ["c", "red", "learning_rate 0.1, 2 seeds"],
      ["b", "blue", undefined],
    ]);
  });

  it("are so much more or less than the baseline", () => {
    const text = (value: number | null, other: number | null) => differenceText(value, other, String);
    expect([text(5, 3), text(3, 5), text(3, 3), text(null, 3), text(3, null)]).toEqual([
      "+2",
      "−2",
      "±0",
      "",
      "",
    ]);
  });
});
