/** A thread of the sandbox that plays for the server, or only loads its game and says what it is. */

import { describe } from "attract/description";
import { PortSocket } from "../connection/port-socket.ts";
import { NOWHERE, reportOf } from "../game/failures.ts";
import type { GameModule } from "../game/game-module.ts";
import { loadGame } from "../game/load-game.ts";
import type { RolloutToSupervisor, SupervisorToRollout } from "../host/worker-messages.ts";
import { SessionMaker } from "../policy/session-maker.ts";
import { RolloutWorker } from "./rollout-worker.ts";

/**
 * Does what comes through `port`, from now on.
 *
 * @param engine the inference engine's WebAssembly; null: the small player plays, until a policy needs the engine.
 */
export function serveRollout(port: MessagePort, module: GameModule, engine: Blob | null): void {
  let worker: RolloutWorker | null = null;
  let socket: PortSocket | null = null;
  const post = (message: RolloutToSupervisor, transfer: Transferable[] = []): void =>
    port.postMessage(message, transfer);
  const sessions = new SessionMaker(() => post({ type: "engine_needed" }));

  async function describeGame(): Promise<void> {
    try {
      post({ type: "described", description: describe(await loadGame(module)) });
    } catch (error) {
      post({ type: "describe_failed", report: reportOf(error, NOWHERE, "load") });
    }
  }

  async function startPlaying(started: RolloutWorker): Promise<void> {
    try {
      if (engine !== null) await sessions.useEngine(engine);
      if (worker === started) started.start();
    } catch (error) {
      started.crash(error);
    }
  }

  port.onmessage = (event: MessageEvent<SupervisorToRollout>) => {
    const message = event.data;
    switch (message.type) {
      case "describe":
        void describeGame();
        break;
      case "start":
        worker = new RolloutWorker({
          ...message,
          module,
          sessions,
          openSocket: (handlers) => {
            socket = new PortSocket(post, handlers);
            return socket;
          },
          post,
        });
        void startPlaying(worker);
        break;
      case "engine":
        sessions.useEngine(message.engine).catch((error: unknown) => worker?.crash(error));
        break;
      case "stop":
        worker?.stop();
        worker = null;
        break;
      default:
        socket?.heard(message);
    }
  };

  // Whatever escapes ends the worker, and the supervisor starts another: nothing half broken goes on playing.
  addEventListener("error", (event) => worker?.crash(event.error ?? event.message));
  addEventListener("unhandledrejection", (event) => worker?.crash(event.reason));
}
