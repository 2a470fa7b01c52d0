/** Entry of a rollout worker: plays for the server, or only loads a game and says what it is. */

import { describe } from "attract/description";
import { NOWHERE, reportOf } from "./failures.ts";
import { loadGame } from "./load-game.ts";
import { RolloutWorker } from "./rollout-worker.ts";
import type { RolloutToSupervisor, SupervisorToRollout } from "./worker-messages.ts";

const scope = self as unknown as DedicatedWorkerGlobalScope;
let worker: RolloutWorker | null = null;

function post(message: RolloutToSupervisor): void {
  scope.postMessage(message);
}

async function describeGame(message: Extract<SupervisorToRollout, { type: "describe" }>): Promise<void> {
  try {
    const definition = await loadGame(message.identity.base, message.game);
    post({ type: "described", description: describe(definition) as never });
  } catch (error) {
    post({ type: "describe_failed", report: reportOf(error, NOWHERE, "load") });
  }
}

scope.onmessage = (event: MessageEvent<SupervisorToRollout>) => {
  const message = event.data;
  switch (message.type) {
    case "describe":
      void describeGame(message);
      break;
    case "start":
      worker = new RolloutWorker({ ...message, post });
      worker.start();
      break;
    case "stop":
      worker?.stop();
      break;
  }
};

// Whatever escapes ends the worker, and the supervisor starts another: nothing half broken goes on playing.
scope.addEventListener("error", (event) => worker?.crash(event.error ?? event.message));
scope.addEventListener("unhandledrejection", (event) => worker?.crash(event.reason));
