/** Plays segments that another worker says it played, again from its seed and its actions (rules C5, C10). */

import { float32View, int32View, type Lease, type ReplayOrder, type RolloutClose } from "@attract/schema";
import { isGameError } from "../game/failures.ts";
import { RandomPolicy } from "../policy/policy.ts";
import type { LoopOptions } from "./loop-options.ts";
import { rolloutClose } from "./outgoing-blocks.ts";
import { RolloutLoop } from "./rollout-loop.ts";

export interface ReplayOptions
  extends Pick<LoopOptions, "definition" | "preloaded" | "seat" | "yieldTurn" | "now" | "emit"> {
  /** Whether to stop early; asked at each turn of the event loop. */
  isVoid(): boolean;
  /** Told the steps played so far. */
  progressed(steps: number): void;
}

/**
 * Answers each order of a `replay` lease with the block that its segment gives, and the lease with its close; null if it was
 * voided. The games are stepped by the rollout loop itself, each on a fresh copy, so that whatever differs was played otherwise.
 * Log-probabilities, values and recurrent states are zeros: no policy is asked. A game that cannot be played at all gives no block.
 */
export async function replay(lease: Lease, options: ReplayOptions): Promise<RolloutClose | null> {
  const started = options.now();
  let numBlocks = 0;
  let steps = 0;
  for (const [segmentIndex, order] of lease.replays.entries()) {
    if (options.isVoid()) return null;
    const loop = new RolloutLoop({
      definition: options.definition,
      preloaded: options.preloaded,
      seat: { ...options.seat, instance_ids: [order.instance_id] },
      now: options.now,
      yieldTurn: async () => {
        options.progressed(steps + loop.leaseSteps);
        await options.yieldTurn();
        if (options.isVoid()) loop.voidLease(lease.lease_id);
      },
      emit: (frame) => {
        numBlocks = frame.blockIndex + 1;
        options.emit(frame);
      },
      // It failed for who played it too, or the blocks differ: no news of the game.
      failed: () => undefined,
      gate: () => null,
      announce: null,
      script: { order, actions: actionsOf(order), segmentIndex, firstBlock: numBlocks },
    });
    const { policy_id: policyId, policy_version: policyVersion } = lease.seats[0];
    const policy = new RandomPolicy(policyId, policyVersion, lease.seats.length, options.seat.state_size);
    const { lesson_id, parameters } = order.begun;
    try {
      await loop.play({ ...lease, num_segments: 1, lesson_id, parameters }, policy);
    } catch (error) {
      if (!isGameFault(error)) throw error;
    } finally {
      loop.close();
    }
    steps += loop.leaseSteps;
    options.progressed(steps);
  }
  if (options.isVoid()) return null;
  return {
    ...rolloutClose(lease, numBlocks, new Int32Array(0), new Float32Array(0)),
    play_seconds: (options.now() - started) / 1000,
    inference_seconds: 0,
    game_seconds: 0,
    wait_seconds: 0,
  };
}

function actionsOf(order: ReplayOrder): ArrayLike<number> {
  return order.action.dtype === "float32" ? float32View(order.action) : int32View(order.action);
}

/** Whether the game gave up, or was given parameters that it does not take. */
function isGameFault(error: unknown): boolean {
  return isGameError(error) || (error instanceof Error && error.name === "FatalGameError");
}
