/** The first adapter of a page: what was found, as a file to be read and mended. */

import type { PointerPlace } from "attract/page-adapter";
import { DEVICES } from "../../page-clock/src/devices.gen.ts";
import { LARGEST } from "../../sdk/src/page/readers.ts";
import type { Environment } from "./contracts.ts";
import { usesDrawn } from "./drawn-places.ts";
import { MADE_GAME } from "./engines.ts";
import type { Findings } from "./findings.ts";
import { menuText } from "./menu-text.ts";
import { type Move, withOwnLabels } from "./moves.ts";
import { observedLengths, observeOf, reachedOf } from "./observed-text.ts";
import { NO_PLAYERS, POINTER } from "./player.ts";
import type { Reading } from "./readings.ts";
import { code } from "./template.ts";
import { idOf, inComment } from "./title.ts";
import { LOAD_TICKS } from "./trial.ts";

/** Functions that come with an adapter that calls them. */
const HELPERS: Readonly<Record<string, string>> = {
  fell: `/** Whether the number is less than when this was asked before. */
// biome-ignore lint/suspicious/noExplicitAny: a page's window has what its game puts there
function fell(w: any, now: number): boolean {
  const before = w.lastAsked ?? now;
  w.lastAsked = now;
  return now < before;
}`,
  gained: `/** All that was scored: where the number falls another game has begun, and nothing is lost by it. */
// biome-ignore lint/suspicious/noExplicitAny: a page's window has what its game puts there
function gained(w: any, now: number): number {
  w.gained = (w.gained ?? 0) + Math.max(0, now - (w.lastScore ?? now));
  w.lastScore = now;
  return w.gained;
}`,
  stands: `/** Whether all of it has been the same for more than so many frames. */
// biome-ignore lint/suspicious/noExplicitAny: a page's window has what its game puts there
function stands(w: any, now: unknown[], ticks: number): boolean {
  const text = JSON.stringify(now);
  w.stillTicks = text === w.lastSeen ? (w.stillTicks ?? 0) + 1 : 0;
  w.lastSeen = text;
  return w.stillTicks > ticks;
}`,
  state: `// biome-ignore lint/suspicious/noExplicitAny: what a page's state holds is its own affair
const state = (w: any): any => JSON.parse(w.render_game_to_text());`,
};

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

/** What the page is and what it was seen on: a device has a size of its own, or is given one. */
function headOf(
  { title, page, size, device = "desktop" }: Pick<Findings, "title" | "page" | "size" | "device">,
  unfinished: readonly string[],
): string {
  return code`
    id: ${JSON.stringify(idOf(title))},
    page: ${JSON.stringify(page)},
    // Not found, or not as it was seen. Write ${unfinished.length === 1 ? "it" : "them"}, then delete this line: nothing plays the adapter before.
    unfinished: ${unfinished.length > 0 && JSON.stringify(unfinished)},
    device: ${device !== "desktop" && JSON.stringify(device)},
    size: [${DEVICES[device].size === null && size.join(", ")}],`;
}

/** The text of `<name>.page.ts`. */
export function adapterText(all: Findings): string {
  const found = all.seesPixels ? { ...all, reading: { ...all.reading, seen: [] } } : all;
  const head = headOf(found, unfinishedOf(all));
  // What is to be prepared follows from what all else calls, of which `observe` says some by a shorter name.
  const calling = `${withoutComments(fieldsOf(found, head, ""))} ${textsIn(found.reading)}`;
  const fields = fieldsOf(found, head, calling);
  const names = Object.keys(HELPERS).filter((name) => calls(withoutComments(fields), name));
  const helpers = names.map((name) => `${HELPERS[name]}\n\n`).join("");
  const body = `${helpers}export default definePageGame({\n  ${fields.replaceAll("\n", "\n  ")}\n});\n`;
  return `/** A first adapter of ${inComment(found.title)}, written by \`attract probe\`. Review it, and fix what it could not know. */

${imports(body)}
${body}`;
}

function fieldsOf(found: Findings, head: string, calling: string): string {
  const { inputs, reading, seesPixels, early, loadTicks, restart, ticksPerStep } = found;
  const length = observedLengths(reading).reduce((sum, one) => sum + one, 0);
  const moves = withOwnLabels(inputs.moves);
  const keys: [string, readonly string[]][] = [
    ["nothing", []],
    ...moves.map(({ label, input }): [string, readonly string[]] => [label, input.keys]),
  ];
  const pointed = moves.filter(({ input }) => input.pointer !== undefined);
  const prepared = preparedFor(calling);
  const variables = found.variables.filter((name) => namesVariable(calling, name));
  const passed = `(w.framesLoaded = (w.framesLoaded ?? 0) + 1) > ${loadTicks ?? LOAD_TICKS}`;
  const there = early.map((text) => `${text} !== undefined`);
  const isKnown = loadTicks !== undefined;
  const forgets = restart === null ? [] : forgottenIn(found, calling);
  const ends = reading.ends.map(({ text }) => text).filter((text) => text !== reading.end?.text);
  return code`
    ${head}
    maxSeconds: ${found.maxSeconds},
    // As long as the game takes to move, or to see a press.
    ticksPerStep: ${ticksPerStep !== DEFAULT_TICKS_PER_STEP && ticksPerStep},
    // The page's state is not readable: the agent sees its canvas. Train with --preset pixels
    pixels: ${seesPixels && (found.isCompiled ? "{ webGl: true }" : "{}")},
    observation: box({ low: -${LARGEST}, high: ${LARGEST}, shape: [${!seesPixels && Math.max(1, length)}] }),
    action: discrete(${JSON.stringify(keys.map(([label]) => label))}),
    keys: { ${keys.map(([label, codes]) => `${quoted(label)}: ${JSON.stringify(codes)}`).join(", ")} },
    pointers: { ${pointed.map((move) => `${quoted(move.label)}: ${pointOf(move)}`).join(", ")} },
    // Only the moment of a press counts: keys are released halfway through a step.
    taps: ${inputs.taps},
    // The page listens to touch alone.
    touch: ${found.touch && !DEVICES[found.device ?? "desktop"].touch},
    // It waits for promises between its frames.
    turns: ${found.turns},
    // Style sheets move what is played with.
    css: ${found.isAnimated},
    // The page advances only by this call.
    act(w, action, page) {
      page.hold(${found.advances && JSON.stringify(keys.map(([, codes]) => codes))}[Number(action)]);
      w.advanceTime(1000 / 60);
    },
    // Records what the page does and is told, from the start.
    prepare: (w) => void ${prepared.length === 1 && prepared[0].slice(0, -1)},
    // Records what the page does and is told, from the start.
    prepare(w) {
      ${prepared.length > 1 && prepared}
    },
    // Variables of the page's scripts: only a function created in the page can name them.
    loaded(w) {
      w.lookInside = w.eval("() => ({ ${variables.join(", ")} })");
    },
    // For this many frames it shows that it is loading.
    ready: (w) => ${isKnown && [passed, ...there].join(" && ")},
    ready: (w) => ${!isKnown && there.join(" && ")},
    // No sign that the page is ready was found: half a second of its own time should do.
    ready: (w) => ${!isKnown && there.length === 0 && passed},
    seed: (w, seed) => ${found.seed},
    restart: (w) => ${forgets.length === 0 && restart},
    restart(w) {
      ${forgets}
      ${restart};
    },
    // Its menu restarts the game when it is over: no fresh page is needed.
    reset: ${found.again !== null && '"over"'},
    ${menuText(inputs.startAction, found)}
    ${!seesPixels && observeOf(reading)}
    ${scoreOf(found)}
    // ${reading.end !== null && sentence(reading.end.why, ends)}
    over: (w) => ${reading.end?.text},
    // No end was found: episodes end by their time limit. Name it here: over: (w) => w.game.over
    over: () => ${reading.end === null && "false"},`;
}

/** The adapter of a page that is an environment already. */
export function environmentText(
  probed: Pick<Findings, "page" | "size" | "title" | "device">,
  env: Environment,
): string {
  const { text, numActions, observation, reward, end, length } = env;
  const labels = Array.from({ length: numActions }, (_, i) => String(i));
  const head = headOf(probed, length > 0 ? [] : ["observe"]).replaceAll("\n", "\n  ");
  return `/** ${inComment(probed.title)}: an environment with reset() and step(action), as \`attract probe\` found it. */

import { box, definePageGame, discrete, numbersIn } from "attract/page";

export default definePageGame({
  ${head}
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

/** All that the adapter sees. */
function textsIn({ seen, players }: Reading): string {
  const { state, drawn } = players ?? NO_PLAYERS;
  const own = [state, drawn].flatMap((player) => [player?.x, player?.y]);
  return [...seen.map(({ place }) => place.text), ...own].join(" ");
}

function withoutComments(text: string): string {
  return text.replace(/^ *\/\/.*$/gm, "");
}

function calls(calling: string, name: string): boolean {
  return new RegExp(`(?:^|[^\\w$.]|\\.\\.\\.)${name}\\(`, "m").test(calling);
}

function namesVariable(calling: string, name: string): boolean {
  return new RegExp(`w\\.lookInside\\(\\)\\.${name.replaceAll("$", "\\$")}(?![\\w$])`).test(calling);
}

/** What it calls of the SDK. */
function imports(body: string): string {
  const names = SDK_NAMES.filter((name) => calls(withoutComments(body), name));
  return `import { ${names.join(", ")} } from "attract/page";\n`;
}

/** What has to be heard of from the page's beginning on. */
function preparedFor(calling: string): string[] {
  return code`
    ${(usesDrawn(calling) || calls(calling, "spot")) && "drawn(w);"}
    ${calling.includes(MADE_GAME) && `${MADE_GAME};`}
    w.addEventListener("pointermove", ({ clientX, clientY }: PointerEvent) => {
      ${calling.includes(POINTER) && POINTER} = { x: clientX, y: clientY };
    });`
    .split(/\n(?=\S)(?!})/)
    .filter((one) => one !== "");
}

/** What a restart forgets of the game before. */
function forgottenIn({ reached, reading }: Findings, calling: string): string {
  return code`
    // The previous game's score must not count as a fall of this one's.
    w.lastAsked = ${beginsAnew(reading) && "undefined"};
    w.reached = ${reached && reachedOf(reading) !== null && "undefined"};
    ${calling.includes(POINTER) && POINTER} = undefined;`;
}

/** Whether another game begins by itself where this one ends: then its score is gone at once. */
function beginsAnew({ end }: Reading): boolean {
  return end?.text.startsWith("fell(") ?? false;
}

function scoreOf({ reading, alive, reached }: Findings): string {
  const { score, scores } = reading;
  const texts = scores.map(({ place }) => place.text).filter((text) => text !== score?.place.text);
  const { text = "", isShown = false, kind, isQuoted } = score?.place ?? {};
  const place = reached ? reachedOf(reading) : null;
  const isKept =
    !beginsAnew(reading) && isShown && kind === "number" && !usesDrawn(text) && isQuoted !== true;
  const steps = code`
    // Where something else is written in its place at the end, it is what it was.
    w.scored = ${isKept && text} ?? w.scored ?? 0;
    // Random play rarely scored, so each second alive earns a little too.
    w.framesAlive = ${alive && "(w.framesAlive ?? 0) + 1"};
    // Random play rarely scored, so each place that the player reaches first earns a little too.
    w.reached = (w.reached ?? new Set()).add(${place});`;
  const why = score !== null && sentence(score.why, texts);
  const own = `Number(${text} ?? 0)`;
  const first = isKept ? "w.scored" : beginsAnew(reading) ? `gained(w, ${own})` : own;
  // A power of two, by which sums stay exact, whenever an episode begins.
  const value = `${first}${alive ? " + w.framesAlive / 512" : ""}${place === null ? "" : " + w.reached.size / 256"}`;
  return code`
    // ${why}
    score: (w) => ${steps === "" && value},
    // ${why}
    score: (w) => {
      ${steps}
      return ${value};
    },
    // No score was found: each second alive earns 1. Name it here: score: (w) => w.game.score
    reward: () => ${score === null && "1 / 60"},`;
}

function sentence(predicate: string, others: readonly string[]): string {
  const or = others.length === 0 ? "" : ` Or: ${others.join("; ")}`;
  return `${predicate[0].toUpperCase()}${predicate.slice(1)}.${or}`;
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
