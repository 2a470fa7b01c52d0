/** What a supervisor reports of workers that can no longer speak for themselves. */

import type { GameFailed } from "@attract/schema";
import { type FailureReport, NOWHERE, UNKNOWN_STEP } from "../game/failures.ts";
import type { Vitals } from "./vitals.ts";

/** What is known of a worker from outside. */
export interface Watched {
  vitals: Vitals;
  instanceIds: readonly number[];
  /** The copy whose turn began last, if the worker announces turns. */
  turn: number | null;
  /** The script whose turn began since; null: none. */
  player: string | null;
  seed: GameFailed["seed"];
}

/** What the supervisor knows of a worker whose game does not come back. @param busy see `busyText`. */
export function hangReport(running: Watched, silenceSeconds: number, busy = ""): FailureReport {
  const { instanceIds, turn, player, seed, vitals } = running;
  const only = instanceIds.length === 1 ? instanceIds[0] : turn;
  const slots = only === null ? `one of the slots ${ranges(instanceIds)}` : `slot ${only}`;
  const who =
    player === null
      ? `the game does not return from create(), start() or update() in ${slots}`
      : `act() of ${player} does not return`;
  const text =
    `the worker was silent for ${Math.round(silenceSeconds)} s${busy}, after step ${vitals.steps} of lease ${vitals.leaseId}: ` +
    `${who}, or has used up the memory; a hang leaves no stack`;
  return {
    kind: "hang",
    name: "Hang",
    text,
    stack: null,
    ...UNKNOWN_STEP,
    ...NOWHERE,
    lease_id: vitals.leaseId,
    slot_id: only,
    instance_id: only,
    seed,
  };
}

/** "3 to 6, 9": the ids in runs. */
export function ranges(ids: readonly number[]): string {
  const sorted = [...ids].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let from = 0; from < sorted.length; ) {
    let to = from;
    while (to + 1 < sorted.length && sorted[to + 1] === sorted[to] + 1) to++;
    parts.push(from === to ? `${sorted[from]}` : `${sorted[from]} to ${sorted[to]}`);
    from = to + 1;
  }
  return parts.join(", ");
}

/** A worker that said nothing after its start. */
export function stillbornReport(): FailureReport {
  const text = "the worker did not begin: its process has ended, or a game beside it has used up the memory";
  return scriptFailure(text, "crash");
}

/** A worker whose script failed to load or threw outside of everything that catches. */
export function scriptFailure(text: string | undefined, kind: "load" | "crash"): FailureReport {
  const message = text === undefined || text === "" ? "the worker's script could not be loaded" : text;
  return { kind, name: "Error", text: message, stack: null, ...UNKNOWN_STEP, ...NOWHERE };
}
