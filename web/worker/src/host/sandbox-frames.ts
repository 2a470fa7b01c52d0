/** The frames that games run in: each an origin of its own that nothing else has, with no way out but one port. */

/// <reference lib="dom" />
import type { GameReference } from "@attract/schema";
import type { SandboxOpener, ThreadRole } from "../game/game-thread.ts";
import scriptUrl from "../game/game-worker.ts?worker&url";
import { fetchEngine, fetchOnce } from "./engine.ts";
import { pageThreadUrl } from "./page-origin.ts";

/** A frame that has not answered for so long has not been loaded. */
const LOAD_MS = 20_000;
/** On the screen, so that the browser gives its process no less time than the page's; and nothing to be seen. */
const STYLE =
  "position:fixed;inset:auto 0 0 auto;width:1px;height:1px;border:0;opacity:0;pointer-events:none";

/** Covers the element before it, without input: keys and pointers go to the page. */
const SEEN =
  // Its document says nothing of colours: what it leaves free is see-through only beside a scheme that is the same.
  "position:absolute;inset:0;width:100%;height:100%;border:0;pointer-events:none;color-scheme:light";

/** The frame's only message; it carries the thread's port and the port for news of the thread. */
export interface FrameOrder {
  role: ThreadRole;
  /** The thread's script. */
  script: Blob;
  /** The inference engine's WebAssembly, for a thread that begins with it. */
  engine: Blob | null;
}

interface Opened {
  frame: HTMLIFrameElement;
  role: ThreadRole;
  ports: [MessagePort, MessagePort];
  timer: ReturnType<typeof setTimeout>;
}

/** Owned by the page; see `sandbox.html` for the frame's own few lines, and the server for what its policy forbids. */
export class SandboxFrames implements SandboxOpener {
  readonly #base: URL;
  readonly #isLight: boolean;
  readonly #opened = new Map<number, Opened>();

  /**
   * @param base of the page.
   * @param isLight workers begin without the inference engine, and ask for it when they need it.
   */
  constructor(base: URL, isLight = false) {
    this.#base = base;
    this.#isLight = isLight;
    addEventListener("message", this.#onMessage);
  }

  open(id: number, role: ThreadRole, ports: [MessagePort, MessagePort], page: GameReference | null): void {
    this.#open(id, role, ports, page, null);
  }

  /** As this, but games that live in a page are seen, each in the place of `screen`, beside which it lies. */
  over(screen: Element): SandboxOpener {
    return {
      open: (id, role, ports, page) => this.#open(id, role, ports, page, page === null ? null : screen),
      close: (id) => this.close(id),
    };
  }

  /** @param screen whose place on the page the game takes; null: the game is not shown. */
  #open(
    id: number,
    role: ThreadRole,
    ports: [MessagePort, MessagePort],
    page: GameReference | null,
    screen: Element | null,
  ): void {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", page === null ? "allow-scripts" : "allow-scripts allow-same-origin");
    frame.setAttribute("style", screen === null ? STYLE : SEEN);
    frame.setAttribute("aria-hidden", "true");
    frame.tabIndex = -1;
    frame.title = "A game at work";
    // Where the browser knows it, what pages keep ends with this one: games of one origin find nothing of each other's.
    if (page !== null) frame.setAttribute("credentialless", "");
    const url =
      page === null ? new URL("sandbox.html", this.#base) : pageThreadUrl(this.#base, id, page.sha256);
    if (url === null) {
      ports[1].postMessage(
        `a page game needs an address of its own, which ${this.#base.origin} does not allow: open this page by the server's ` +
          "IP address (http://192.168.1.5:8000), or as localhost on its own machine",
      );
      return;
    }
    frame.src = url.href;
    const timer = setTimeout(() => this.#fail(id, `${url.href} did not load`), LOAD_MS);
    this.#opened.set(id, { frame, role, ports, timer });
    if (screen === null) document.body.append(frame);
    else screen.after(frame);
  }

  /** Ends the thread, whatever it does. */
  close(id: number): void {
    const opened = this.#opened.get(id);
    if (opened === undefined) return;
    this.#opened.delete(id);
    clearTimeout(opened.timer);
    opened.frame.remove();
  }

  /** Ends all threads; nothing can be opened any more. */
  end(): void {
    removeEventListener("message", this.#onMessage);
    for (const id of [...this.#opened.keys()]) this.close(id);
  }

  readonly #onMessage = (event: MessageEvent): void => {
    const refused: unknown = event.data?.refused;
    if (event.data !== "ready" && typeof refused !== "string") return;
    for (const [id, opened] of this.#opened) {
      if (opened.frame.contentWindow !== event.source) continue;
      clearTimeout(opened.timer);
      if (typeof refused === "string") this.#fail(id, refused);
      else void this.#start(id, opened);
    }
  };

  async #start(id: number, { frame, role, ports }: Opened): Promise<void> {
    try {
      const [script, engine] = await Promise.all([
        fetchOnce(scriptUrl, "text/javascript"),
        role === "rollout" && !this.#isLight ? fetchEngine() : null,
      ]);
      // An opaque origin has no name to send to; the frame is ours, and what is sent is no secret.
      frame.contentWindow?.postMessage({ role, script, engine } satisfies FrameOrder, "*", ports);
    } catch (error) {
      this.#fail(id, error instanceof Error ? error.message : String(error));
    }
  }

  #fail(id: number, text: string): void {
    this.#opened.get(id)?.ports[1].postMessage(`the sandbox of the game could not be made: ${text}`);
  }
}
