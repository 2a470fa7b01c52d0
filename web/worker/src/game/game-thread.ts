/** A thread that runs a stranger's game in the sandbox, as the trusted side of a host sees it. */

import type { GameReference } from "@attract/schema";
import type { GameModule } from "./game-module.ts";

/** What the thread does with its game. */
export type ThreadRole = "rollout" | "check" | "stage";

/** As a `Worker`; nothing that comes out of it is to be believed. */
export interface GameThread {
  onmessage: ((event: MessageEvent) => void) | null;
  /** The thread ended by itself, or could not be started. */
  onerror: ((event: { message: string }) => void) | null;
  postMessage(message: unknown, transfer?: Transferable[]): void;
  terminate(): void;
}

/** Makes and removes sandboxes; the page does, since only documents have frames. */
export interface SandboxOpener {
  /**
   * @param ports the thread's, and the one on which its frame says what became of it.
   * @param page whose game lives in a page: then the thread is a frame's own, of an origin that may load it; null of others.
   */
  open(id: number, role: ThreadRole, ports: [MessagePort, MessagePort], page: GameReference | null): void;
  close(id: number): void;
}

const GONE = "the browser ended the game's process, most likely because the game used up the memory";

let lastId = 0;

/** One sandbox with one thread; the module is the first message that the thread gets. */
export class SandboxThread implements GameThread {
  onmessage: GameThread["onmessage"] = null;
  onerror: GameThread["onerror"] = null;
  readonly #id = ++lastId;
  readonly #opener: SandboxOpener;
  readonly #port: MessagePort;
  readonly #news: MessagePort;
  /** What was said before the module was there; null from then on. */
  #waiting: [unknown, Transferable[]][] | null = [];
  #isOver = false;

  /**
   * @param game that it is for.
   * @param module sent to the thread once it has loaded; if that fails, the thread fails.
   */
  constructor(role: ThreadRole, game: GameReference, module: Promise<GameModule>, opener: SandboxOpener) {
    this.#opener = opener;
    const talk = new MessageChannel();
    const news = new MessageChannel();
    this.#port = talk.port1;
    this.#news = news.port1;
    this.#port.onmessage = (event) => this.onmessage?.(event);
    this.#news.onmessage = (event) => this.#failed(String(event.data));
    // Fired where the browser knows it, when the frame is gone with its process.
    this.#news.addEventListener("close", () => this.#failed(GONE));
    opener.open(this.#id, role, [talk.port2, news.port2], game.has_page ? game : null);
    module.then(
      (loaded) => this.#begin(loaded),
      (error: unknown) => this.#failed(error instanceof Error ? error.message : String(error)),
    );
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    if (this.#waiting === null) this.#port.postMessage(message, transfer);
    else this.#waiting.push([message, transfer]);
  }

  terminate(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#port.close();
    this.#news.close();
    this.#opener.close(this.#id);
  }

  #begin(module: GameModule): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    if (this.#isOver) return;
    this.#port.postMessage(module);
    for (const [message, transfer] of waiting) this.#port.postMessage(message, transfer);
  }

  #failed(message: string): void {
    if (!this.#isOver) this.onerror?.({ message });
  }
}
