import { cdp } from "vitest/browser";

interface ProfileNode {
  selfSize: number;
  children: ProfileNode[];
}

/** Bytes of all objects made while `run` runs, also of those that were collected since, as V8 samples them. */
export async function allocatedBytes(run: () => Promise<unknown>): Promise<number> {
  const session = cdp() as unknown as {
    send(method: string, params?: object): Promise<{ profile: { head: ProfileNode } }>;
  };
  const collected = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
  await session.send("HeapProfiler.startSampling", { samplingInterval: 512, ...collected });
  await run();
  const { profile } = await session.send("HeapProfiler.stopSampling");
  const sum = (node: ProfileNode): number =>
    node.children.reduce((total, child) => total + sum(child), node.selfSize);
  return sum(profile.head);
}
