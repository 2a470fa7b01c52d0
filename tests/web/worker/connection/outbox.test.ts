import { Outbox } from "@attract/worker/connection/outbox";
import type { BlockFrame } from "@attract/worker/rollout/block-writer";
import { describe, expect, test } from "vitest";

function frame(leaseId: number, segmentIndex: number, blockIndex: number, size = 10): BlockFrame {
  return { leaseId, segmentIndex, blockIndex, bytes: new Uint8Array(size) };
}

describe("C1: blocks under way", () => {
  test("C1: are kept until acknowledged, whichever order the acknowledgements come in", () => {
    const outbox = new Outbox();
    for (let i = 0; i < 3; i++) outbox.add(frame(1, i, i));
    expect(outbox.acknowledge(1, 1)).toBe(true);
    expect(outbox.acknowledge(1, 1)).toBeUndefined();
    expect(outbox.acknowledge(2, 0)).toBeUndefined();
    expect(outbox.resend().map(({ blockIndex }) => blockIndex)).toEqual([0, 2]);
    expect(outbox.acknowledge(1, 0)).toBe(false);
  });

  test("count their segments and bytes", () => {
    const outbox = new Outbox();
    outbox.add(frame(1, 0, 0, 100));
    outbox.add(frame(1, 0, 1, 50));
    outbox.add(frame(1, 1, 2, 25));
    outbox.add(frame(2, 0, 0, 5));
    expect([outbox.numSegments, outbox.bytes]).toEqual([3, 180]);
    outbox.acknowledge(1, 0);
    expect([outbox.numSegments, outbox.bytes]).toEqual([3, 80]);
    outbox.drop(1);
    expect([outbox.numSegments, outbox.bytes]).toEqual([1, 5]);
    outbox.clear();
    expect([outbox.numSegments, outbox.bytes]).toEqual([0, 0]);
  });
});
