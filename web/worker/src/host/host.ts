/** `startHost`: what a page calls to let its browser train. */

/// <reference lib="dom" />
import { BUILD } from "./build.ts";
import { isLight } from "./engine.ts";
import { SandboxFrames } from "./sandbox-frames.ts";
import type { HostIdentity, HostStatus, PageToSupervisor, SupervisorToPage } from "./worker-messages.ts";

export interface HostOptions {
  /** The page's base: every URL derives from it. */
  base: URL;
  token: string;
  /** How many workers this page is willing to run. */
  maxWorkers: number;
  /** Called at each change, and about four times a second while a run goes on. */
  onStatus(status: HostStatus): void;
  /** Reloads the page when the server has another build; called once per build. Default: `location.reload()`. */
  reload?(): void;
}

/** A running host. */
export interface HostHandle {
  setMaxWorkers(maxWorkers: number): void;
  /** Says goodbye and ends every worker. */
  stop(): void;
}

const RELOADED_KEY = "attract-reloaded-from-build";
/** The supervisor gets this long to say goodbye. */
const STOP_MS = 1500;

/** Starts this page's supervisor, which connects and starts workers as the server asks. */
export function startHost(options: HostOptions): HostHandle {
  const supervisor = new Worker(new URL("./supervisor.ts", import.meta.url), {
    type: "module",
    name: "supervisor",
  });
  const frames = new SandboxFrames(options.base, isLight(navigator));
  const post = (message: PageToSupervisor): void => supervisor.postMessage(message);
  const releaseLock = holdLock();
  const identity: HostIdentity = {
    base: options.base.href,
    token: options.token,
    hostId: randomHex(),
    build: BUILD,
    userAgent: navigator.userAgent,
    hardwareConcurrency: navigator.hardwareConcurrency || 0,
  };
  supervisor.onmessage = (event: MessageEvent<SupervisorToPage>) => {
    const message = event.data;
    switch (message.type) {
      case "status":
        options.onStatus(message.status);
        break;
      case "reload":
        reloadOnce(options.reload ?? (() => location.reload()));
        break;
      case "open_sandbox":
        frames.open(
          message.id,
          message.role,
          event.ports as unknown as [MessagePort, MessagePort],
          message.page,
        );
        break;
      case "close_sandbox":
        frames.close(message.id);
        break;
      case "stopped":
        end();
        break;
    }
  };
  supervisor.onerror = (event) => options.onStatus(brokenStatus(event.message));
  const onVisibility = (): void => post({ type: "hidden", hidden: document.hidden });
  const onLeave = (): void => stop();
  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("pagehide", onLeave);
  post({ type: "start", identity, maxWorkers: options.maxWorkers });
  onVisibility();

  let isStopped = false;
  function stop(): void {
    if (isStopped) return;
    isStopped = true;
    document.removeEventListener("visibilitychange", onVisibility);
    removeEventListener("pagehide", onLeave);
    releaseLock();
    post({ type: "stop" });
    setTimeout(end, STOP_MS);
  }
  function end(): void {
    supervisor.terminate();
    frames.end();
  }
  return { setMaxWorkers: (maxWorkers) => post({ type: "set_max_workers", maxWorkers }), stop };
}

/** Keeps the page from being frozen while hidden, where the browser has locks (not on plain http). Returns the release. */
function holdLock(): () => void {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const locks = (navigator as { locks?: LockManager }).locks;
  void locks?.request(`attract-host-${randomHex()}`, () => held);
  return release;
}

function randomHex(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A page of an old build gets the new one by a reload; a second time would not help and is left alone. */
export function reloadOnce(reload: () => void): void {
  if (sessionStorage.getItem(RELOADED_KEY) === BUILD) return;
  sessionStorage.setItem(RELOADED_KEY, BUILD);
  reload();
}

function brokenStatus(text: string | undefined): HostStatus {
  return {
    connected: false,
    tier: null,
    runId: null,
    game: null,
    numWorkers: 0,
    workers: [],
    stepsPerSecond: 0,
    error: text || "the supervisor's script could not be loaded",
    ended: true,
  };
}
