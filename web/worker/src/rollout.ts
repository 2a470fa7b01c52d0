/** Entry of a rollout worker: plays for the server, or only loads a game and says what it is. */

import { describe } from "attract/description";
import { NOWHERE, reportOf } from "./failures.ts";
import { loadGame } from "./load-game.ts";
import { startInferenceEngine } from "./policy-session.ts";
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

async function startPlaying(started: RolloutWorker): Promise<void> {
  try {
    await startInferenceEngine();
    if (worker === started) started.start();
  } catch (error) {
    started.crash(error);
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
      void startPlaying(worker);
      break;
    case "stop":
      worker?.stop();
      worker = null;
      break;
  }
};

// Whatever escapes ends the worker, and the supervisor starts another: nothing half broken goes on playing.
scope.addEventListener("error", (event) => worker?.crash(event.error ?? event.message));
scope.addEventListener("unhandledrejection", (event) => worker?.crash(event.reason));
