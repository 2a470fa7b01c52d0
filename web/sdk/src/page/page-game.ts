/** `definePageGame`: an adapter of a game that lives in a page, as a definition like any other. */

import { DEVICES, type DeviceName } from "../../../page-clock/src/devices.gen.ts";
import {
  CONTRACT_VERSION,
  type GameDefinition,
  type GameOptions,
  type GivenAction,
  type ObservationValue,
  type PerAgent,
} from "../contract.ts";
import { checkDefinition, checkOptionNames } from "../define-game.ts";
import { ConfigurationError, show } from "../errors.ts";
import { inputOf } from "../page-action.ts";
import type {
  Allowed,
  ClickTarget,
  KeysByLabel,
  MixedHands,
  PageAdapter,
  PageHands,
  PageReset,
  PageWindow,
  PointerHow,
  PointerPlace,
} from "../page-adapter.ts";
import {
  PIXEL_OPTIONS,
  type PixelOptions,
  type PixelSettings,
  pixelSettings,
  pixelSpace,
} from "../page-pixels.ts";
import { PLAIN_OBSERVATION } from "../picture-stacks.ts";
import { type ActionSpace, checkSpace, dict, mixedParts, type ObservationSpace } from "../spaces.ts";

/** Simulated time of one tick: pages are drawn 60 times a second, as 17, 17 and 16 ms. */
const TICKS_PER_SECOND = 60;
const DEFAULT_TICKS_PER_STEP = 4;
const DEFAULT_SIZE = [800, 600] as const;

/** What `definePageGame` takes; `W` is what the page's window is to be seen as. */
export interface PageGameOptions<W = PageWindow>
  extends Pick<
    GameOptions,
    "id" | "maxSeconds" | "numAgents" | "action" | "actionMask" | "parameters" | "metrics"
  > {
  /** What `observe` gives. Beside `pixels` a `dict` of what else is seen. */
  observation?: ObservationSpace;
  /** The agent sees the page's canvas: alone, or beside what `observe` gives as the entry `pixels`. */
  pixels?: PixelOptions;
  /** The page, below this adapter's folder: `"dist/index.html"`; or of a server on this machine: `"http://localhost:5173/"`. */
  page: string;
  /** The window's size in CSS pixels. Default: 800 x 600. */
  size?: readonly [width: number, height: number];
  /** How many frames of 1/60 s an action is held. Default: 4. */
  ticksPerStep?: number;
  /** What an action holds down during its step, by its label; of several agents one object each. With `act` or `click`: a person's only. */
  keys?: KeysByLabel | readonly KeysByLabel[];
  /**
   * Where an action has the pointer during its step, by its label. With `act` or `click`: a person's only. Of a mixed action what
   * the pointer does at the place that a box of two numbers is: by the box's name, and by a label of a choice that does otherwise.
   */
  pointers?: Record<string, PointerPlace | PointerHow>;
  /** For actions that are neither keys nor places of a pointer: called before each tick. */
  act?(window: W, action: GivenAction, page: PageHands): void;
  /**
   * For boards: what an action clicks, asked before the first tick of its step; null: nothing. The pointer is pressed in the
   * first half of the step and released in the second.
   */
  click?(window: W, action: GivenAction): ClickTarget | null | undefined;
  /** Before the page's first script. With the episode's `parameters` each episode has a page of its own. */
  prepare?(window: W, parameters: Readonly<Record<string, number>>): void;
  /** All scripts of the page have run, and no frame has been drawn yet. */
  loaded?(window: W): void;
  /** Whether everything is there; asked after each tick while the page loads. Default: it is. */
  ready?(window: W): boolean;
  /** Seeds chance that is not the browser's: an engine's own generator. */
  seed?(window: W, seed: number): void;
  /** Begins an episode, also from the middle of another. Without one, each episode has a page of its own. */
  restart?(window: W, page: PageHands): void;
  /** What to press until the game is playing; called before each tick until then. */
  menu?(window: W, page: PageHands): void;
  /** Whether the episode is under way. Default: it is, one tick after `restart`. */
  playing?(window: W): boolean;
  /** What the agent sees, unless it is pixels alone; not asked once the game is over. */
  observe?(window: W): ObservationValue | ObservationValue[];
  /** One number per choice, 0 where it is forbidden; of several agents one list each. With `actionMask`. */
  allowed?(window: W): Allowed | readonly Allowed[];
  /** The reward of a tick is how much this grew in it. */
  score?(window: W): PerAgent<number>;
  /** The reward of a tick, in the place of `score`. */
  reward?(window: W): PerAgent<number>;
  /** Whether the episode is over, and worth nothing further. */
  over(window: W): PerAgent<boolean>;
  /** Numbers for `metrics`. */
  info?(window: W): Readonly<Record<string, number>>;
  /**
   * "own": `restart` begins episodes; "over": `menu` begins one where the one before came to its end, all others have a
   * fresh page; "reload": each has a fresh page. Default: "own" with a `restart`, else "reload"; "reload" where
   * `prepare` takes parameters.
   */
  reset?: PageReset;
  /** Whether CSS animations matter while it plays, beside its menus: looked for in each tick, which costs style. */
  css?: boolean;
  /** Whether the page is not laid out while it is trained: for games that read no sizes and no places of elements. */
  hidden?: boolean;
  /** Whether the game waits for promises between its frames: each frame is followed by a turn of the event loop. */
  turns?: boolean;
  /** Whether keys and pointer are let go halfway through each step, so that an action taken twice is pressed twice. */
  taps?: boolean;
  /** Whether the pointer is a finger, as on a phone: for pages that listen to touch. */
  touch?: boolean;
  /** What the page believes to be on, with its size, pixel ratio, finger and browser's name. Default: "desktop". */
  device?: DeviceName;
  /** Options that are guesses or missing so far, as `attract probe` names them: the adapter is refused until this is deleted. */
  unfinished?: readonly string[];
}

declare global {
  /** Set in front of a module that is played on another device than its own. */
  var attractDevice: string | undefined;
}

const FUNCTIONS = [
  "act",
  "click",
  "prepare",
  "loaded",
  "ready",
  "seed",
  "restart",
  "menu",
  "playing",
  "observe",
  "allowed",
  "score",
  "reward",
  "over",
  "info",
] as const;
const KNOWN_OPTIONS = [
  "id",
  "page",
  "size",
  "ticksPerStep",
  "maxSeconds",
  "numAgents",
  "observation",
  "pixels",
  "action",
  "actionMask",
  "keys",
  "pointers",
  "parameters",
  "metrics",
  "reset",
  "css",
  "hidden",
  "taps",
  "touch",
  "device",
  "turns",
  "unfinished",
  ...FUNCTIONS,
];
/** The server finds it in the adapter's text: it must stand there as it is. */
const ADDRESS = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?\/\S*$/;
/** Name of the pixels' entry in an observation that has other entries too. */
const PIXELS = "pixels";

/** Returns the checked definition of a game that lives in a page. Raises ConfigurationError naming the option to change. */
export function definePageGame<W = PageWindow>(options: PageGameOptions<W>): GameDefinition {
  checkOptions(options);
  const { id, maxSeconds, numAgents, action, actionMask, parameters, metrics } = options;
  const adapter = adapterOf(options);
  const given = { maxSeconds, numAgents, actionMask, parameters, metrics };
  const definition: GameDefinition = {
    contract_version: CONTRACT_VERSION,
    id,
    tickSeconds: 1 / TICKS_PER_SECOND,
    secondsPerStep: (options.ticksPerStep ?? DEFAULT_TICKS_PER_STEP) / TICKS_PER_SECOND,
    observation: observationOf(options.observation, adapter.pixels),
    action,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    ...handKeys(adapter),
    ...stacksOf(options.observation, adapter.pixels),
    page: adapter as PageAdapter,
    create: () => {
      throw new ConfigurationError(
        "page",
        `${id} lives in the page ${adapter.page}: only a browser plays it, in a frame`,
      );
    },
  };
  checkDefinition(definition);
  return definition;
}

function checkOptions<W>(options: PageGameOptions<W>): void {
  checkOptionNames(options, KNOWN_OPTIONS);
  checkFinished(options.unfinished);
  for (const name of FUNCTIONS) {
    const given: unknown = options[name];
    if (given !== undefined && typeof given !== "function")
      throw new ConfigurationError(name, `must be a function of the page's window, got ${show(given)}`);
  }
  if (options.over === undefined)
    throw new ConfigurationError("over", "must be given, a function of the page's window");
  checkSight(options);
  const { page, size, ticksPerStep, reset, actionMask } = options;
  if (typeof page !== "string" || !(isBelow(page) || ADDRESS.test(page)))
    throw new ConfigurationError(
      "page",
      'must be a page below the adapter\'s folder, such as "dist/index.html", or one of a server on this machine, ' +
        `such as "http://localhost:5173/", got ${show(page)}`,
    );
  if (
    size !== undefined &&
    !(size.length === 2 && size.every((side) => Number.isInteger(side) && side >= 1 && side <= 4096))
  )
    throw new ConfigurationError(
      "size",
      `must be [width, height] in pixels, 1 to 4096 each, got ${show(size)}`,
    );
  if (ticksPerStep !== undefined && !(Number.isInteger(ticksPerStep) && ticksPerStep >= 1))
    throw new ConfigurationError(
      "ticksPerStep",
      `must be a whole number of frames of 1/60 s, got ${show(ticksPerStep)}`,
    );
  if (options.click !== undefined && (ticksPerStep ?? DEFAULT_TICKS_PER_STEP) < 2)
    throw new ConfigurationError(
      "click",
      "needs a step of two frames at least, one of them without the press",
    );
  if (options.click !== undefined && options.act !== undefined)
    throw new ConfigurationError("click", "give either click or act");
  if (options.taps && (ticksPerStep ?? DEFAULT_TICKS_PER_STEP) < 2)
    throw new ConfigurationError("taps", "needs a step of two frames at least, one of them without the key");
  if ((options.score === undefined) === (options.reward === undefined))
    throw new ConfigurationError("score", "give either score or reward");
  if (reset !== undefined && reset !== "own" && reset !== "over" && reset !== "reload")
    throw new ConfigurationError("reset", `must be "own", "over" or "reload", got ${show(reset)}`);
  if (reset === "own" && options.restart === undefined)
    throw new ConfigurationError("reset", '"own" needs restart(window), which restarts the game');
  if (reset === "over" && (options.menu === undefined || options.playing === undefined))
    throw new ConfigurationError(
      "reset",
      '"over" needs menu(window, page), which restarts the game once it is over, and playing(window)',
    );
  if (reset !== undefined && reset !== "reload" && preparesParameters(options))
    throw new ConfigurationError(
      "prepare",
      `sets the parameters of a page that "${reset}" keeps for the next episode: read page.parameters in restart or menu, ` +
        'or give reset: "reload"',
    );
  if ((actionMask === true) !== (options.allowed !== undefined))
    throw new ConfigurationError("allowed", "allowed(window) and actionMask: true belong together");
  checkHidden(options);
  checkHands(options);
}

/** Where nothing is laid out, nothing has a place: no canvas to be seen, nothing under the pointer, nothing that moves by CSS. */
function checkHidden<W>(options: PageGameOptions<W>): void {
  if (!options.hidden) return;
  for (const name of ["pixels", "pointers", "click", "css"] as const)
    if (options[name] !== undefined && options[name] !== false)
      throw new ConfigurationError(
        "hidden",
        `a page that is not laid out has no ${name}: leave out one of the two`,
      );
}

function checkFinished(unfinished: unknown): void {
  if (unfinished === undefined) return;
  if (!Array.isArray(unfinished) || unfinished.some((name) => typeof name !== "string"))
    throw new ConfigurationError("unfinished", `must be an array of options' names, got ${show(unfinished)}`);
  if (unfinished.length > 0)
    throw new ConfigurationError(
      "unfinished",
      `this adapter lacks ${unfinished.join(", ")}: write ${unfinished.length === 1 ? "it" : "them"}, then delete "unfinished"`,
    );
}

/** Something must be seen, and be named apart. */
function checkSight<W>({ pixels, observation, observe }: PageGameOptions<W>): void {
  if (pixels === undefined) {
    if (observe === undefined)
      throw new ConfigurationError(
        "observe",
        "must be given, a function of the page's window, or pixels: {} where the agent is to see the canvas",
      );
    return;
  }
  if (typeof pixels !== "object" || pixels === null)
    throw new ConfigurationError("pixels", `must be an object such as { size: 84 }, got ${show(pixels)}`);
  checkOptionNames(pixels, PIXEL_OPTIONS);
  if ((observation === undefined) !== (observe === undefined))
    throw new ConfigurationError(
      observe === undefined ? "observe" : "observation",
      "beside pixels, observation and observe(window) are given both, or neither",
    );
  if (observation === undefined) return;
  if (observation.kind !== "dict" || PIXELS in observation.spaces)
    throw new ConfigurationError(
      "observation",
      `beside pixels it is a dict({ ... }) of what else is seen, without an entry "${PIXELS}", got ${show(observation)}`,
    );
}

function observationOf(given?: ObservationSpace, pixels?: PixelSettings): ObservationSpace {
  if (pixels === undefined) return given as ObservationSpace;
  const space = pixelSpace(pixels);
  return given?.kind === "dict" ? dict({ ...given.spaces, [PIXELS]: space }) : space;
}

/** A stack of one picture is none. */
function stacksOf(given?: ObservationSpace, pixels?: PixelSettings): Pick<GameOptions, "pictureStacks"> {
  if (pixels === undefined || pixels.stack === 1) return {};
  return { pictureStacks: { [given === undefined ? PLAIN_OBSERVATION : PIXELS]: pixels.stack } };
}

function isBelow(page: string): boolean {
  return /^[^/.?#\\:][^?#\\:]*\.html?$/.test(page) && !page.split("/").includes("..");
}

/** Every choice must be something that the page notices. */
function checkHands<W>(options: PageGameOptions<W>): void {
  const { action, keys, pointers, act, click, numAgents = 1 } = options;
  if (act !== undefined || click !== undefined) return;
  if (action?.kind === "mixed") {
    checkMixedHands(options);
    return;
  }
  if (action?.kind !== "discrete" || action.labels === null)
    throw new ConfigurationError(
      "act",
      "an action that is not discrete([...labels]) needs act(window, action, page) or click(window, action)",
    );
  const sets = Array.isArray(keys) ? keys : [keys ?? {}];
  if (keys !== undefined && sets.length !== numAgents)
    throw new ConfigurationError(
      "keys",
      `needs one object for each of ${numAgents} agents, got ${sets.length}`,
    );
  for (const set of sets) checkLabels("keys", set, action.labels);
  checkLabels("pointers", pointers ?? {}, action.labels);
  for (const [label, [, , how = "press", second]] of Object.entries(placesOf(pointers))) {
    const field = `pointers.${label}`;
    const row = inputOf(field, how, second);
    if ((row.spread !== null || row.second === "finger") && !options.touch)
      throw new ConfigurationError(field, `"${how}" is done by fingers: give touch: true`);
    if ((row.spread !== null || row.second === "end") && (options.ticksPerStep ?? DEFAULT_TICKS_PER_STEP) < 2)
      throw new ConfigurationError(field, `"${how}" needs a step of two frames at least`);
  }
  for (const label of action.labels)
    if (pointers?.[label] === undefined && sets.some((set) => set[label] === undefined))
      throw new ConfigurationError(
        "keys",
        `says nothing of "${label}"; write ${label}: [] if it holds no key`,
      );
}

/** Without `act` a mixed action is one place of the pointer, and choices with labels that press. */
function checkMixedHands<W>(options: PageGameOptions<W>): void {
  const { action, keys = {}, pointers = {}, numAgents = 1 } = options;
  checkSpace("action", action);
  const hands = mixedHands(action, pointers);
  if (hands === null || numAgents !== 1 || Array.isArray(keys))
    throw new ConfigurationError(
      "act",
      "must be given, act(window, action, page), but for a mixed action of one agent whose choices are " +
        "discrete([...labels]) and whose one box is the pointer's place [x, y], which pointers names",
    );
  const labels = Object.values(hands.labels).flat();
  const twice = [...labels, hands.aim].find((label, i, all) => all.indexOf(label) !== i);
  if (twice !== undefined)
    throw new ConfigurationError(
      "keys",
      `"${twice}" is the name of two things that press: call one otherwise`,
    );
  checkLabels("keys", keys, labels);
  for (const [label, how] of Object.entries(pointers)) {
    const field = `pointers.${label}`;
    if (label !== hands.aim && !labels.includes(label))
      throw new ConfigurationError(field, `is neither ${hands.aim} nor a label: ${labels.join(", ")}`);
    if (typeof how !== "string")
      throw new ConfigurationError(
        field,
        `says what is done at ${hands.aim}, such as "press", got ${show(how)}`,
      );
    inputOf(field, how, undefined);
  }
}

/** Null where it does not say all. */
function mixedHands(action: ActionSpace, pointers: object): MixedHands | null {
  if (action.kind !== "mixed") return null;
  const labels: Record<string, readonly string[]> = {};
  const aims: string[] = [];
  for (const { name, space, size } of mixedParts(action)) {
    if (space.kind === "discrete" && space.labels !== null) labels[name] = space.labels;
    else if (space.kind === "box" && size === 2) aims.push(name);
    else return null;
  }
  const [aim] = aims;
  return aims.length === 1 && Object.hasOwn(pointers, aim)
    ? { labels, aim, hows: pointers as MixedHands["hows"] }
    : null;
}

/** The places of a pointer among what `pointers` says. */
function placesOf(pointers: PageGameOptions["pointers"] = {}): Record<string, PointerPlace> {
  return Object.fromEntries(
    Object.entries(pointers).flatMap(([label, place]) =>
      typeof place === "string" ? [] : [[label, place] as const],
    ),
  );
}

function checkLabels(field: string, given: object, labels: readonly string[]): void {
  for (const [label, value] of Object.entries(given)) {
    if (!labels.includes(label))
      throw new ConfigurationError(`${field}.${label}`, `is no label of the action: ${labels.join(", ")}`);
    if (!Array.isArray(value))
      throw new ConfigurationError(`${field}.${label}`, `must be an array, got ${show(value)}`);
  }
}

/** Whether the page is made for the parameters of one episode. */
function preparesParameters<W>({ prepare }: PageGameOptions<W>): boolean {
  return prepare !== undefined && prepare.length > 1;
}

function adapterOf<W>(options: PageGameOptions<W>): PageAdapter<W> {
  const { keys, action } = options;
  const mixed = mixedHands(action, options.pointers ?? {});
  const { attractDevice: forced } = globalThis;
  globalThis.attractDevice = undefined;
  const name = deviceNamed(forced ?? options.device ?? "desktop");
  const device = DEVICES[name];
  const functions = Object.fromEntries(
    FUNCTIONS.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  ) as Pick<PageGameOptions<W>, (typeof FUNCTIONS)[number]>;
  return {
    ...functions,
    page: options.page,
    size: (forced === undefined ? undefined : device.size) ?? options.size ?? device.size ?? DEFAULT_SIZE,
    reset: options.reset ?? (options.restart === undefined || preparesParameters(options) ? "reload" : "own"),
    css: options.css ?? false,
    hidden: options.hidden ?? false,
    taps: options.taps ?? false,
    touch: options.touch ?? device.touch,
    device: name,
    turns: options.turns ?? false,
    keys: keys === undefined ? [] : Array.isArray(keys) ? keys : [keys as KeysByLabel],
    pointers: placesOf(options.pointers),
    ...(mixed === null ? {} : { mixed }),
    labels: action.kind === "discrete" ? (action.labels ?? []) : [],
    ...(options.pixels === undefined ? {} : { pixels: pixelSettings(options.pixels) }),
  } as PageAdapter<W>;
}

function deviceNamed(name: string): DeviceName {
  if (Object.hasOwn(DEVICES, name)) return name as DeviceName;
  throw new ConfigurationError(
    "device",
    `must be one of ${Object.keys(DEVICES).join(", ")}, got ${show(name)}`,
  );
}

/** The keys of the first agent, as a person at the keyboard has them: those that stand for one action alone. */
function handKeys<W>({ keys: [first] }: PageAdapter<W>): Pick<GameOptions, "keys" | "idle"> {
  if (first === undefined) return {};
  const keys: Record<string, string> = {};
  for (const [label, codes] of Object.entries(first)) if (codes.length === 1) keys[codes[0]] ??= label;
  const idle = Object.keys(first).find((label) => first[label].length === 0);
  return idle === undefined ? { keys } : { keys, idle };
}
