/** Entry of the supervisor worker. */

import { HostSupervisor } from "./host-supervisor.ts";
import type { PageToSupervisor } from "./worker-messages.ts";

const scope = self as unknown as DedicatedWorkerGlobalScope;
let supervisor: HostSupervisor | null = null;

/** Works on plain http too, where `crypto.randomUUID` does not exist. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

scope.onmessage = (event: MessageEvent<PageToSupervisor>) => {
  const message = event.data;
  switch (message.type) {
    case "start":
      supervisor = new HostSupervisor({
        identity: message.identity,
        maxWorkers: message.maxWorkers,
        post: (news) => scope.postMessage(news),
        createWorker: () =>
          new Worker(new URL("./rollout.ts", import.meta.url), { type: "module", name: "rollout" }),
        createCheckWorker: () =>
          new Worker(new URL("./check-worker.ts", import.meta.url), { type: "module", name: "check" }),
        randomKey,
      });
      break;
    case "set_max_workers":
      supervisor?.setMaxWorkers(message.maxWorkers);
      break;
    case "hidden":
      supervisor?.setHidden(message.hidden);
      break;
    case "stop":
      supervisor?.stop();
      break;
  }
};
