/** What page, supervisor and rollout workers of one host tell each other. */

import type { GameDescription, GameReference, WelcomeHost } from "@attract/schema";
import type { FailureReport } from "../game/failures.ts";
import type { ThreadRole } from "../game/game-thread.ts";

/** Who and where this host is; given by the page to its supervisor, and never to a worker, in which a game runs. */
export interface HostIdentity {
  /** The page's base URL: every URL derives from it. */
  base: string;
  token: string;
  hostId: string;
  build: string;
  userAgent: string;
  hardwareConcurrency: number;
}

export type PageToSupervisor =
  | { type: "start"; identity: HostIdentity; maxWorkers: number }
  | { type: "set_max_workers"; maxWorkers: number }
  | { type: "hidden"; hidden: boolean }
  | { type: "stop" };

export type SupervisorToPage =
  | { type: "status"; status: HostStatus }
  | { type: "reload"; reason: string }
  | { type: "stopped" }
  /** Make a sandbox with a thread in it; its two ports come along. */
  | { type: "open_sandbox"; id: number; role: ThreadRole; page: GameReference | null }
  | { type: "close_sandbox"; id: number };

/** Events of the socket that the supervisor holds for a worker. */
export type RelayToRollout =
  /** The greeting is sent. */
  | { type: "opened" }
  | { type: "received"; bytes: Uint8Array<ArrayBuffer> }
  | { type: "closed"; code: number; reason: string };

export type RolloutToRelay =
  | { type: "connect"; delayMs: number }
  | { type: "send"; bytes: Uint8Array<ArrayBuffer> }
  | { type: "disconnect" };

export type SupervisorToRollout =
  | {
      type: "start";
      runId: string;
      workerIndex: number;
      /** The worker before this one hung: say before each game's turn whose it is, for a while. */
      careful: boolean;
    }
  | { type: "describe" }
  /** Answers `engine_needed`: the inference engine's WebAssembly. */
  | { type: "engine"; engine: Blob }
  | { type: "stop" }
  | RelayToRollout;

export type RolloutToSupervisor =
  /** At most every 250 ms; `leaseId` null while there is nothing to play. */
  | { type: "heartbeat"; leaseId: number | null; steps: number; agentSteps: number }
  /** The worker is admitted: what a report of a hang must name. */
  | { type: "admitted"; instanceIds: readonly number[]; seed: { low: number; high: number } }
  /** Sent by a careful worker: this instance's turn begins, or that of a script that plays. */
  | { type: "turn"; instanceId: number }
  | { type: "script_turn"; player: string }
  | { type: "described"; description: GameDescription }
  | { type: "describe_failed"; report: FailureReport }
  /** The small player cannot play a policy, and the thread began without the inference engine. */
  | { type: "engine_needed" }
  | { type: "reload"; reason: string }
  /** The worker is done; `error` null when that is as it should be. It is not started again. */
  | { type: "ended"; error: string | null }
  /** Something of ours broke: the worker may be started again. */
  | { type: "crashed"; report: FailureReport }
  | RolloutToRelay;

/** One worker as the page shows it. */
export interface WorkerStatus {
  index: number;
  leaseId: number | null;
  /** Agent steps per second over the last seconds. */
  stepsPerSecond: number;
}

/** The host as the page shows it; a new object at each change. */
export interface HostStatus {
  connected: boolean;
  tier: WelcomeHost["tier"] | null;
  /** The run it works for, null for none. */
  runId: string | null;
  /** Name of that run's game. */
  game: string | null;
  numWorkers: number;
  workers: WorkerStatus[];
  stepsPerSecond: number;
  /** The last thing that went wrong, in a sentence. */
  error: string | null;
  /** The host has ended and will not connect again by itself. */
  ended: boolean;
}
