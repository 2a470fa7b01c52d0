/** One thread of a fleet without browsers: the same step server as in a browser's worker, over a pipe. */

import { decodeToBrowser, encodeForSend, type FromBrowser, type WelcomeWorker } from "@attract/schema";
import {
  type FailureReport,
  FatalGameError,
  gameFailed,
  NOWHERE,
  reportOf,
} from "@attract/worker/game/failures";
import { replay } from "@attract/worker/rollout/replay";
import { StepServer } from "@attract/worker/stepping/step-server";
import type { GameDefinition } from "attract/contract";
import { checkDefinition } from "attract/define-game";
import { describe } from "attract/description";
import { type Pipe, PipeClosed } from "./pipe.ts";

export interface StepperOptions {
  pipe: Pipe;
  /** The game's bundled module. */
  moduleUrl: string;
  runId: string;
  sha256: string;
  workerIndex: number;
}

/** Plays until the other end closes the pipe, or the game fails for good. */
export async function runStepper(options: StepperOptions): Promise<void> {
  const { pipe, runId, sha256, workerIndex } = options;
  const send = (message: FromBrowser): void => pipe.write(encodeForSend(message));
  const failed = (report: FailureReport): void => send(gameFailed(runId, workerIndex, report));
  try {
    let definition: GameDefinition;
    try {
      const module: { default?: unknown } = await import(options.moduleUrl);
      const loaded = module.default;
      checkDefinition(loaded);
      definition = loaded;
    } catch (error) {
      failed(reportOf(error, NOWHERE, "load"));
      return;
    }
    send({ type: "game_described", run_id: runId, sha256, description: describe(definition) });
    await serve(pipe, definition, send, failed);
  } catch (error) {
    if (error instanceof PipeClosed) return;
    if (error instanceof FatalGameError) failed(error.report);
    else failed(reportOf(error, NOWHERE, "crash"));
  }
}

async function serve(
  pipe: Pipe,
  definition: GameDefinition,
  send: (message: FromBrowser) => void,
  failed: (report: FailureReport) => void,
): Promise<void> {
  let server: StepServer | null = null;
  let seat: WelcomeWorker | null = null;
  for (;;) {
    const message = decodeToBrowser(pipe.read());
    switch (message.type) {
      case "welcome_worker":
        seat = message;
        server = new StepServer({
          definition,
          seat: message,
          now: () => performance.now(),
          failed,
          announce: null,
        });
        break;
      case "lease":
        if (message.purpose !== "replay") server?.open(message);
        else if (seat !== null) {
          const closing = await replay(message, {
            definition,
            seat,
            now: () => performance.now(),
            yieldTurn: async () => undefined,
            emit: (frame) => pipe.write(frame.bytes),
            isVoid: () => false,
            progressed: () => undefined,
          });
          if (closing !== null) send(closing);
        }
        break;
      case "lease_void":
        server?.close(message.lease_id);
        break;
      case "act": {
        const observe = server?.act(message);
        if (observe != null) send(observe);
        break;
      }
    }
  }
}
