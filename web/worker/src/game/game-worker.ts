/** Entry of the thread in a sandbox: its frame says what it is for, and the first thing through its port is the game. */

import { serveCheck } from "../../../playtest/src/checks.ts";
import { serveRollout } from "../rollout/rollout.ts";
import { serveStage } from "../stage/stage.ts";
import type { GameModule } from "./game-module.ts";
import type { ThreadRole } from "./game-thread.ts";

/** What the frame hands on. */
interface ThreadOptions {
  role: ThreadRole;
  /** The inference engine's WebAssembly, for a thread that begins with it. */
  engine: Blob | null;
}

addEventListener(
  "message",
  ({ data, ports: [port] }: MessageEvent<ThreadOptions>) => {
    port.onmessage = (first: MessageEvent<GameModule>) => {
      const module = first.data;
      if (data.role === "check") serveCheck(port, module);
      else if (data.role === "stage") serveStage(port, module);
      else serveRollout(port, module, data.engine);
    };
  },
  { once: true },
);
