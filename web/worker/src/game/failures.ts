/** What a worker says of a game that broke, and when it gives the game up. */

import type { EpisodeError, GameFailed } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { type GameMethod, hintFor } from "attract/errors";
import { stepValues } from "attract/failed-step";
import type { Instance } from "attract/instance";
import { methodSource } from "attract/method-source";

/** Different failures of which a worker sends the episode. */
const MAX_RECORDED = 32;
/** This many failures of one kind ... */
export const MAX_FAILURES = 10;
/** ... without this many good steps between two of them end the worker. */
export const GOOD_STEPS_BETWEEN = 1000;

export type FailureKind = GameFailed["kind"];

/** Where and when it happened; null where that is not known. */
export interface FailurePlace {
  lease_id: number | null;
  slot_id: number | null;
  instance_id: number | null;
  episode: number | null;
  tick: number | null;
  seed: GameFailed["seed"];
}

export const NOWHERE: FailurePlace = {
  lease_id: null,
  slot_id: null,
  instance_id: null,
  episode: null,
  tick: null,
  seed: null,
};

/** For failures that are not failures of a game's step. */
export const UNKNOWN_STEP: Pick<GameFailed, "method" | "step_values" | "recorded"> = {
  method: null,
  step_values: null,
  recorded: null,
};

type Giving = "repeated" | "worker_lost";

export type FailureReport = Omit<GameFailed, "type" | "run_id" | "worker_index" | Giving> &
  Partial<Pick<GameFailed, Giving>>;

/** A worker's or host's message of a failure. */
export function gameFailed(runId: string, workerIndex: number | null, report: FailureReport): GameFailed {
  const base = { type: "game_failed", run_id: runId, worker_index: workerIndex } as const;
  return { ...base, repeated: 0, worker_lost: false, ...report };
}

/** The game fails again and again: nothing is gained by going on. */
export class FatalGameError extends Error {
  override readonly name = "FatalGameError";
  /** The last failure, reported as the one that ended the worker. */
  readonly report: FailureReport;

  constructor(count: number, last: FailureReport) {
    super(`the game failed ${count} times (${last.kind}), the last time with: ${last.text}`);
    this.report = { ...last, repeated: count };
  }
}

/** The copy that failed, as far as there was one, and what it was given. */
export interface FailedGame {
  definition: GameDefinition;
  instance: Instance | undefined;
  action: unknown;
}

/** Whether this was thrown by a game or by the checks on what it returned, and not by a mistake of ours. */
export function isGameError(
  error: unknown,
): error is Error & { kind: string; method: GameMethod; field: string } {
  return error instanceof Error && error.name === "GameError" && "kind" in error;
}

/** A readable report of `error`. A hang or an unknown error is reported as it is. */
export function reportOf(
  error: unknown,
  place: FailurePlace,
  kind?: FailureKind,
  failed?: FailedGame,
): FailureReport {
  const isError = error instanceof Error;
  const cause = isError && error.cause instanceof Error ? error.cause : error;
  const isContract = isGameError(error) && error.kind !== "throw";
  const hint = isGameError(error) ? "" : hintFor(error);
  return {
    kind: kind ?? wireKind(error),
    name: cause instanceof Error ? cause.name : "Error",
    text: clip(`${isError ? error.message : String(error)}${hint === "" ? "" : `; ${hint}`}`),
    // Where the game threw nothing the stack is that of our own checks.
    stack: isError && error.stack !== undefined && !isContract ? clip(error.stack) : null,
    ...failedStep(error, failed),
    ...place,
  };
}

/**
 * A game's error in the step that `instance` is in, or in its start, as a recorded episode has it. Throws any other error again.
 */
export function episodeError(error: unknown, instance: Instance): EpisodeError {
  if (!isGameError(error)) throw error;
  const { kind, name, text, stack } = reportOf(error, NOWHERE);
  return { kind, name, text, stack, tick: instance.currentTick };
}

function failedStep(
  error: unknown,
  failed: FailedGame | undefined,
): Pick<FailureReport, "method" | "step_values" | "recorded"> {
  if (!isGameError(error) || failed === undefined) return UNKNOWN_STEP;
  const { definition, instance, action } = failed;
  const values = instance === undefined ? "" : stepValues(definition, instance, error.method, action);
  return {
    method: methodSource(instance?.game, error.method, error.field),
    step_values: values === "" ? null : values,
    recorded: null,
  };
}

function wireKind(error: unknown): FailureKind {
  if (!isGameError(error)) return "crash";
  return error.kind === "throw" || error.kind === "shape" || error.kind === "nan" ? error.kind : "invalid";
}

function clip(text: string): string {
  return text.length > 10_000 ? `${text.slice(0, 10_000)}...` : text;
}

/** Reports failures and counts them by kind. Owned by the player of the games. */
export class FailureLimit {
  readonly #report: (report: FailureReport) => void;
  readonly #goodSteps: () => number;
  readonly #counts = new Map<FailureKind, number>();
  readonly #stepsAtLast = new Map<FailureKind, number>();
  readonly #seen = new Set<string>();

  /** @param goodSteps gives all agent steps that went well so far. */
  constructor(report: (report: FailureReport) => void, goodSteps: () => number) {
    this.#report = report;
    this.#goodSteps = goodSteps;
  }

  /** Whether no failure like this one was reported: texts that differ in numbers alone are alike. */
  isFirst({ kind, name, text }: FailureReport): boolean {
    const key = `${kind} ${name} ${text.replaceAll(/\d+/g, "#")}`;
    if (this.#seen.has(key) || this.#seen.size >= MAX_RECORDED) return false;
    this.#seen.add(key);
    return true;
  }

  /** @throws FatalGameError at the tenth in a row. */
  count(report: FailureReport): void {
    this.#report(report);
    const goodSteps = this.#goodSteps();
    const last = this.#stepsAtLast.get(report.kind) ?? goodSteps;
    const isNewRow = goodSteps - last >= GOOD_STEPS_BETWEEN;
    const count = isNewRow ? 1 : (this.#counts.get(report.kind) ?? 0) + 1;
    this.#counts.set(report.kind, count);
    this.#stepsAtLast.set(report.kind, goodSteps);
    if (count >= MAX_FAILURES) {
      throw new FatalGameError(count, report);
    }
  }
}
