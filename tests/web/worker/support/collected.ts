/** What a loop hands out, kept and decoded. */

import { type Block, decodeFromBrowser, float32View } from "@attract/schema";
import type { FailureReport } from "@attract/worker/game/failures";
import type { BlockFrame } from "@attract/worker/rollout/block-writer";

export function collect() {
  const frames: BlockFrame[] = [];
  const reports: FailureReport[] = [];
  return {
    frames,
    reports,
    emit: (frame: BlockFrame) => frames.push(frame),
    failed: (report: FailureReport) => reports.push(report),
    blocks: () => frames.map((frame) => decodeFromBrowser(frame.bytes) as Block),
  };
}

/** Rows of a [rows, k] tensor of bytes. */
export function byteRows(tensor: { shape: readonly number[]; data: Uint8Array }): number[][] {
  return rows([...tensor.data], tensor.shape[1]);
}

/** Rows of a [rows, k, ...] float32 tensor. */
export function floatRows(tensor: Parameters<typeof float32View>[0]): number[][] {
  return rows(
    [...float32View(tensor)],
    tensor.shape.slice(1).reduce((product, n) => product * n, 1),
  );
}

function rows(numbers: number[], width: number): number[][] {
  return Array.from({ length: numbers.length / width }, (_, t) => numbers.slice(t * width, (t + 1) * width));
}
