import { expect, test } from "vitest";
import { adapterText, environmentText, unfinishedOf } from "../../../web/page-probe/src/adapter-text.ts";
import type { Findings } from "../../../web/page-probe/src/findings.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import { defined, FOUND, finished, HANDS, PAGE, place } from "./found-adapter.ts";

test("a score that is shown is what it was where the end is written in its place", async () => {
  const shown = { ...place('numberIn(w.document.querySelector("#result"))'), isShown: true };
  const reading = { ...FOUND.reading, score: { place: shown, why: "it grew 3 times" } };
  const { page } = await defined(adapterText({ ...FOUND, reading }));
  const ownerDocument = { defaultView: { document: { documentElement: { lang: "" } } } };
  const result = { textContent: "Score: 1,005", ownerDocument };
  const window = { ...PAGE, document: { querySelector: () => result } };
  expect(page?.score?.(window)).toBe(1005);
  result.textContent = "Congratulations!";
  expect(page?.score?.(window)).toBe(1005);
  result.textContent = "0";
  expect(page?.score?.(window)).toBe(0);
});

test("where random play hardly scored, 64 seconds of 60 frames alive earn 7.5 beside the score", async () => {
  const { page } = await defined(adapterText({ ...FOUND, alive: true }));
  const window = { ...PAGE };
  const first = Number(page?.score?.(window));
  for (let frame = 1; frame < 3840; frame++) page?.score?.(window);
  // A score of 7, and 3,840 frames / 512 between the two.
  expect(Number(page?.score?.(window)) - first).toBe(7.5);
  expect(first).toBe(7 + 1 / 512);
});

test("where random play never wins, each place that the player reaches first earns a 256th", async () => {
  const players = { state: { x: "w.lookInside().ship?.x", y: "w.row" }, drawn: null };
  const row = { place: place("w.row"), scales: [10], fields: [], count: 1 };
  const reading = { ...FOUND.reading, seen: [...FOUND.reading.seen, row], players };
  const { page } = await defined(adapterText({ ...FOUND, reached: true, reading }));
  const window = { ...PAGE, newGame: () => 0, row: 0 };
  const scored = (y: number) => (Number(page?.score?.(Object.assign(window, { row: y }))) - 7) * 256;
  expect([3, 4, 3].map(scored)).toEqual([1, 2, 2]);
  page?.restart?.(window, HANDS);
  expect(scored(4)).toBe(1);
});

test("a game without a score that is lost by chance is whole: to stay alive is its goal", async () => {
  const found = { ...FOUND, reading: { ...FOUND.reading, score: null } };
  expect(unfinishedOf(found)).toEqual(["score"]);
  expect(unfinishedOf({ ...found, alive: true })).toEqual([]);
  expect((await defined(adapterText({ ...found, alive: true }))).page?.reward?.(PAGE)).toBe(1 / 60);
});

test("of a page that waits for promises between its frames the adapter says so", async () => {
  expect((await defined(adapterText(FOUND))).page?.turns).toBe(false);
  expect((await defined(adapterText({ ...FOUND, turns: true }))).page?.turns).toBe(true);
});

test("what was found becomes an adapter that the SDK takes, and that reads the page", async () => {
  const text = adapterText(FOUND);
  expect(text).toContain("() => ({ ship, stones, score, state })");
  const { page, id, observation, action, maxSeconds } = await defined(text);
  expect(id).toBe("MyFlappy-v1");
  expect(observation).toMatchObject({ shape: [9] });
  expect(action).toMatchObject({ labels: ["nothing", "left", "point far", "click"] });
  expect(page?.keys).toEqual([{ nothing: [], left: ["ArrowLeft"], "point far": [], click: [] }]);
  expect(page?.pointers).toEqual({ "point far": [10, 20, "move"], click: [30, 40] });
  expect(page?.taps).toBe(true);
  expect(maxSeconds).toBe(90);
  expect(page?.observe?.(PAGE)).toEqual([0.5, 0.1, 0.1, 0, 0, 0, 1, 0, 0]);
  expect([page?.score?.(PAGE), page?.over(PAGE), page?.ready?.(PAGE)]).toEqual([7, true, true]);
  expect(page?.reset).toBe("own");
  const seeds: number[] = [];
  page?.seed?.({ k: { randSeed: (seed: number) => seeds.push(seed) } }, 5);
  expect(seeds).toEqual([5]);
});

test("what was not found is named in the adapter, which nothing plays until that is deleted; an end is not needed", async () => {
  const unfinished = async (found: Findings): Promise<string[]> => {
    const [line, names] = /^ {2}unfinished: (\[.*\]),\n/m.exec(adapterText(found)) ?? [];
    if (line === undefined) return [];
    await expect(defined(adapterText(found))).rejects.toThrow(/^unfinished: this adapter lacks /);
    return JSON.parse(names);
  };
  const { inputs, reading } = FOUND;
  const without = (more: Partial<Findings["reading"]>): Findings => ({
    ...FOUND,
    reading: { ...reading, ...more },
  });
  expect(await unfinished(FOUND)).toEqual([]);
  expect(await unfinished(without({ end: null }))).toEqual([]);
  expect(await unfinished(without({ score: null }))).toEqual(["score"]);
  expect(await unfinished(without({ seen: [] }))).toEqual(["observe"]);
  expect(await unfinished({ ...without({ seen: [] }), seesPixels: true })).toEqual([]);
  expect(await unfinished({ ...FOUND, inputs: { ...inputs, moves: [] } })).toEqual(["keys"]);
});

test("where nothing was found the adapter stands all the same once it is called finished, and says what to name", async () => {
  const reading = { score: null, end: null, seen: [], scores: [], ends: [] };
  const inputs = { ...FOUND.inputs, moves: [] };
  const text = adapterText({ ...FOUND, reading, inputs, early: [], restart: null });
  expect(text).toContain("No score was found");
  expect(text).toContain("No end was found");
  const { page } = await defined(finished(text));
  expect([page?.observe?.({}), page?.over({}), page?.reward?.({})]).toEqual([[0], false, 1 / 60]);
});

test("where the state is out of reach the agent sees the canvas, and what there is of score and end is kept", async () => {
  const text = adapterText({ ...FOUND, seesPixels: true });
  expect(text).toContain("--preset pixels");
  const { page, observation } = await defined(text);
  expect(observation).toMatchObject({ kind: "box", dtype: "uint8", shape: [84, 84, 4] });
  expect([page?.observe, page?.score?.(PAGE), page?.over(PAGE)]).toEqual([undefined, 7, true]);
});

test("a page's own words are read once for all that is seen", async () => {
  const seen = ["state(w)?.ship?.x", "state(w)?.ship?.y"].map((text) => ({
    place: place(text),
    scales: [10],
    fields: [],
    count: 1,
  }));
  const { page } = await defined(
    adapterText({ ...FOUND, reading: { ...FOUND.reading, seen }, advances: true }),
  );
  let asked = 0;
  const window = {
    render_game_to_text: () => {
      asked++;
      return '{"ship":{"x":5,"y":90}}';
    },
    advanced: 0,
    advanceTime(ms: number) {
      this.advanced += ms;
    },
  };
  expect(page?.observe?.(window)).toEqual([0.5, 5]);
  expect(asked).toBe(1);
  const held: unknown[] = [];
  page?.act?.(window, 1, {
    ticks: 0,
    stepTick: 0,
    parameters: {},
    hold: (keys) => held.push(keys),
    point: () => 0,
    rotate: () => 0,
    lift: () => 0,
  });
  expect(held).toEqual([["ArrowLeft"]]);
  expect(window.advanced).toBeCloseTo(1000 / 60);
});

test("an environment is stepped, and its observation flattened", async () => {
  const env = { text: "w.env", numActions: 2, observation: "obs", reward: "reward", end: "done", length: 3 };
  const { page } = await defined(environmentText({ page: "index.html", size: [10, 10], title: "Env" }, env));
  const window = {
    env: {
      reset: () => ({ obs: { a: 1, b: [2, 3] } }),
      step: (action: number) => ({ obs: { a: action, b: [0, 0] }, reward: 4, done: true }),
    },
  };
  const hands = {
    ticks: 0,
    stepTick: 0,
    parameters: {},
    hold: () => 0,
    point: () => 0,
    rotate: () => 0,
    lift: () => 0,
  };
  page?.restart?.(window, hands);
  expect(page?.observe?.(window)).toEqual([1, 2, 3]);
  page?.act?.(window, 1, hands);
  expect([page?.observe?.(window), page?.reward?.(window), page?.over(window)]).toEqual([[1, 0, 0], 4, true]);
});

test("moves that bear the same words have labels of their own", async () => {
  const click = (x: number) => ({ label: "Buy", input: { keys: [], pointer: [x, 5] as const } });
  const inputs = { ...FOUND.inputs, moves: [click(1), click(2), { ...click(3), label: "nothing" }] };
  const { action, page } = await defined(adapterText({ ...FOUND, inputs }));
  expect(action).toMatchObject({ labels: ["nothing", "Buy", "Buy 2", "nothing 2"] });
  expect(page?.pointers["Buy 2"]).toEqual([2, 5]);
});

test("a score that fell ends the game; after a restart, the fall to nothing is not the new game's end", async () => {
  const score = place("w.points");
  const fell = { place: score, text: "fell(w, Number(w.points ?? 0))", why: "it fell", isOver: () => false };
  const reading = { ...FOUND.reading, score: { place: score, why: "it grew" }, end: fell, seen: [] };
  const { page } = await defined(finished(adapterText({ ...FOUND, reading, restart: "w.begin()" })));
  // biome-ignore lint/suspicious/noExplicitAny: a page's window
  const window: any = { points: 5, begin: () => (window.points = 0) };
  expect(page?.over(window)).toBe(false);
  window.points = 0;
  expect(page?.over(window)).toBe(true);
  window.points = 7;
  page?.over(window);
  page?.restart?.(window, null as never);
  expect(page?.over(window)).toBe(false);
  // What was scored before stays, whichever frame it is asked in.
  const scored = (points: number): unknown => {
    window.points = points;
    return page?.score?.(window);
  };
  expect([0, 10, 10, 30, 0, 0, 5].map(scored)).toEqual([0, 10, 10, 30, 30, 30, 35]);
});

test("what is drawn is followed before the page draws, and read by its look", async () => {
  const look = 'drawn(w).things("rect #ff0000")';
  const text = adapterText({
    ...FOUND,
    variables: [],
    early: [],
    reading: {
      ...FOUND.reading,
      score: { place: place('drawn(w).number("Score: #")'), why: "it grew 3 times in random play" },
      seen: [{ place: place(look, "list", ["x", "dy"]), scales: [1, 0.02], fields: ["x", "dy"], count: 2 }],
    },
  });
  const { page } = await defined(text);
  expect(text).toContain("definePageGame, discrete, drawn, near, rows }");
  const asked: string[] = [];
  const eyes = {
    things: (name: string) => {
      asked.push(name);
      return [{ x: 0.25, dy: 0.01 }];
    },
    number: (pattern: string) => (pattern === "Score: #" ? 7 : undefined),
  };
  expect(page?.observe?.({ attractDrawn: eyes })).toEqual([0.25, 0.5, 0, 0]);
  expect(page?.score?.({ attractDrawn: eyes })).toBe(7);
  expect(asked).toEqual(["rect #ff0000"]);
  expect(typeof page?.prepare).toBe("function");
});

test("a game that Phaser made and the page keeps to itself is followed from before it is made", async () => {
  const score = 'phaserGame(w)?.scene.getScene("Game")?.score';
  const text = adapterText({
    ...FOUND,
    variables: [],
    early: [],
    playing: 'phaserGame(w)?.scene.getScenes(true)[0]?.scene.key === "Game"',
    reading: { ...FOUND.reading, score: { place: place(score), why: "it grew" }, seen: [] },
  });
  const { page } = await defined(finished(text));
  const window = {} as PageWindow;
  page?.prepare?.(window, {});
  window.Phaser = {
    Game: class {
      scene = { getScene: () => ({ score: 7 }), getScenes: () => [{ scene: { key: "Game" } }] };
    },
  };
  new window.Phaser.Game();
  expect(page?.score?.(window)).toBe(7);
  expect(page?.playing?.(window)).toBe(true);
});

test("what marks a board, and what is said at the end, come with what reads them", async () => {
  const marked = place('marked(w, ".grid > *", ".frog")', "grid");
  const written = place('marked(w, ".grid > *", "=X")', "grid");
  const said = place('says(w, ["You win!"])', "truth");
  const startAction = { kind: "element", selector: "#start", text: "Start/Pause", ticks: 10 } as const;
  const found: Findings = {
    ...FOUND,
    inputs: { ...FOUND.inputs, startAction },
    playing: null,
    reading: {
      ...FOUND.reading,
      score: { place: { ...said, kind: "number" }, why: "a game that is won is worth 1" },
      end: { place: said, text: said.text, why: "it came", isOver: Boolean },
      seen: [marked, written].map((one) => ({ place: one, scales: [1], fields: ["3", "1"], count: 3 })),
    },
  };
  const text = adapterText(found);
  // One press: another would pause it.
  expect(text).toContain("page.ticks < 8 && page.ticks % 8 < 4");
  const { page } = await defined(text);
  const cells = [false, true, false].map((isFrog) => ({
    matches: (mark: string) => isFrog && mark === ".frog",
    textContent: isFrog ? "O" : " X ",
  }));
  const body = { innerText: "YOU WIN!" };
  const window = { document: { body, querySelectorAll: () => cells } };
  expect(page?.observe?.(window)).toEqual([0, 1, 0, 1, 0, 1]);
  expect([page?.score?.(window), page?.over(window)]).toEqual([1, true]);
  body.innerText = "You lose!";
  expect([page?.score?.(window), page?.over(window)]).toEqual([0, false]);
  // As a dialog says it.
  expect(page?.over({ ...window, attractAlerts: ["Well done, you win!"] })).toBe(true);
});

test("a page that loads for long is ready when it has, and has what the adapter reads", async () => {
  const { page } = await defined(adapterText({ ...FOUND, variables: [], early: ["w.score"], loadTicks: 3 }));
  const window = { score: 1 } as PageWindow;
  expect([1, 2, 3, 4].map(() => page?.ready?.(window))).toEqual([false, false, false, true]);
  expect(page?.ready?.({ framesLoaded: 9 })).toBe(false);
});

test("the pointer's place is heard of from the page's beginning on, and forgotten at a restart", async () => {
  const pointed = { place: place("w.pointerAt?.x"), scales: [640], fields: [], count: 1 };
  const found = { ...FOUND, reading: { ...FOUND.reading, seen: [pointed] } };
  const { page } = await defined(adapterText(found));
  const listeners: ((event: object) => void)[] = [];
  const addEventListener = (_: string, listener: (event: object) => void) => listeners.push(listener);
  const window: Record<string, unknown> = { ...PAGE, addEventListener, newGame: () => 0 };
  page?.prepare?.(window, {});
  expect(page?.observe?.(window)).toEqual([0]);
  listeners[0]({ clientX: 320, clientY: 10 });
  expect(page?.observe?.(window)).toEqual([0.5]);
  page?.restart?.(window, HANDS);
  expect(page?.observe?.(window)).toEqual([0]);
});

test("a page that was probed on a device says so, in the place of a size", () => {
  const text = adapterText({ ...FOUND, device: "phone", size: [412, 839], touch: true });
  expect(text).toContain(`device: "phone",`);
  expect(text).not.toMatch(/size:|touch:/);
  expect(adapterText({ ...FOUND, device: "desktop@2x" })).toMatch(/device: "desktop@2x",\n\s+size:/);
});
