/** Entry of the supervisor worker. */

import type { GameReference } from "@attract/schema";
import { ASK_MS } from "../connection/server-watch.ts";
import { fetchModule, type GameModule } from "../game/game-module.ts";
import { type SandboxOpener, SandboxThread, type ThreadRole } from "../game/game-thread.ts";
import { fetchEngine } from "./engine.ts";
import { HostSupervisor } from "./host-supervisor.ts";
import type { PageToSupervisor, SupervisorToPage } from "./worker-messages.ts";

const scope = self as unknown as DedicatedWorkerGlobalScope;
let supervisor: HostSupervisor | null = null;
/** The newest game's module: the workers of a host play the same one. */
let newest: { url: string; module: Promise<GameModule> } | null = null;

/** Works on plain http too, where `crypto.randomUUID` does not exist. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function isHealthy(url: URL): Promise<boolean> {
  try {
    return (await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(ASK_MS) })).ok;
  } catch {
    return false;
  }
}

function post(message: SupervisorToPage, transfer: Transferable[] = []): void {
  scope.postMessage(message, transfer);
}

const opener: SandboxOpener = {
  open: (id, role, ports, page) => post({ type: "open_sandbox", id, role, page }, ports),
  close: (id) => post({ type: "close_sandbox", id }),
};

function moduleOf(base: string, game: GameReference): Promise<GameModule> {
  if (newest?.url === game.url) return newest.module;
  const module = fetchModule(base, game);
  newest = { url: game.url, module };
  module.catch(() => {
    if (newest?.module === module) newest = null;
  });
  return module;
}

scope.onmessage = (event: MessageEvent<PageToSupervisor>) => {
  const message = event.data;
  switch (message.type) {
    case "start": {
      const { base } = message.identity;
      const thread = (role: ThreadRole) => (game: GameReference) =>
        new SandboxThread(role, game, moduleOf(base, game), opener);
      supervisor = new HostSupervisor({
        identity: message.identity,
        maxWorkers: message.maxWorkers,
        post: post,
        createWorker: thread("rollout"),
        createCheckWorker: thread("check"),
        fetchEngine,
        randomKey,
        isServerThere: () => isHealthy(new URL("healthz", base)),
      });
      break;
    }
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
