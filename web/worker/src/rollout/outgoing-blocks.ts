/** The blocks that are sent for a lease's segments: per policy, the columns of the seats that learn it (rule E9). */

import { type Lease, type RolloutClose, tensorOf } from "@attract/schema";
import type { Policy } from "../policy/policy.ts";
import type { BlockFrame, BlockIdentity, BlockWriter } from "./block-writer.ts";
import type { ControllerGroup } from "./controllers.ts";
import type { DeflateChoice } from "./deflate-choice.ts";
import type { SegmentRecorder } from "./recorder.ts";

/** The columns that are sent under one policy. */
interface PolicyColumns {
  policy: Policy;
  /** In ascending order. */
  columns: Int32Array;
}

/** Sends the blocks of one lease; in a warm-up, every seat's columns. */
export class OutgoingBlocks {
  /** By game in turn, the first agent whose segments are sent: results of its episodes travel with them. */
  readonly #reporting: readonly number[];
  /** Blocks of the lease so far. */
  numBlocks: number;
  readonly #lease: Lease;
  readonly #byPolicy: readonly PolicyColumns[];

  /** @param numBlocks those of the lease before its first segment here. */
  constructor(lease: Lease, groups: readonly ControllerGroup[], numAgents: number, numBlocks: number) {
    const isSent = lease.seats.map((seat) => seat.learns || lease.purpose === "warmup");
    this.#reporting = Array.from({ length: isSent.length / numAgents }, (_, game) =>
      Math.max(0, isSent.slice(game * numAgents, (game + 1) * numAgents).indexOf(true)),
    );
    this.numBlocks = numBlocks;
    this.#lease = lease;
    this.#byPolicy = groups
      .map(({ policy, slots }) => ({ policy, columns: slots.filter((slot) => isSent[slot % isSent.length]) }))
      .filter(({ columns }) => columns.length > 0);
  }

  /** The agent with whose segments the results of instance `i` travel. */
  reportingAgent(i: number): number {
    return this.#reporting[i % this.#reporting.length];
  }

  /** Hands `emit` the blocks of the segment that `writer` reads. */
  write(writer: BlockWriter, segmentIndex: number, emit: (frame: BlockFrame) => void): void {
    for (const { columns, policy } of this.#byPolicy) {
      const identity = this.#identity(policy, segmentIndex);
      this.numBlocks = writer.write(identity, this.numBlocks, emit, columns);
    }
  }

  /** As `write`, with pictures deflated, or tried, as `choice` says. */
  async writeDeflated(
    writer: BlockWriter,
    segmentIndex: number,
    emit: (frame: BlockFrame) => void,
    choice: DeflateChoice,
    now: () => number,
  ): Promise<void> {
    for (const { columns, policy } of this.#byPolicy) {
      const identity = this.#identity(policy, segmentIndex);
      this.numBlocks = await writer.writeDeflated(identity, this.numBlocks, emit, choice, now, columns);
    }
  }

  /** The lease's close without its times: every slot that was sent, with the bootstrap value of its last segment. */
  close({ slotIds, bootstrapValues }: Pick<SegmentRecorder, "slotIds" | "bootstrapValues">) {
    const columns = this.#columns();
    return rolloutClose(
      this.#lease,
      this.numBlocks,
      Int32Array.from(columns, (column) => slotIds[column]),
      Float32Array.from(columns, (column) => bootstrapValues[column]),
    );
  }

  #identity({ policyId, policyVersion }: Policy, segmentIndex: number): BlockIdentity {
    const { run_id: runId, lease_id: leaseId } = this.#lease;
    return { runId, leaseId, segmentIndex, policyId, policyVersion };
  }

  /** Columns of all policies, in ascending order. */
  #columns(): Int32Array {
    if (this.#byPolicy.length === 1) return this.#byPolicy[0].columns;
    return Int32Array.from(this.#byPolicy.flatMap(({ columns }) => [...columns])).sort();
  }
}

/** The close of a lease after `numBlocks` blocks, without its times. */
export function rolloutClose(
  lease: Lease,
  numBlocks: number,
  slotIds: Int32Array<ArrayBuffer>,
  bootstrapValues: Float32Array<ArrayBuffer>,
): Omit<RolloutClose, "play_seconds" | "inference_seconds" | "game_seconds" | "wait_seconds"> {
  return {
    type: "rollout_close",
    run_id: lease.run_id,
    lease_id: lease.lease_id,
    num_blocks: numBlocks,
    slot_id: tensorOf(slotIds, [slotIds.length]),
    bootstrap_value: tensorOf(bootstrapValues, [bootstrapValues.length]),
  };
}
