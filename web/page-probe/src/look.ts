/** Looks at a page after some frames of given input: for `attract look`. */

import type { GameDefinition } from "attract/contract";
import { parameterDefaults, ticksPerStep } from "attract/define-game";
import type { PageAdapter, PageWindow } from "attract/page-adapter";
import type { DeviceName } from "../../page-clock/src/devices.gen.ts";
import { alerts } from "../../page-clock/src/dialogs.ts";
import type { LookEpisode, LookEval, LookInput, LookLine, PageLook } from "../../schema/src/api.gen.ts";
import { pagePlace } from "../../worker/src/game/game-stack.ts";
import { BusyWatch } from "../../worker/src/host/slowdown.ts";
import { watchPictures } from "../../worker/src/page/missed-pictures.ts";
import { isOver } from "../../worker/src/page/page-frame.ts";
import { isForTouch } from "./clicks.ts";
import { noteConsole } from "./console-lines.ts";
import { compiledNote, engineOf } from "./contracts.ts";
import { effectsOf, globalsSeen } from "./effects.ts";
import { type GivenInput, GivenInputs } from "./given-inputs.ts";
import { type Json, jsonOf, wordsOf } from "./json-value.ts";
import { valueIn } from "./page-expression.ts";
import { PageScripts } from "./page-scripts.ts";
import { attempt, type Place, type Root } from "./places.ts";
import { globalsOf, pristineNames, scriptsOf, variablesOf } from "./roots.ts";
import { beyondSeen, buttonsSeen, framesSeen, textsSeen, thingsSeen } from "./sights.ts";
import { contractsOf, statePlaces } from "./state.ts";
import { titleOf } from "./title.ts";
import { type Samples, Trial, type TrialOptions } from "./trial.ts";

/** Frames at which it is looked what there is to read: some of it comes and goes. */
const LOOKS = [0, 10, 30, 60, 150];
const MAX_SAMPLES = 60;
const MAX_STEPS = 400;
const MAX_NOTED = 100;
/** A frame that takes as long, and so many times as long as most, is seen to freeze. */
const FROZEN_MS = 300;
const FROZEN_TIMES = 20;
const MAX_FROZEN = 5;
const MAX_MISSES = 5;
/** Characters of a text that was asked for. */
const MAX_ANSWERED = 4_000;

declare global {
  interface Window {
    /** Of the browser's driver: takes a picture after that frame. */
    attractTake?(tick: number): Promise<void>;
  }
}

export interface LookOrder {
  /** Below the origin's root; null: `adapter` names it. */
  readonly page: string | null;
  readonly size: readonly [width: number, height: number];
  /** Address of an adapter as a module; null: none. */
  readonly adapter: string | null;
  readonly inputs: readonly GivenInput[];
  readonly frames: number;
  /** 32 bits. */
  readonly seed: number;
  /** Whether the pointer is a finger. */
  readonly touch: boolean;
  /** What a page without an adapter is on. */
  readonly device: DeviceName;
  /** An expression of the page, or a function of its window; null: none. */
  readonly expression: string | null;
  /** After so many milliseconds of comparing no further play is compared, more on a busy machine; not every frame of a picture is drawn. */
  readonly budgetMs: number;
  /** Frames after which a picture is taken while it is drawn. Default: none. */
  readonly moments?: readonly number[];
}

/** Raises Error when the page does not load, or goes to another address. */
export async function look(order: LookOrder): Promise<PageLook> {
  try {
    return await new Looking(order, await definitionOf(order.adapter)).run();
  } catch (error) {
    throw Trial.failure(error);
  }
}

/**
 * Leaves the page open after `order.frames` frames, drawn as in a browser.
 *
 * @returns a note where it drew the last of them alone; null: all. Raises as `look`.
 */
export async function draw(order: LookOrder): Promise<string | null> {
  try {
    return await new Looking(order, await definitionOf(order.adapter)).draw();
  } catch (error) {
    throw Trial.failure(error);
  }
}

async function definitionOf(address: string | null): Promise<GameDefinition | null> {
  if (address === null) return null;
  const { default: definition } = (await import(address)) as { default?: GameDefinition };
  if (definition?.page === undefined)
    throw new Error("this module is no adapter: it has no default export of definePageGame()");
  return definition;
}

/** Why a play with each frame drawn is given up. */
const SLOW = "it takes too long to draw";
/** Frames drawn where that is so: enough for what is drawn in turns, such as two buffers; of many moments two before each. */
const LAST_DRAWN = 8;
const MOMENT_DRAWN = 2;

/** What one play of the inputs brought. */
interface Play extends Followed {
  readonly samples: Samples;
}

interface Followed {
  readonly frames: number;
  readonly ended: string | null;
  /** Milliseconds that each frame took. */
  readonly times: readonly number[];
}

class Looking {
  readonly #order: LookOrder;
  readonly #definition: GameDefinition | null;
  readonly #adapter: PageAdapter | null;
  readonly #size: readonly [number, number];
  readonly #ticksPerStep: number;
  readonly #busy = new BusyWatch();
  readonly #every: number;
  readonly #pristine = pristineNames();
  readonly #lines: LookLine[] = [];
  readonly #errors: string[] = [];
  readonly #pageScripts = new PageScripts();
  #scripts: readonly string[] = [];
  #variables: Root[] = [];
  readonly #misses = new Set<string>();
  /** Milliseconds of each frame of the first play. */
  #times: readonly number[] = [];

  constructor(order: LookOrder, definition: GameDefinition | null) {
    this.#order = order;
    this.#definition = definition;
    this.#adapter = definition?.page ?? null;
    this.#size = this.#adapter?.size ?? order.size;
    this.#ticksPerStep =
      definition === null
        ? 1
        : ticksPerStep(definition.tickSeconds, definition.secondsPerStep ?? definition.tickSeconds);
    this.#every = Math.max(1, Math.ceil(order.frames / MAX_SAMPLES));
  }

  async run(): Promise<PageLook> {
    const { inputs } = this.#order;
    const places = await this.#survey();
    const trial = await this.#openNoted();
    const { window } = trial;
    const given = this.#given(inputs);
    const episode = this.#episode();
    const play = await this.#play(trial, given, places, episode);
    const engine = engineOf(window, this.#scripts);
    const seen = {
      // A page may have removed its own body, and have other things of its own by the names of a document's.
      title: wordsOf(attempt(() => titleOf(window)) ?? "the page"),
      engine,
      contracts: contractsOf(window, globalsOf(window, this.#pristine)).map((name) => wordsOf(name)),
      texts: attempt(() => textsSeen(window)) ?? [],
      buttons: attempt(() => buttonsSeen(window, trial.clickable)) ?? [],
      things: attempt(() => thingsSeen(window)) ?? [],
      alerts: alerts(window).map((text) => wordsOf(text)),
      eval: this.#evaluate(window),
      notes: [
        ...(attempt(() => this.#pageScripts.whyNone(window)) ?? []),
        ...trial.seen.unheld.of("script"),
        ...trial.seen.unheld.of("other"),
        ...(attempt(() => framesSeen(window)) ?? []),
        ...frozenIn(this.#times, play.times),
        ...[...this.#misses].map((text) => `draws nothing where ${text}`),
        ...(this.#adapter === null ? (attempt(() => beyondSeen(window)) ?? []) : []),
        ...(!this.#order.touch && this.#adapter === null && isForTouch(attempt(() => trial.listens) ?? [])
          ? ["listens to touch alone: --touch makes the pointer a finger"]
          : []),
        ...(this.#adapter === null ? [compiledNote(engine) ?? []].flat() : []),
      ].map((what) => wordsOf(what)),
    };
    for (const error of trial.seen.errors) this.#note(error);
    for (const error of trial.seen.written) this.#note(error);
    trial.close();
    const effects = await this.#effects(play.samples);
    return {
      ...seen,
      notes: seen.notes.slice(0, MAX_NOTED),
      size: [window.innerWidth, window.innerHeight] as [number, number],
      frames: play.frames,
      ended: play.ended,
      inputs: inputs.map((input): LookInput => {
        const problem = given.problems.get(input) ?? (input.from >= play.frames ? "it ended before" : null);
        const numMoved = effects.get(input.name)?.size ?? null;
        const { name, from, to } = input;
        return { name: wordsOf(name), first_frame: from, end_frame: to, problem, num_moved: numMoved };
      }),
      globals: globalsSeen(play.samples, effects),
      num_globals: places.length,
      console: this.#lines,
      errors: this.#errors.slice(0, MAX_NOTED),
      episode,
    };
  }

  /** All that can be read at several times of the play. */
  async #survey(): Promise<readonly Place[]> {
    const trial = await this.#open();
    const { window } = trial;
    this.#scripts = await scriptsOf(window);
    this.#variables = variablesOf(window, this.#scripts);
    const known = new Map<string, Place>();
    const { frames } = this.#order;
    const looks = new Set([...LOOKS, Math.round(frames / 2), frames]);
    const collect = (tick: number): null => {
      if (!looks.has(tick)) return null;
      for (const place of statePlaces(window, this.#pristine, this.#variables)) {
        const before = known.get(place.text);
        // A list shows its fields only while it has elements.
        const isEmpty = before?.kind === "list" && before.fields.length === 0;
        if (before === undefined || isEmpty) known.set(place.text, place);
      }
      return null;
    };
    this.#times = (await this.#follow(trial, this.#given(this.#order.inputs), collect)).times;
    trial.close();
    return [...known.values()];
  }

  #given(inputs: readonly GivenInput[]): GivenInputs {
    return new GivenInputs(inputs, this.#adapter, this.#ticksPerStep);
  }

  async #open(options: TrialOptions = {}): Promise<Trial> {
    const { page, seed } = this.#order;
    const [adapter, definition] = [this.#adapter, this.#definition];
    const probed = {
      page: adapter?.page ?? (page as string),
      size: this.#size,
      touch: this.#order.touch,
      device: this.#order.device,
      // As in a browser, where promises have their turn after each frame.
      turns: adapter?.turns ?? true,
    };
    if (adapter === null || definition === null) return await Trial.open(probed, seed, options);
    const { pixels } = adapter;
    const seesPixels = { webGl: pixels?.webGl ? "real" : "none", isSeen: true } as const;
    return await Trial.open(probed, seed, {
      ...options,
      adapter,
      parameters: parameterDefaults(definition),
      clock: { ...(pixels === undefined ? {} : seesPixels), ...options.clock },
    });
  }

  /** With what the page, and the adapter while it loads, write to their consoles. */
  async #openNoted(): Promise<Trial> {
    return await this.#noted(() =>
      this.#open({
        prepare: (window) => {
          this.#pageScripts.watch(window);
          noteConsole(window.console, "page", this.#lines);
          watchPictures(window, (text) => {
            if (this.#misses.size < MAX_MISSES) this.#misses.add(text);
          });
        },
      }),
    );
  }

  async #noted<T>(run: () => Promise<T>): Promise<T> {
    const end = this.#adapter === null ? null : noteConsole(console, "adapter", this.#lines);
    try {
      return await run();
    } finally {
      end?.();
    }
  }

  #note(error: unknown): void {
    const own = error as Partial<Error> | null | undefined;
    const said = typeof own?.message === "string" ? `${String(own.name)}: ${own.message}` : String(error);
    const place = pagePlace(attempt(() => own?.stack));
    const text = place === null ? wordsOf(said) : wordsOf(`${wordsOf(said)} (${place})`);
    if (!this.#errors.includes(text)) this.#errors.push(text);
  }

  /** The play that is reported, sampled. */
  async #play(
    trial: Trial,
    given: GivenInputs,
    places: readonly Place[],
    episode: LookEpisode | null,
  ): Promise<Play> {
    const rows: Samples["rows"] = [];
    const steps = new Steps(this.#adapter, trial, this.#ticksPerStep, episode);
    const followed = await this.#noted(() =>
      this.#follow(trial, given, (tick) => {
        if (tick % this.#every === 0 || tick === this.#order.frames) rows.push(trial.read(places));
        return steps.after(tick);
      }),
    );
    return { samples: { places, rows }, ...followed };
  }

  /**
   * Plays the inputs.
   *
   * @param after called before the first frame and after each; a text from it ends the play.
   */
  async #follow(
    trial: Trial,
    given: GivenInputs,
    after: (tick: number) => string | null | Promise<string | null>,
  ): Promise<Followed> {
    let tick = 0;
    const times: number[] = [];
    try {
      let ended = await after(0);
      while (tick < this.#order.frames && ended === null) {
        if (trial.isReloadDue) return { frames: tick, ended: "the page reloads itself", times };
        const now = tick;
        const began = performance.now();
        await trial.play((_, window) => given.press(now, window, trial.hands), 1, []);
        times.push(performance.now() - began);
        tick++;
        ended = await after(tick);
      }
      return { frames: tick, ended, times };
    } catch (error) {
      const own = trial.hands.explain(error);
      this.#note(own);
      const ended = `it threw: ${wordsOf((own as Error | undefined)?.message ?? own, 300)}`;
      return { frames: tick, ended, times };
    }
  }

  /** What each name of the inputs moves: the play is compared with one without them. */
  async #effects(play: Samples): Promise<Map<string, ReturnType<typeof effectsOf>>> {
    const { inputs, budgetMs } = this.#order;
    const effects = new Map<string, ReturnType<typeof effectsOf>>();
    const began = performance.now();
    for (const name of new Set(inputs.map((input) => input.name))) {
      const now = performance.now();
      const passed = now - began;
      if (passed > budgetMs && passed > budgetMs * this.#busy.factor(now)) break;
      const rows: Samples["rows"] = [];
      const trial = await this.#open();
      await this.#follow(trial, this.#given(inputs.filter((one) => one.name !== name)), (tick) => {
        if (tick % this.#every === 0 || tick === this.#order.frames) rows.push(trial.read(play.places));
        return null;
      });
      trial.close();
      effects.set(name, effectsOf(play, { places: play.places, rows }));
    }
    return effects;
  }

  /** See `draw`. */
  async draw(): Promise<string | null> {
    const { frames, budgetMs, inputs, moments = [] } = this.#order;
    const before = moments.length > 0 ? MOMENT_DRAWN : LAST_DRAWN;
    const isDrawn = (tick: number): boolean =>
      [...moments, frames].some((moment) => tick >= moment - before && tick < moment);
    const drawn = async (isWhole: boolean): Promise<{ trial: Trial; ended: string | null; ms: number }> => {
      const trial = await this.#open({ clock: { draws: isWhole, webGl: "real", isSeen: true } });
      let began = performance.now();
      const { frames: played, ended } = await this.#follow(trial, this.#given(inputs), async (tick) => {
        if (moments.includes(tick)) {
          const paused = performance.now();
          await window.attractTake?.(tick);
          began += performance.now() - paused;
        }
        if (!isWhole) trial.draw(isDrawn(tick));
        return isWhole && performance.now() - began > budgetMs ? SLOW : null;
      });
      return { trial, ended, ms: (performance.now() - began) / Math.max(1, played) };
    };
    const { trial, ended, ms } = await drawn(true);
    if (ended !== SLOW || frames <= LAST_DRAWN) return null;
    trial.close();
    await drawn(false);
    const which =
      moments.length > 0
        ? `the ${before} frames before each moment`
        : `the last ${before} of its ${frames} frames`;
    return `takes ${Math.round(ms)} ms a frame to draw here: the picture has only what ${which} drew`;
  }

  #episode(): LookEpisode | null {
    const [adapter, definition] = [this.#adapter, this.#definition];
    if (adapter === null || definition === null) return null;
    return {
      game_id: wordsOf(definition.id),
      actions: adapter.labels.map((label) => wordsOf(label)),
      ticks_per_step: this.#ticksPerStep,
      has_score: adapter.score !== undefined,
      steps: [],
      num_steps: 0,
    };
  }

  #evaluate(window: PageWindow): LookEval | null {
    const { expression } = this.#order;
    if (expression === null) return null;
    try {
      return { value: jsonOf(valueIn(window, expression), undefined, MAX_ANSWERED), error: null };
    } catch (error) {
      const { name, message } = (error ?? {}) as Partial<Error>;
      return { value: null, error: wordsOf(message === undefined ? error : `${name}: ${message}`) };
    }
  }
}

/** That the page stands still for some frames, in both plays: of one the machine may be the cause. */
function frozenIn(first: readonly number[], second: readonly number[]): string[] {
  const times = second.map((time, i) => Math.min(time, first[i] ?? 0));
  const middle = times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
  const frozen = times.flatMap((time, frame) =>
    time >= FROZEN_MS && time >= FROZEN_TIMES * middle ? [{ time, frame }] : [],
  );
  if (frozen.length === 0) return [];
  const named = frozen
    .slice(0, MAX_FROZEN)
    .map(({ time, frame }) => `${(time / 1000).toFixed(1)} s for frame ${frame}`);
  const more = frozen.length > MAX_FROZEN ? ` and ${frozen.length - MAX_FROZEN} more` : "";
  return [
    `freezes: it takes ${named.join(", ")}${more}, in each of two plays, and ${middle.toFixed(1)} ms for most`,
  ];
}

/** What an adapter says after each step. */
class Steps {
  readonly #adapter: PageAdapter | null;
  readonly #trial: Trial;
  readonly #ticksPerStep: number;
  readonly #episode: LookEpisode | null;
  #reward = 0;

  constructor(adapter: PageAdapter | null, trial: Trial, ticks: number, episode: LookEpisode | null) {
    this.#adapter = adapter;
    this.#trial = trial;
    this.#ticksPerStep = ticks;
    this.#episode = episode;
  }

  /** Reads them after frame `tick`; a text once the episode is over. */
  after(tick: number): string | null {
    const [adapter, episode] = [this.#adapter, this.#episode];
    if (adapter === null || episode === null) return null;
    const { window } = this.#trial;
    // A reward may be counted from call to call.
    const reward = tick === 0 ? 0 : adapter.reward?.(window);
    if (typeof reward === "number") this.#reward += reward;
    const over = adapter.over(window);
    const ended = tick > 0 && isOver(over);
    if (tick % this.#ticksPerStep !== 0 && !ended) return null;
    const score = adapter.score === undefined ? this.#reward : adapter.score(window);
    this.#reward = 0;
    episode.num_steps = Math.ceil(tick / this.#ticksPerStep);
    if (episode.steps.length < MAX_STEPS)
      episode.steps.push({
        step: episode.num_steps,
        frame: tick,
        observation: ended ? null : this.#observation(adapter),
        score: jsonOf(score),
        over: jsonOf(over),
        mask: ended ? null : jsonOf(adapter.allowed?.(window)),
      });
    return ended ? `the adapter says that it is over in step ${episode.num_steps}` : null;
  }

  #observation(adapter: PageAdapter): Json {
    const { pixels } = this.#trial.hands;
    const observed = jsonOf(adapter.observe?.(this.#trial.window));
    if (pixels === null) return observed;
    const shape = attempt(() => `${pixels.stacked.length} bytes of pixels`) ?? "pixels";
    return observed === null ? shape : [shape, observed];
  }
}
