/** The conformance kit: plays a game at random and says what would keep agents from learning it. */

import type { GameDefinition } from "attract/contract";
import { describe, type GameDescription } from "attract/description";
import { GameError } from "attract/errors";
import { stepValues } from "attract/failed-step";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { methodSource } from "attract/method-source";
import { drawActions, RandomPlayer } from "attract/random-play";
import { checkActions, type ModuleText } from "./action-check.ts";
import { Deadline, type Finding, type Report } from "./check-finding.ts";
import { type Meters, measureCreation, measureTicks, type TickCost } from "./cost.ts";
import { checkDeterminism } from "./determinism-check.ts";
import { drawOnce } from "./draw-check.ts";
import { ForbiddenCalls } from "./forbidden-globals.ts";
import { type OnlyPlay, type PlaySummary, playAtRandom } from "./play-check.ts";

export { CHECKS, type Finding } from "./check-finding.ts";

export interface GameReport {
  id: string;
  /** No finding is an error. */
  isTrainable: boolean;
  /** No new game could be played as far as the end of an episode or for some hundred steps: training would fail too. */
  isUnplayable: boolean;
  description: GameDescription | null;
  findings: Finding[];
  /** Measurements of random play; null if it failed. */
  play: PlayMeasurements | null;
}

export interface PlayMeasurements extends PlaySummary, TickCost {
  /** Duration of `create` and the first `start`. */
  createMilliseconds: number;
}

export interface CheckOptions extends Meters {
  /** Steps of random play; more are played if the time limit lies beyond. Default 10,000. */
  steps?: number;
  /** Roughly how long all of it may take. Default: as long as it takes. */
  budgetMilliseconds?: number;
  /** Text of the game's module. */
  module?: ModuleText;
  /** Being watched since before the module was loaded; default: watched from now on, and put back at the end. */
  calls?: ForbiddenCalls;
  /** Only play at random: nothing is judged, and `play` is measured over more episodes. */
  only?: OnlyPlay;
  /** Told each copy whose failures are reported, before its first start; `seed` is that of its streams. */
  onCopy?(instance: Instance, seed: number): void;
  /** Told what begins: if the game does not come back, that is where. */
  onPhase?(phase: string): void;
}

const MAX_STEPS = 200_000;
const MEASURED_STEPS = 20_000;
const PARAMETER_STEPS = 200;
/** Games that must all fail before a game is called unplayable, and how far each must get not to fail. */
const TRIED_GAMES = 4;
const TRIED_STEPS = 500;
/** A worker has up to so many copies. */
const COPIES = 64;
const SLOW_CREATE_MS = 30;
const SLOW_STEP_MS = 1;

/** Everything found out about `definition`; never throws because of the game. */
export async function checkGame(definition: GameDefinition, options: CheckOptions): Promise<GameReport> {
  const calls = options.calls ?? new ForbiddenCalls(options.module?.name);
  if (options.calls === undefined) calls.watch();
  try {
    return await new GameCheck(definition, options, calls).run();
  } finally {
    if (options.calls === undefined) calls.restore();
  }
}

/** One check; used once. */
class GameCheck {
  readonly #definition: GameDefinition;
  readonly #options: CheckOptions;
  readonly #calls: ForbiddenCalls;
  readonly #findings: Finding[] = [];
  readonly #report: Report = (finding) => this.#findings.push({ stack: null, method: null, ...finding });
  #isUnplayable = false;

  constructor(definition: GameDefinition, options: CheckOptions, calls: ForbiddenCalls) {
    this.#definition = definition;
    this.#options = options;
    this.#calls = calls;
  }

  async run(): Promise<GameReport> {
    const { now, budgetMilliseconds = Number.POSITIVE_INFINITY } = this.#options;
    const deadline = new Deadline(now, now() + budgetMilliseconds);
    let description: GameDescription | null = null;
    let play: PlayMeasurements | null = null;
    this.#phase("create()");
    try {
      description = describe(this.#definition);
      play = await this.#play(description, deadline);
    } catch (error) {
      const isGames = error instanceof GameError;
      const id = description === null && !isGames ? "definition" : "contract";
      this.#isUnplayable = description === null || this.#isUnplayable;
      // The failed step may have been reported already.
      if (!this.#findings.some((finding) => finding.id === "contract")) this.#reportError(id, error);
    }
    const findings = [...this.#findings, ...this.#calls.findings()];
    return {
      id: typeof this.#definition?.id === "string" ? this.#definition.id : "",
      isTrainable: findings.every(({ severity }) => severity !== "error"),
      isUnplayable: this.#isUnplayable,
      description,
      findings,
      play,
    };
  }

  /** Skips phases for which no time is left: for a slow game the report of its speed is enough. */
  async #play(description: GameDescription, deadline: Deadline): Promise<PlayMeasurements> {
    const definition = this.#definition;
    if (this.#options.only !== undefined) {
      const played = await this.#playAtRandom(description, deadline);
      return { ...played, microsecondsPerTick: 0, bytesPerTick: null, createMilliseconds: 0 };
    }
    const summary = await this.#playAtRandom(description, deadline.share(0.3));
    this.#phase("a measurement of its speed");
    const costs = this.#measure(summary, deadline.share(0.2));
    if (!deadline.isOver) {
      this.#phase("a repetition of the same play");
      const causes = (): string[] => [...this.#calls.counts.keys()];
      await checkDeterminism(definition, this.#report, deadline.share(0.4), causes);
    }
    if (!deadline.isOver) {
      this.#phase("the same moment with every action");
      const rewind = (): void => this.#calls.rewind();
      checkActions(definition, this.#report, deadline.share(0.7), this.#options.module ?? null, rewind);
    }
    this.#phase("the ends of its parameters");
    this.#checkParameters(deadline);
    this.#phase("draw()");
    if (description.has_draw && !deadline.isOver) drawOnce(definition, this.#report, deadline);
    if (!description.has_draw) {
      const text = "there is no draw(): the game cannot be watched or played by hand";
      const fix = "give the game a draw(context, width, height)";
      this.#report({ id: "no-draw", severity: "warning", text, fix });
    }
    return { ...summary, ...costs };
  }

  async #playAtRandom(description: GameDescription, deadline: Deadline): Promise<PlaySummary> {
    this.#phase("create()");
    const instance = this.#watched(1);
    const { step } = instance;
    let lastAction: unknown = null;
    instance.step = (action) => {
      lastAction = action;
      step.call(instance, action);
    };
    const { only } = this.#options;
    const wanted = Math.max(this.#options.steps ?? 10_000, (description.max_steps ?? 0) + 1);
    const steps = only === undefined ? Math.min(MAX_STEPS, wanted) : Number.POSITIVE_INFINITY;
    this.#phase("random play");
    try {
      return await playAtRandom(this.#definition, description, instance, steps, this.#report, deadline, only);
    } catch (error) {
      this.#isUnplayable = this.#failsAgain();
      if (error instanceof GameError) {
        const values = stepValues(this.#definition, instance, error.method, lastAction);
        const when =
          error.method === "update"
            ? ` (tick ${instance.episodeTicks + 1} of episode ${instance.episode})`
            : "";
        this.#reportError("contract", error, `${when}${values === "" ? "" : `; ${values}`}`, instance.game);
      }
      throw error;
    }
  }

  /** Whether every one of some new games fails early. */
  #failsAgain(): boolean {
    for (let number = 0; number < TRIED_GAMES; number++) {
      try {
        const instance = createInstance(this.#definition, { seedLow: 10 + number });
        const player = new RandomPlayer(this.#definition.action, 10 + number);
        instance.start(0);
        for (let step = 0; step < TRIED_STEPS && !instance.episodeOver; step++) {
          instance.step(drawActions(instance, player));
        }
        return false;
      } catch {}
    }
    return true;
  }

  /** Every declared parameter at both ends of its range. */
  #checkParameters(deadline: Deadline): void {
    const definition = this.#definition;
    for (const [name, range] of Object.entries(definition.parameters ?? {})) {
      for (const value of [range.low, range.high]) {
        if (deadline.isOver) return;
        const instance = this.#watched(4);
        const player = new RandomPlayer(definition.action, 4);
        try {
          instance.start(0, { [name]: value });
          for (let step = 0; step < PARAMETER_STEPS && !instance.episodeOver && !deadline.isOver; step++) {
            instance.step(drawActions(instance, player));
          }
        } catch (error) {
          const fix = "fix the game for this value, or declare a narrower range";
          const stack = error instanceof Error ? (error.stack ?? null) : null;
          const text = `with ${name} = ${value}: ${textOf(error)}`;
          this.#report({ id: "parameter", severity: "error", text, fix, stack, thrown: error });
        }
      }
    }
  }

  #measure(summary: PlaySummary, deadline: Deadline): TickCost & { createMilliseconds: number } {
    const createMilliseconds = measureCreation(this.#definition, this.#options, deadline);
    const steps = Math.min(summary.steps, MEASURED_STEPS);
    const cost = measureTicks(this.#definition, steps, this.#options, deadline);
    if (createMilliseconds > SLOW_CREATE_MS) {
      const all = (COPIES * createMilliseconds) / 1000;
      this.#report({
        id: "slow-create",
        severity: "warning",
        text:
          `create() and the first start() take ${short(createMilliseconds)} ms: ` +
          `a worker of ${COPIES} copies needs ${short(all)} s before its first step`,
        fix: "create large tables once, outside the game object, and share them; or use fewer copies with --instances",
        method: methodSource(createInstance(this.#definition).game, "start"),
      });
    }
    const stepMilliseconds = (cost.microsecondsPerTick * summary.ticks) / Math.max(1, summary.steps) / 1000;
    if (stepMilliseconds > SLOW_STEP_MS) {
      this.#report({
        id: "slow-step",
        severity: "warning",
        text:
          `a step takes ${short(stepMilliseconds)} ms: a worker plays ${short(1000 / stepMilliseconds)} steps a second, ` +
          `100,000 steps take ${short((100 * stepMilliseconds) / 60)} minutes`,
        fix: "look for allocations and searches that update() repeats in every tick",
        method: methodSource(createInstance(this.#definition).game, "update"),
      });
    }
    return { ...cost, createMilliseconds };
  }

  #reportError(id: "definition" | "contract", error: unknown, more = "", game: unknown = null): void {
    const isThrown = !(error instanceof GameError) || error.kind === "throw";
    this.#report({
      id,
      severity: "error",
      text: `${textOf(error)}${more}`,
      fix:
        id === "definition"
          ? "correct the options of defineGame()"
          : "fix the game: failed episodes are discarded",
      stack: isThrown && error instanceof Error ? (error.stack ?? null) : null,
      method:
        error instanceof GameError && game !== null ? methodSource(game, error.method, error.field) : null,
      thrown: error,
    });
  }

  #watched(seed: number): Instance {
    const instance = createInstance(this.#definition, { seedLow: seed });
    this.#options.onCopy?.(instance, seed);
    return instance;
  }

  #phase(phase: string): void {
    this.#options.onPhase?.(phase);
  }
}

function short(value: number): string {
  return String(Number(value.toPrecision(2)));
}

function textOf(error: unknown): string {
  if (error instanceof GameError) return error.message;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
