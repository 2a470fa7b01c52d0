/** A host's status in words, for someone who was only asked to open a link. */

import type { HostStatus } from "@attract/worker";

export interface StatusText {
  state: string;
  tone: "starting" | "connected" | "failed" | "left";
  error: string | null;
}

export function describeStatus(status: HostStatus): StatusText {
  const { error } = status;
  if (status.ended) return { state: "Ended", tone: "failed", error };
  if (!status.connected) return { state: "Connecting", tone: "starting", error };
  if (status.runId === null)
    return { state: "Connected. Waiting for a run to start", tone: "connected", error };
  if (status.numWorkers === 0) return { state: "Connected. Getting ready", tone: "connected", error };
  return { state: `Playing for ${status.runId}`, tone: "connected", error };
}
