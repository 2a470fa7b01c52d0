/** Bytes of live objects in this thread, where its browser was started so that it tells (`launch_switches` of the server). */

import type { HeapMeter } from "./drill-options.ts";

/** What V8's flags `--expose-gc` and `--expose-statistics` add, in documents and in workers. */
interface Exposed {
  gc?: (options: { type: "major"; execution: "async" }) => unknown;
  getV8Statistics?: () => Readonly<Record<string, number>>;
}

/** Null: this browser does not tell. */
export function heapMeter(thread: object = globalThis): HeapMeter | null {
  const { gc, getV8Statistics } = thread as Exposed;
  if (gc === undefined || getV8Statistics === undefined) return null;
  return async () => {
    // Without a stack, so that nothing on it counts as used; twice, since what is finalised first holds other things.
    await gc({ type: "major", execution: "async" });
    await gc({ type: "major", execution: "async" });
    return liveBytes(getV8Statistics());
  };
}

function liveBytes(statistics: Readonly<Record<string, number>>): number {
  let sum = statistics.amount_of_external_allocated_memory ?? 0;
  for (const [name, value] of Object.entries(statistics)) if (name.endsWith("_live_bytes")) sum += value;
  return sum;
}
