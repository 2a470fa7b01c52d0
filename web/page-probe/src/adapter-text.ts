/** The first adapter of a page: what was found, as a file to be read and mended. */

import type { PointerPlace } from "attract/page-adapter";
import { DEVICES } from "../../page-clock/src/devices.gen.ts";
import { LARGEST } from "../../sdk/src/page/readers.ts";
import { type Environment, TEXT_STATE } from "./contracts.ts";
import { usesDrawn } from "./drawn-places.ts";
import { MADE_GAME } from "./engines.ts";
import type { Findings } from "./findings.ts";
import { menuText } from "./menu-text.ts";
import { type Move, withOwnLabels } from "./moves.ts";
import { observedLength, observeOf, reachedOf } from "./observed-text.ts";
import { NO_PLAYERS, POINTER } from "./player.ts";
import type { Reading } from "./readings.ts";
import { pressesOf } from "./start-actions.ts";
import { idOf, inComment } from "./title.ts";
import { LOAD_TICKS } from "./trial.ts";

/** As the SDK has it. */
export const DEFAULT_TICKS_PER_STEP = 4;

/** What an adapter may call of `attract/page`, in the order of imports. */
const SDK_NAMES = [
  "box",
  "cells",
  "definePageGame",
  "discrete",
  "drawn",
  "elements",
  "marked",
  "near",
  "nearest",
  "numberIn",
  "phaserGame",
  "portal",
  "rows",
  "says",
  "spot",
];

/** The options that training needs and that were not found; an end is none of them, since each adapter has a time limit. */
export function unfinishedOf({
  inputs,
  reading,
  seesPixels,
  alive,
  open,
}: Pick<Findings, "inputs" | "reading" | "seesPixels" | "alive" | "open">): string[] {
  const wanted: [name: string, isFound: boolean][] = [
    ["keys", inputs.moves.length > 0],
    ["observe", seesPixels || reading.seen.length > 0],
    ["score", (reading.score !== null || alive) && !open.includes("score")],
    ...open.filter((name) => name !== "score").map((name): [string, boolean] => [name, false]),
  ];
  return wanted.filter(([, isFound]) => !isFound).map(([name]) => name);
}

/** The adapter's `unfinished` option. */
function unfinishedText(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  return [
    `// Not found, or not as it was seen. Write ${names.length === 1 ? "it" : "them"}, then delete this line: nothing plays the adapter before.\n  unfinished: ${JSON.stringify(names)}`,
  ];
}

/** What the page was seen on: a device has a size of its own, or is given one. */
function windowText({ size, device = "desktop" }: Pick<Findings, "size" | "device">): string[] {
  return [
    ...(device === "desktop" ? [] : [`device: ${JSON.stringify(device)}`]),
    ...(DEVICES[device].size === null ? [`size: [${size.join(", ")}]`] : []),
  ];
}

/** The text of `<name>.page.ts`. */
export function adapterText(all: Findings): string {
  const found = all.seesPixels ? { ...all, reading: { ...all.reading, seen: [] } } : all;
  const { inputs, reading, page, seesPixels } = found;
  const moves = withOwnLabels(inputs.moves);
  const labels = ["nothing", ...moves.map(({ label }) => label)];
  const keys = [["nothing", []], ...moves.map(({ label, input }) => [label, input.keys])] as [
    string,
    string[],
  ][];
  const pointed = moves.filter(({ input }) => input.pointer !== undefined);
  const variables = found.variables.filter((name) => usesVariable(found, name));
  const fields = [
    `id: ${JSON.stringify(idOf(found.title))}`,
    `page: ${JSON.stringify(page)}`,
    ...unfinishedText(unfinishedOf(all)),
    ...windowText(found),
    `maxSeconds: ${found.maxSeconds}`,
    ...(found.ticksPerStep === DEFAULT_TICKS_PER_STEP
      ? []
      : [`// As long as the game takes to move, or to see a press.\n  ticksPerStep: ${found.ticksPerStep}`]),
    seesPixels
      ? `// The page's state is not readable: the agent sees its canvas. Train with --preset pixels\n  pixels: ${found.isCompiled ? "{ webGl: true }" : "{}"}`
      : `observation: box({ low: -${LARGEST}, high: ${LARGEST}, shape: [${Math.max(1, observedLength(reading))}] })`,
    `action: discrete(${JSON.stringify(labels)})`,
    `keys: { ${keys.map(([label, codes]) => `${quoted(label)}: ${JSON.stringify(codes)}`).join(", ")} }`,
    ...(pointed.length === 0
      ? []
      : [`pointers: { ${pointed.map((move) => `${quoted(move.label)}: ${pointOf(move)}`).join(", ")} }`]),
    ...(inputs.taps
      ? ["// Only the moment of a press counts: keys are released halfway through a step.\n  taps: true"]
      : []),
    ...(found.touch && !DEVICES[found.device ?? "desktop"].touch
      ? ["// The page listens to touch alone.\n  touch: true"]
      : []),
    ...(found.turns ? ["// It waits for promises between its frames.\n  turns: true"] : []),
    ...(found.isAnimated ? ["// Style sheets move what is played with.\n  css: true"] : []),
    ...(found.advances ? [advancing(keys)] : []),
    ...prepareOf(found),
    ...(variables.length === 0
      ? []
      : [
          `// Variables of the page's scripts: only a function created in the page can name them.\n  loaded(w) {\n    w.lookInside = w.eval("() => ({ ${variables.join(", ")} })");\n  }`,
        ]),
    readyOf(found),
    ...(found.seed === null ? [] : [`seed: (w, seed) => ${found.seed}`]),
    ...(found.restart === null ? [] : [restartOf(found, found.restart)]),
    ...(found.again === null
      ? []
      : ['// Its menu restarts the game when it is over: no fresh page is needed.\n  reset: "over"']),
    ...menuText(inputs.startAction, found),
    ...(seesPixels ? [] : [observeOf(reading)]),
    scoreOf(found),
    reading.end === null
      ? "// No end was found: episodes end by their time limit. Name it here: over: (w) => w.game.over\n  over: () => false"
      : `// ${sentence(reading.end.why)}${others(reading.ends.map(({ text }) => text).filter((text) => text !== reading.end?.text))}\n  over: (w) => ${reading.end.text}`,
  ];
  const body = `${helpers(found)}export default definePageGame({\n  ${fields.join(",\n  ")},\n});\n`;
  return `/** A first adapter of ${inComment(found.title)}, written by \`attract probe\`. Review it, and fix what it could not know. */

${imports(body)}
${body}`;
}

/** The adapter of a page that is an environment already. */
export function environmentText(
  probed: Pick<Findings, "page" | "size" | "title" | "device">,
  env: Environment,
): string {
  const { page, title } = probed;
  const { text, numActions, observation, reward, end, length } = env;
  const labels = Array.from({ length: numActions }, (_, i) => String(i));
  return `/** ${inComment(title)}: an environment with reset() and step(action), as \`attract probe\` found it. */

import { box, definePageGame, discrete, numbersIn } from "attract/page";

export default definePageGame({
  id: ${JSON.stringify(idOf(title))},
  page: ${JSON.stringify(page)},
${length > 0 ? "" : `  ${unfinishedText(["observe"])[0]},\n`}  ${windowText(probed).join(",\n  ")},
  ticksPerStep: 1,
  maxSeconds: 120,
  // Give the range that the numbers have.
  observation: box({ low: -100, high: 100, shape: [${length}] }),
  action: discrete(${JSON.stringify(labels)}),
  ready: (w) => ${text} != null,
  restart(w) {
    const first = ${text}.reset();
    w.result = { ${observation}: first?.${observation} ?? first?.[0] ?? first, ${reward}: 0, ${end}: false };
  },
  act(w, action) {
    w.result = ${text}.step(action);
  },
  observe: (w) => numbersIn(w.result.${observation}),
  reward: (w) => w.result.${reward},
  over: (w) => Boolean(w.result.${end} || w.result.truncated),
});
`;
}

/** All that the adapter reads. */
function textsIn({ seen, players, score, end }: Reading): string {
  const { state, drawn } = players ?? NO_PLAYERS;
  const own = [state, drawn].flatMap((player) => [player?.x, player?.y]);
  return [...seen.map(({ place }) => place.text), ...own, score?.place.text, end?.text].join(" ");
}

/** All that is in the adapter beside its fields' names. */
function wholeText({ reading, restart, playing, early }: Findings): string {
  return [textsIn(reading), restart, playing, ...early].join();
}

function hasSpot({ inputs, again }: Findings): boolean {
  return pressesOf(again ?? inputs.startAction).some(({ kind }) => kind === "spot");
}

/** What has to be heard of from the page's beginning on. */
function prepareOf(found: Findings): string[] {
  const calls = [
    ...(usesDrawn(wholeText(found)) || hasSpot(found) ? ["drawn(w);"] : []),
    ...(wholeText(found).includes(MADE_GAME) ? [`${MADE_GAME};`] : []),
    ...(textsIn(found.reading).includes(POINTER)
      ? [
          `w.addEventListener("pointermove", ({ clientX, clientY }: PointerEvent) => {\n      ${POINTER} = { x: clientX, y: clientY };\n    });`,
        ]
      : []),
  ];
  if (calls.length === 0) return [];
  const why = "// Records what the page does and is told, from the start.\n  ";
  if (calls.length === 1) return [`${why}prepare: (w) => void ${calls[0].slice(0, -1)}`];
  return [`${why}prepare(w) {\n    ${calls.join("\n    ")}\n  }`];
}

/** What it calls of the SDK. */
function imports(body: string): string {
  const code = body.replace(/^ *\/\/.*$/gm, "");
  const names = SDK_NAMES.filter((name) => new RegExp(`(?:^|[^\\w$.]|\\.\\.\\.)${name}\\(`, "m").test(code));
  return `import { ${names.join(", ")} } from "attract/page";\n`;
}

function helpers(found: Findings): string {
  const { score } = found.reading;
  const texts = textsIn(found.reading);
  const parts = [
    ...(texts.includes("fell(")
      ? [
          `/** Whether the number is less than when this was asked before. */
// biome-ignore lint/suspicious/noExplicitAny: a page's window has what its game puts there
function fell(w: any, now: number): boolean {
  const before = w.lastAsked ?? now;
  w.lastAsked = now;
  return now < before;
}
`,
        ]
      : []),
    ...(score !== null && beginsAnew(found.reading)
      ? [
          `/** All that was scored: where the number falls another game has begun, and nothing is lost by it. */
// biome-ignore lint/suspicious/noExplicitAny: a page's window has what its game puts there
function gained(w: any, now: number): number {
  w.gained = (w.gained ?? 0) + Math.max(0, now - (w.lastScore ?? now));
  w.lastScore = now;
  return w.gained;
}
`,
        ]
      : []),
    ...(texts.includes("stands(")
      ? [
          `/** Whether all of it has been the same for more than so many frames. */
// biome-ignore lint/suspicious/noExplicitAny: a page's window has what its game puts there
function stands(w: any, now: unknown[], ticks: number): boolean {
  const text = JSON.stringify(now);
  w.stillTicks = text === w.lastSeen ? (w.stillTicks ?? 0) + 1 : 0;
  w.lastSeen = text;
  return w.stillTicks > ticks;
}
`,
        ]
      : []),
    ...(texts.includes(TEXT_STATE)
      ? [
          `// biome-ignore lint/suspicious/noExplicitAny: what a page's state holds is its own affair
const state = (w: any): any => JSON.parse(w.render_game_to_text());
`,
        ]
      : []),
  ];
  return parts.map((part) => `${part}\n`).join("");
}

/** Whether another game begins by itself where this one ends: then its score is gone at once. */
function beginsAnew({ end }: Reading): boolean {
  return end?.text.startsWith("fell(") ?? false;
}

function scoreOf({ reading, alive, reached }: Findings): string {
  const { score, scores } = reading;
  if (score === null)
    return "// No score was found: each second alive earns 1. Name it here: score: (w) => w.game.score\n  reward: () => 1 / 60";
  const why = `// ${sentence(score.why)}${others(scores.map(({ place }) => place.text).filter((text) => text !== score.place.text))}\n  `;
  const { text, isShown, kind } = score.place;
  const steps: string[] = [];
  let value = `Number(${text} ?? 0)`;
  if (beginsAnew(reading)) value = `gained(w, ${value})`;
  else if (isShown && kind === "number" && !usesDrawn(text) && !score.place.isQuoted) {
    steps.push(
      "// Where something else is written in its place at the end, it is what it was.",
      `w.scored = ${text} ?? w.scored ?? 0;`,
    );
    value = "w.scored";
  }
  if (alive) {
    // A power of two, by which sums stay exact, whenever an episode begins.
    steps.push(
      "// Random play rarely scored, so each second alive earns a little too.",
      "w.framesAlive = (w.framesAlive ?? 0) + 1;",
    );
    value += " + w.framesAlive / 512";
  }
  const place = reached ? reachedOf(reading) : null;
  if (place !== null) {
    steps.push(
      "// Random play rarely scored, so each place that the player reaches first earns a little too.",
      `w.reached = (w.reached ?? new Set()).add(${place});`,
    );
    value += " + w.reached.size / 256";
  }
  if (steps.length === 0) return `${why}score: (w) => ${value}`;
  return `${why}score: (w) => {\n    ${[...steps, `return ${value};`].join("\n    ")}\n  }`;
}

function others(texts: readonly string[]): string {
  return texts.length === 0 ? "" : ` Or: ${texts.join("; ")}`;
}

function sentence(predicate: string): string {
  return `${predicate[0].toUpperCase()}${predicate.slice(1)}.`;
}

function readyOf({ early, loadTicks }: Findings): string {
  const passed = `(w.framesLoaded = (w.framesLoaded ?? 0) + 1) > ${loadTicks ?? LOAD_TICKS}`;
  const there = early.map((text) => `${text} !== undefined`);
  if (loadTicks !== undefined)
    return `// For this many frames it shows that it is loading.\n  ready: (w) => ${[passed, ...there].join(" && ")}`;
  if (there.length > 0) return `ready: (w) => ${there.join(" && ")}`;
  return `// No sign that the page is ready was found: half a second of its own time should do.\n  ready: (w) => ${passed}`;
}

function restartOf({ reached, reading }: Findings, restart: string): string {
  const steps = [
    ...(beginsAnew(reading)
      ? ["// The previous game's score must not count as a fall of this one's.", "w.lastAsked = undefined;"]
      : []),
    ...(reached && reachedOf(reading) !== null ? ["w.reached = undefined;"] : []),
    ...(textsIn(reading).includes(POINTER) ? [`${POINTER} = undefined;`] : []),
  ];
  if (steps.length === 0) return `restart: (w) => ${restart}`;
  return `restart(w) {\n    ${[...steps, `${restart};`].join("\n    ")}\n  }`;
}

function advancing(keys: readonly [string, string[]][]): string {
  return `// The page advances only by this call.\n  act(w, action, page) {\n    page.hold(${JSON.stringify(keys.map(([, codes]) => codes))}[Number(action)]);\n    w.advanceTime(1000 / 60);\n  }`;
}

function pointOf({ input }: Move): string {
  const [x, y, how = "press", second] = input.pointer as PointerPlace;
  const place = [x, y, ...(how === "press" ? [] : [how]), ...(second === undefined ? [] : [second])];
  return JSON.stringify(place, (_, value) =>
    typeof value === "number" ? Math.round(value) : value,
  ).replaceAll(",", ", ");
}

function quoted(label: string): string {
  return /^[a-z]\w*$/.test(label) ? label : JSON.stringify(label);
}

function usesVariable({ reading, restart, playing, early }: Findings, name: string): boolean {
  const text = [textsIn(reading), restart, playing, ...early].join(" ");
  return new RegExp(`w\\.lookInside\\(\\)\\.${name.replaceAll("$", "\\$")}(?![\\w$])`).test(text);
}
