/** Entry of the thread in a sandbox: its frame says what it is for, and the first thing through its port is the game. */

import { serveCheck } from "./check.ts";
import type { GameModule } from "./game-module.ts";
import type { ThreadRole } from "./game-thread.ts";
import { serveRollout } from "./rollout.ts";
import { serveStage } from "./stage.ts";

/** What the frame hands on. */
interface ThreadOrder {
  role: ThreadRole;
  /** The inference engine's WebAssembly, for a thread that begins with it. */
  engine: Blob | null;
}

addEventListener(
  "message",
  ({ data, ports: [port] }: MessageEvent<ThreadOrder>) => {
    port.onmessage = (first: MessageEvent<GameModule>) => {
      const module = first.data;
      if (data.role === "check") serveCheck(port, module);
      else if (data.role === "stage") serveStage(port, module);
      else serveRollout(port, module, data.engine!);
    };
  },
  { once: true },
);
