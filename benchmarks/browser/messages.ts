/** What the benchmark's page and its workers tell each other. */

import type { PolicyDocument } from "@attract/play";

/** Which part of collection is timed; see `Bench.measure`. */
export type Part = "rollout" | "inference" | "tick" | "player";

export interface Setup {
  /** Address of a built game module, or `WIDE` for the benchmark's own. */
  game: string;
  /** The policy as ONNX, in base64. */
  onnx: string;
  /** Its `policy.json`, for the part `player`. */
  document: PolicyDocument | null;
  numInstances: number;
  /** Steps per segment. */
  horizon: number;
  /** Segments per lease. */
  numSegments: number;
  /** Largest frame, as the server asks its own machine's workers for. */
  maxFrameBytes: number;
}

export type Order =
  | { kind: "describe"; game: string }
  | { kind: "prepare"; setup: Setup }
  | { kind: "measure"; part: Part; seconds: number };

/** Agent steps done in a stretch of time. */
export interface Measured {
  steps: number;
  seconds: number;
  /** Size of the blocks encoded meanwhile. */
  bytes: number;
}

/** To one order; `error` in place of the result when it failed. */
export interface Answer {
  result?: unknown;
  error?: string;
}

/** Stands for the game of 64 numbers, which no one plays. */
export const WIDE = "wide";
