/** What a page imports. Playing a policy on the page: `@attract/worker/policy-session`, which brings the inference engine. */

export { type HostHandle, type HostOptions, startHost } from "./host/host.ts";
export type { HostStatus, WorkerStatus } from "./host/worker-messages.ts";
