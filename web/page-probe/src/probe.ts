/** Opens a page, plays it at random under its clock, and reports what it found: for `attract probe`. */

import type { PageWindow } from "attract/page-adapter";
import type { PageProbe } from "../../schema/src/api.gen.ts";
import { canvasesIn, everyIn } from "../../sdk/src/page/elements.ts";
import { hashed } from "../../worker/src/episode/seen-hash.ts";
import { BusyWatch } from "../../worker/src/host/slowdown.ts";
import { marksIn } from "./boards.ts";
import { candidatesIn, linesOf, starterOf } from "./candidates.ts";
import { type Heard, heardIn, isForTouch } from "./clicks.ts";
import { compiledNote, engineOf, environmentOf, seedHook, textState } from "./contracts.ts";
import { beginningsOf, beginningText, Draft, pressesOf } from "./draft.ts";
import { drawnIn, isDrawnThing, Movements, widest } from "./drawn-places.ts";
import { type EndWords, endWordsOf, saidPlace } from "./end-words.ts";
import type { Chosen, End } from "./ends.ts";
import { engineHooks } from "./engines.ts";
import { environmentProbe, type Probed } from "./environment-probe.ts";
import { stepTicksOf } from "./game-step.ts";
import { wordsOf } from "./json-value.ts";
import type { Move, ResponsiveInputs } from "./moves.ts";
import { chance, randomly } from "./moves.ts";
import { observedLengths } from "./observed-text.ts";
import type { Place, Root, Seen } from "./places.ts";
import { playersOf, pointerSeen } from "./player.ts";
import { candidatesOf, isThing, type Reading, readingOf, worthFollowing } from "./readings.ts";
import { findNext, type RestartSearch, scenesOf } from "./restarts.ts";
import { globalsOf, pristineNames, scriptsOf, shownIn, shownInGroups, variablesOf } from "./roots.ts";
import {
  BY_ITSELF,
  FIRST_WAIT,
  heightNeeded,
  isLoading,
  type StartAction,
  start,
  startActionsOf,
} from "./start-actions.ts";
import { findInputs } from "./start-search.ts";
import { contractsOf, statePlaces } from "./state.ts";
import { titleOf } from "./title.ts";
import { differing, isSame, LOAD_TICKS, NOTHING, type PageToProbe, type Samples, Trial } from "./trial.ts";

const PLAYS = 4;
/** At 60 frames a second. */
const PLAY_TICKS = 2_700;
const PLAY_MS = 6_000;
/** However little time is left. */
const MIN_PLAY_MS = 500;
const SHORT_TICKS = 240;
/** Frames between looks at what there is. */
const LOOKS = [0, 15, 30, 150];
const LATER_LOOKS = [...LOOKS, 600, 900];
const IDLE_TICKS = 30;
const MAX_LOADING_TICKS = 600;
/** Frames after which most games have requested their files. */
const ASKED_TICKS = 180;
/** In scripts that may wait for something between their frames. */
const PROMISES = /\bawait\b|\.then\s*\(|\bPromise\b/;
/** See `PageToProbe.budgetMs`. */
const BUDGET_MS = 150_000;
/** Share of it after which no further inputs are tried, where some have an effect. */
const INPUTS_SHARE = 1 / 2;
/** Share of it after which nothing more is played at random: the rest is for a restart, without which each episode loads the page anew. */
const PLAYS_SHARE = 3 / 4;

/** The end of a page that reloads itself: the episode is over without an expression in the adapter. */
const RELOAD: End = {
  place: { text: "false", name: "reload", kind: "truth", fields: [], isShown: false, read: () => false },
  text: "false",
  why: "the page reloads itself, which ends the episode",
  isOver: () => false,
};

/** Raises Error when the page does not load, or goes to another address. */
export async function probe(page: PageToProbe, report: (phase: string) => void): Promise<Probed> {
  try {
    return await new Probe(page, report).run();
  } catch (error) {
    throw Trial.failure(error);
  }
}

/** A game that has begun. */
interface Begun {
  readonly places: readonly Place[];
  /** Whether it asked for files meanwhile. */
  readonly hasAsked: boolean;
  readonly heard: Heard;
}

class Probe {
  readonly #page: PageToProbe;
  readonly #report: (phase: string) => void;
  readonly #began = performance.now();
  readonly #budgetMs: number;
  readonly #busy: BusyWatch | null;
  /** What was not looked for to the end, since the time was up. */
  readonly #cut = new Set<string>();
  /** By start action, and whether promises have turns. */
  readonly #known = new Map<string, Promise<Begun>>();
  readonly #pristine = pristineNames();
  #scripts: readonly string[] = [];
  /** Script variables that belong to no object. */
  #variables: Root[] = [];
  #hasText = false;
  /** End texts in the page, of a win or a loss; null: there are none. */
  #ended: Place | null = null;
  /** Texts in the page for a player who has won. */
  #won: Place | null = null;
  /** Whether style sheets move what is played with. */
  #isAnimated = false;
  /** Whether the page reloads itself while it is played. */
  #reloads = false;

  constructor(page: PageToProbe, report: (phase: string) => void) {
    this.#page = page;
    this.#report = report;
    this.#budgetMs = page.budgetMs ?? BUDGET_MS;
    // A limit that a person has set stays as it is on a busy machine.
    this.#busy = page.budgetMs === undefined ? new BusyWatch() : null;
  }

  /** Whether `what` is looked for no longer. @param share of the time, 0 to 1. */
  #isTimeUp(what: string, share = 1): boolean {
    const isUp = this.#left(share) < 0;
    if (isUp) this.#cut.add(what);
    return isUp;
  }

  /** Milliseconds until this share of the time is over; negative: it is. */
  #left(share = 1): number {
    const now = performance.now();
    const left = share * this.#budgetMs - (now - this.#began);
    return left > 0 ? left : left + share * this.#budgetMs * ((this.#busy?.factor(now) ?? 1) - 1);
  }

  /** How long one play may last. */
  #playMs(): number {
    return Math.max(MIN_PLAY_MS, Math.min(PLAY_MS, this.#left(PLAYS_SHARE) / 2));
  }

  async run(): Promise<Probed> {
    this.#report("loading the page");
    const first = await Trial.open(this.#page);
    const { window } = first;
    this.#scripts = await scriptsOf(window);
    this.#variables = variablesOf(window, this.#scripts);
    const globals = globalsOf(window, this.#pristine);
    const title = titleOf(window);
    const engine = engineOf(window, this.#scripts);
    this.#hasText = textState(window) !== null;
    const advance = typeof window.advanceTime === "function";
    const environment = environmentOf(window, globals);
    const contracts = [
      ...contractsOf(window, globals),
      ...(environment === null ? [] : [`${environment.text.slice(2)}: reset() and step(action)`]),
    ];
    const hasCanvas = canvasesOf(window).length > 0;
    const words = endWordsOf(textsIn(window), this.#scripts);
    this.#noteEndWords(words, hasCanvas);
    await this.#waitWhileItLoads(first);
    const early = this.#places(window);
    const all = startActionsOf(window, this.#page, first.written);
    const { errors, unheld } = first.seen;
    const { listens } = first;
    first.close();
    this.#page.touch ||= isForTouch(listens);
    const common = {
      title: wordsOf(title),
      engine: engine === null ? null : wordsOf(engine),
      contracts: linesOf(contracts),
      unheld: linesOf([...unheld]),
      errors: linesOf(errors.map((error) => String((error as Error)?.message ?? error))),
      num_places: early.length,
      listens: linesOf(listens),
    };
    if (environment !== null) return environmentProbe(this.#page, common, environment);
    const advances = advance && (await this.#standsStill(early, all));
    if (advances) this.#page.advances = true;

    this.#report("looking for controls");
    this.#page.size = [this.#page.size[0], await heightNeeded(this.#page, all)];
    const { heard } = await this.#begun(BY_ITSELF);
    const startActions = all.filter(
      ({ kind }) => (kind !== "key" || heard.keys) && (kind !== "click" || heard.pointer),
    );
    this.#page.turns = await this.#needsTurns(startActions);
    const inputs = await findInputs(
      this.#page,
      startActions,
      async (startAction) => (await this.#begun(startAction)).places,
      ({ window: page, written }) => this.#places(page, written),
      (hasMoves) => this.#isTimeUp("controls", hasMoves ? INPUTS_SHARE : 1),
    );
    this.#noteEndWords(await this.#unsaid(words, inputs.startAction), hasCanvas);
    this.#report("playing at random");
    const { places } = await this.#placesAfter(inputs.startAction, inputs.moves);
    const plays = await this.#plays(inputs, places);
    const changed = new Set([...inputs.changed].map(({ text }) => text));
    const found = this.#reading(plays, changed);
    const reading = {
      ...found,
      // Where nothing else is seen, the page is seen by its pixels.
      seen: found.seen.length === 0 ? [] : [...pointerSeen(inputs.moves, this.#page.size), ...found.seen],
      players: playersOf(inputs.moves, places, found.seen),
    };
    this.#report("looking for a restart");
    const hooks = engineHooks(window, globals);
    const search: RestartSearch = {
      page: this.#page,
      inputs,
      reading,
      roots: [...globals, ...this.#variables],
      hooks,
      scenes: hooks === null ? [] : scenesOf(plays, hooks, reading.end),
      placesOf: (page) => this.#places(page),
      isTimeUp: () => this.#isTimeUp("a restart"),
    };
    const { restart, again } = await findNext(search, this.#page.budgetMs !== undefined);
    // Without a score and an end, the few readable variables do not describe the game either.
    const { score, end, seen } = reading;
    const isDrawn = seen.some(({ place }) => isThing(place));
    const seesPixels = hasCanvas && (seen.length === 0 || (score === null && end === null && !isDrawn));
    const beginnings = beginningsOf(restart, again, inputs.startAction);
    const presses = pressesOf(inputs.taps, stepTicksOf(plays, reading.players));
    const draft = new Draft({
      ...this.#page,
      title,
      inputs,
      reading,
      seesPixels,
      isCompiled: compiledNote(engine) !== null,
      hooks,
      seed: hooks?.seed ?? seedHook(window),
      earlyPlaces: early,
      variables: this.#variables.map(({ name }) => name),
      advances,
      isAnimated: this.#isAnimated,
      presses,
      beginnings,
    });
    const { unfinished } = await draft.write(draft.first);
    const report: PageProbe = {
      ...common,
      starter: starterOf(beginnings[0].startAction),
      moves: linesOf(inputs.moves.map(({ label }) => label)),
      taps: inputs.taps,
      num_places: places.length,
      seen: seesPixels ? [] : seen.map(({ place }) => place.text),
      seen_numbers: seesPixels ? [] : observedLengths(reading),
      sees_pixels: seesPixels,
      score: score?.place.text ?? null,
      end: end === RELOAD ? "the page reloads itself" : (end?.text ?? null),
      restart: beginningText(beginnings[0]),
      restarts_by_menu: again !== null,
      cut: [...this.#cut],
      unfinished,
      candidates: candidatesIn({ inputs, reading, plays, presses, beginnings }),
    };
    return { report, draft };
  }

  /** A page that says it is loading may show its button only then. */
  async #waitWhileItLoads(trial: Trial): Promise<void> {
    let ticks = 0;
    for (; isLoading(trial.window) && ticks < MAX_LOADING_TICKS; ticks += IDLE_TICKS)
      await trial.play(() => NOTHING, IDLE_TICKS, []);
    // A page that always shows it is not loading.
    if (ticks > 0 && ticks < MAX_LOADING_TICKS) this.#page.loadTicks = LOAD_TICKS + ticks + IDLE_TICKS;
  }

  #noteEndWords({ lost, won }: EndWords, hasCanvas: boolean): void {
    this.#ended = saidPlace([...lost, ...won.filter((word) => !lost.includes(word))], hasCanvas);
    this.#won = saidPlace(won, hasCanvas);
  }

  /** Drops words that are visible during play: the rules may describe how one loses. */
  async #unsaid({ lost, won }: EndWords, startAction: StartAction): Promise<EndWords> {
    const trial = await Trial.open(this.#page);
    try {
      await start(trial, startAction);
      const isUnsaid = (word: string): boolean => !saidPlace([word], true)?.read(trial.window);
      return { lost: lost.filter(isUnsaid), won: won.filter(isUnsaid) };
    } finally {
      trial.close();
    }
  }

  /** All readable places: the page's state first, then what it shows. */
  #places(window: PageWindow, written: Iterable<string> = []): Place[] {
    return [
      ...statePlaces(window, this.#pristine, this.#variables, this.#hasText),
      ...drawnIn(window, written),
      ...shownIn(window),
      ...shownInGroups(window),
      ...marksIn(window),
      ...(this.#ended === null ? [] : [this.#ended]),
      pictureOf(),
    ];
  }

  /** What is there after a start action. */
  #begun(startAction: StartAction): Promise<Begun> {
    const key = JSON.stringify([startAction, this.#page.turns]);
    const begun = this.#known.get(key) ?? this.#placesAfter(startAction);
    this.#known.set(key, begun);
    return begun;
  }

  /** Readable places at several times after the start: some of them come and go. */
  async #placesAfter(startAction: StartAction, moves: readonly Move[] = []): Promise<Begun> {
    const trial = await Trial.open(this.#page);
    try {
      const random = chance(1);
      const known = new Map<string, Place>();
      const movements = new Movements();
      await start(trial, startAction);
      for (const ticks of moves.length === 0 ? LOOKS : LATER_LOOKS) {
        if (known.size > 0 && this.#isTimeUp("the score and the end")) break;
        const drawn = [...known.values()].filter(isDrawnThing);
        movements.add(
          drawn,
          (await trial.play(randomly(moves, random), ticks, drawn, 1, this.#playMs())).rows,
        );
        for (const place of this.#places(trial.window, trial.written)) {
          const before = known.get(place.text);
          // A list shows its fields only while it has elements.
          const isEmpty = before?.kind === "list" && before.fields.length === 0;
          if (before === undefined || isEmpty) known.set(place.text, place);
          if (before === undefined) movements.add([place], [[place.read(trial.window)]]);
        }
      }
      const heard = heardIn(trial.window, trial.listeners);
      return { places: widest([...known.values()], movements), hasAsked: trial.hasAsked, heard };
    } finally {
      trial.close();
    }
  }

  /** Whether the page moves only by calls of `advanceTime`, not by its own frames. */
  async #standsStill(places: readonly Place[], startActions: readonly StartAction[]): Promise<boolean> {
    const moves = async (page: PageToProbe): Promise<boolean> => {
      for (const startAction of startActions) {
        const trial = await Trial.open(page);
        await start(trial, startAction);
        const { rows } = await trial.play(() => NOTHING, IDLE_TICKS, places, IDLE_TICKS / 6);
        trial.close();
        if (rows.some((row) => row.some((value, at) => !isSame(value, rows[0][at])))) return true;
      }
      return false;
    };
    return !(await moves(this.#page)) && (await moves({ ...this.#page, advances: true }));
  }

  /** Whether turns for promises and files between frames change the play, and in the same way twice. */
  async #needsTurns(startActions: readonly StartAction[]): Promise<boolean> {
    const hasPromises = this.#scripts.some((text) => PROMISES.test(text));
    for (const startAction of startActions.filter(({ ticks }) => ticks <= FIRST_WAIT)) {
      if (this.#isTimeUp("controls", INPUTS_SHARE)) break;
      const { places, hasAsked } = await this.#begun(startAction);
      // Things that come later are pictures that have to be loaded then.
      if (!hasAsked && !hasPromises) continue;
      const ticks = hasAsked ? ASKED_TICKS : 2 * IDLE_TICKS;
      const played = async (turns: boolean): Promise<Samples> => {
        const trial = await Trial.open({ ...this.#page, turns });
        try {
          await start(trial, startAction);
          return await trial.play(() => NOTHING, ticks, places, IDLE_TICKS / 6);
        } finally {
          trial.close();
        }
      };
      const turned = await played(true);
      const isOtherwise = differing(await played(false), turned).size > 0;
      if (isOtherwise && differing(turned, await played(true)).size === 0) return true;
    }
    return false;
  }

  async #plays({ startAction, moves }: ResponsiveInputs, places: readonly Place[]): Promise<Samples[]> {
    const plays: Samples[] = [];
    let kept = places;
    for (let i = 0; i <= PLAYS && (i <= 1 || !this.#isTimeUp("the score and the end", PLAYS_SHARE)); i++) {
      const trial = await Trial.open(this.#page, 1000 + i);
      await start(trial, startAction);
      const samples = await trial.play(
        randomly(moves, chance(i + 1)),
        i === 0 ? SHORT_TICKS : PLAY_TICKS,
        kept,
        1,
        this.#playMs(),
      );
      this.#isAnimated ||= trial.isAnimated;
      this.#reloads ||= trial.isReloadDue;
      trial.close();
      // The first play decides which places are followed in the long ones.
      if (i === 0) kept = worthFollowing(samples);
      else plays.push(samples);
    }
    return plays;
  }

  /** Reads the page's own description where it has one; else everything. */
  #reading(plays: readonly Samples[], changed: ReadonlySet<string>): Reading {
    const { size } = this.#page;
    const all = readingOf(plays, changed, size);
    // A game without a score rewards a win.
    const score = all.score ?? this.#victory();
    const end = all.end ?? (this.#reloads ? RELOAD : null);
    const scores = all.score === null && score !== null ? [score, ...all.scores] : all.scores;
    const ends = end === RELOAD ? [RELOAD] : all.ends;
    const whole = { ...all, score, end, scores, ends, seen: this.#seen(plays, changed, all) };
    if (!this.#hasText) return whole;
    const own = readingOf(
      plays.map((play) => among(play, ({ text }) => text.startsWith("state(w)"))),
      changed,
      size,
    );
    return {
      ...whole,
      seen: own.seen.length > 0 ? own.seen : whole.seen,
      score: own.score ?? whole.score,
      end: own.end ?? whole.end,
      scores: candidatesOf([own.score, whole.score, ...own.scores, ...scores], ({ place }) => place.text),
      ends: candidatesOf([own.end, whole.end, ...own.ends, ...ends], ({ text }) => text),
    };
  }

  #victory(): Chosen | null {
    if (this.#won === null) return null;
    const { read } = this.#won;
    const place: Place = { ...this.#won, kind: "number", read: (window) => Number(read(window)) };
    return {
      place,
      why: "no score was found: a win is worth 1; if wins are rare, name a quantity that leads to them",
    };
  }

  /** The page's state, or what it draws if the state is not all that a player sees. */
  #seen(
    plays: readonly Samples[],
    changed: ReadonlySet<string>,
    { seen, score, end }: Reading,
  ): readonly Seen[] {
    const kept = seen.filter(({ place }) => !isThing(place));
    const movable = kept.filter(({ place }) => changed.has(place.text));
    const isAll =
      movable.length > 0 &&
      (score !== null || end !== null) &&
      // Marks describe elements better than their texts do.
      kept.some(({ place: { kind, isShown } }) => !isShown && (kind === "list" || kind === "grid"));
    const things = readingOf(
      plays.map((play) => among(play, isThing)),
      changed,
      this.#page.size,
    ).seen;
    return isAll || things.length === 0 ? kept : [...movable, ...things];
  }
}

function among({ places, rows }: Samples, is: (place: Place) => boolean): Samples {
  const kept = places.map((place, at) => (is(place) ? at : -1)).filter((at) => at >= 0);
  return { places: kept.map((at) => places[at]), rows: rows.map((row) => kept.map((at) => row[at])) };
}

/** What the page's elements say, shown or not. */
function textsIn(window: PageWindow): string[] {
  return everyIn(window, ":not(script, style)")
    .filter((one) => one.childElementCount === 0)
    .map((one) => one.textContent ?? "");
}

/** Canvases that can be drawn on, the largest first. */
function canvasesOf(window: PageWindow): HTMLCanvasElement[] {
  return canvasesIn(window)
    .filter(({ width, height }) => width * height > 0)
    .sort((a, b) => b.width * b.height - a.width * a.height);
}

/** A hash of the largest canvas: of no use to an agent, but it shows that a key has an effect. */
function pictureOf(): Place {
  const small = new OffscreenCanvas(48, 36);
  const context = small.getContext("2d", { willReadFrequently: true }) as OffscreenCanvasRenderingContext2D;
  return {
    text: "picture",
    name: "picture",
    kind: "number",
    fields: [],
    isShown: true,
    read: (window) => {
      const [largest] = canvasesOf(window);
      if (largest === undefined) return hashed(0, window.document.body.innerHTML);
      context.clearRect(0, 0, 48, 36);
      context.drawImage(largest, 0, 0, 48, 36);
      let sum = 0;
      const { data } = context.getImageData(0, 0, 48, 36);
      for (let i = 0; i < data.length; i++) sum = (Math.imul(sum, 31) + data[i]) | 0;
      return sum;
    },
  };
}
