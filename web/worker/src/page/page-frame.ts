/** One page of a page game: a frame of this document under a virtual clock. */

/// <reference lib="dom" />
import { ConfigurationError } from "attract/errors";
import { canvasName } from "attract/page/layers";
import { PixelReader } from "attract/page/pixel-reader";
import type { PageAdapter, PageHands, PageWindow } from "attract/page-adapter";
import { DEVICES } from "../../../page-clock/src/devices.gen.ts";
import type { UnheldUses } from "../../../page-clock/src/unheld-uses.ts";
import type { ClockOptions, VirtualClock } from "../../../page-clock/src/virtual-clock.ts";

/** A page that is not ready after so many frames of its own never will be. */
const MAX_LOAD_TICKS = 2_000;
/** A menu that has not begun the game after so many frames never will. */
const MAX_MENU_TICKS = 1_200;
/** What has not arrived after so long is not waited for any more. */
const LOAD_MS = 20_000;
/** After this many turns of the event loop without pending work, nothing more comes. */
const QUIET_TURNS = 2;
/** The game's first episode is unlike the later ones (intros, first loads): so many steps of one are played for nothing. */
const FIRST_TICKS = 200;
/**
 * In sight, though the thread's frame is one pixel large. The browser never updates what is off the screen, and the end events
 * of its animations would pile up until nothing else is done.
 */
const IN_SIGHT = "position:fixed;left:0;top:0;border:0";
/** A watched frame that is not visible yet, or no longer. */
const HIDDEN = `${IN_SIGHT};opacity:0`;
/** Without a place: no style is computed, and nothing is laid out. */
const NOT_LAID_OUT = "display:none";
const TURNED = Object.entries(DEVICES).flatMap(([name, { touch }]) => (touch ? [name] : []));

/** What did not come in time by the real clock: on a busy machine that says nothing of the game. */
export class LateError extends Error {}

/** Whether `error` is one, or a game's error because of one. */
export function isLate(error: unknown): boolean {
  return error instanceof LateError || (error instanceof Error && error.cause instanceof LateError);
}

interface ClockedFrame extends HTMLIFrameElement {
  attractPrepare?: (window: PageWindow, clock: VirtualClock) => void;
}

/** Owned by one `PageFrames`. */
export class PageFrame implements PageHands {
  readonly window: PageWindow;
  readonly clock: VirtualClock;
  /** Set for an agent that sees the page's canvas. */
  readonly pixels: PixelReader | null;
  ticks = 0;
  /** Set by who plays in it, before each tick of a step. */
  stepTick = 0;
  /** Set by who plays in it, before each episode. */
  parameters: Readonly<Record<string, number>>;
  /** Whether something that the page asked for was not waited for any more. */
  isUnsettled = false;
  /** How many frames passed until the page was ready. */
  loadTicks = 0;
  readonly #adapter: PageAdapter;
  readonly #element: HTMLIFrameElement;
  readonly #document: Document | null;
  /** Its window, in CSS pixels. */
  #size: readonly [width: number, height: number];
  /** See `show`; null: it is hidden. */
  #room: readonly [width: number, height: number] | null = null;
  #seen = 0;
  /** So many things that the page asked for are not waited for any more. */
  #numLost = 0;
  /** Whether the page has gone elsewhere: what is in the frame now is no game. */
  #isGone = false;
  /** What is left of the tick that has begun. */
  #tick: Generator<undefined, void> | null = null;

  private constructor(
    adapter: PageAdapter,
    element: HTMLIFrameElement,
    clock: VirtualClock,
    parameters: Readonly<Record<string, number>>,
  ) {
    this.#adapter = adapter;
    this.#size = adapter.size;
    this.parameters = parameters;
    this.#element = element;
    this.clock = clock;
    this.window = element.contentWindow as PageWindow;
    this.#document = element.contentDocument;
    const { pixels } = adapter;
    this.pixels =
      pixels === undefined
        ? null
        : new PixelReader(this.window, pixels, (canvas) => {
            if (clock.refusedWebGl.has(canvas))
              throw new ConfigurationError("pixels", noWebGlText([canvas], pixels.webGl));
          });
    element.addEventListener("load", () => {
      this.#isGone = true;
    });
  }

  /**
   * A frame that is ready for its first episode. Raises Error when the page does not load, or is not ready in time.
   *
   * @param address of the page.
   * @param isSeen whether this document is watched: `show` is called once it becomes visible.
   * @param host what holds the frame in this document.
   * @param parameters of the episode that it is made for, or the game's defaults.
   */
  static async load(
    adapter: PageAdapter,
    address: string,
    options: Partial<ClockOptions>,
    isSeen = false,
    host = document.body,
    parameters: Readonly<Record<string, number>> = {},
  ): Promise<PageFrame> {
    const element: ClockedFrame = document.createElement("iframe");
    const [width, height] = adapter.size;
    element.width = String(width);
    element.height = String(height);
    // By the object: the document's policy refuses attributes of style.
    element.style.cssText = isSeen ? HIDDEN : adapter.hidden ? NOT_LAID_OUT : IN_SIGHT;
    element.tabIndex = -1;
    // While it loads it draws: textures are made then.
    element.dataset.attractClock = JSON.stringify({
      ...options,
      draws: true,
      size: adapter.size,
      touch: adapter.touch,
      pad: adapter.keys.some((own) =>
        Object.values(own).some((codes) => codes.some((code) => code.startsWith("Pad"))),
      ),
      device: adapter.device,
    });
    let clock: VirtualClock | null = null;
    element.attractPrepare = (window, made) => {
      // A page that goes elsewhere gets a clock of its own, and is no game any more.
      clock = made;
      adapter.prepare?.(window, parameters);
    };
    // Before it is in the document: an empty frame tells of a load of its own.
    element.src = address;
    const loaded = new Promise<void>((resolve) =>
      element.addEventListener("load", () => resolve(), { once: true }),
    );
    host.append(element);
    let frame: PageFrame | null = null;
    try {
      await withinTime(loaded, `the page ${adapter.page} did not load within ${LOAD_MS / 1000} s`);
      if (clock === null)
        throw new Error(
          `the page ${adapter.page} could not be had: it does not exist, is no page of this game, or is not below ` +
            "the served directory (attract serve --project-dir)",
        );
      if (element.contentDocument === null) throw goneError();
      frame = new PageFrame(adapter, element, clock, parameters);
      adapter.loaded?.(frame.window);
      await frame.#becomeReady(options.draws ?? true);
      return frame;
    } catch (error) {
      // Once it is removed it has no document, as one that went elsewhere.
      const explained = frame?.explain(error) ?? ownError(error);
      element.remove();
      throw withMissing(withWebGl(explained, adapter, clock), clock);
    }
  }

  hold(codes: readonly string[]): void {
    this.clock.hold(codes);
  }

  point(...[x, y, ...how]: Parameters<PageHands["point"]>): void {
    this.clock.point([x, y], ...how);
  }

  lift(): void {
    this.clock.lift();
  }

  rotate(): void {
    const { device } = this.#adapter;
    if (!DEVICES[device].touch)
      throw new ConfigurationError("device", `"${device}" cannot be turned: ${TURNED.join(", ")} can`);
    this.#resize([this.#size[1], this.#size[0]]);
  }

  #resize(size: readonly [width: number, height: number]): void {
    this.#size = size;
    [this.#element.width, this.#element.height] = [String(size[0]), String(size[1])];
    this.clock.resize(size);
    if (this.#room !== null) this.show(...this.#room);
  }

  /**
   * One frame of the page. Raises what its own code threw if the game's loop has stopped.
   *
   * Where the adapter gives turns, `giveTurn` plays on from the first call of the page's code: promises have a turn after each.
   */
  tick(): void {
    if (this.#isGone) throw goneError();
    this.#endTick();
    if (this.#adapter.css) this.clock.collectAnimations();
    if (this.#adapter.turns) {
      this.#tick = this.clock.ticking();
      if (this.#tick.next().done) this.#endTick();
    } else this.clock.tick();
    this.ticks++;
    if (this.#tick === null) this.#checkErrors();
  }

  #endTick(): void {
    for (const _ of this.#tick ?? []);
    this.#tick = null;
  }

  /** Whether its game is over because the page asked for a reload: the next episode takes another frame. */
  get isReloadDue(): boolean {
    return this.clock.isReloadDue;
  }

  /** Raises where the page has asked for another address: in the frame in which it did, whatever the browser does meanwhile. */
  checkAddress(): void {
    const { leavingFor } = this.clock;
    if (leavingFor !== null) throw goneError(`, ${JSON.stringify(leavingFor.slice(0, 200))}`);
  }

  /** What `thrown` is an error of: a page that is being left answers in its own ways. */
  explain(thrown: unknown): unknown {
    return this.#isGone || this.#element.contentDocument !== this.#document ? goneError() : ownError(thrown);
  }

  /** The page's promises have had their turn, and what it asked for in this one is there. */
  async giveTurn(): Promise<void> {
    await turn();
    while (this.#tick !== null) {
      // What has begun since must not go on in real time meanwhile.
      if (this.#adapter.css) this.clock.collectAnimations();
      if (this.#isGone || this.#tick.next().done) this.#tick = null;
      await turn();
    }
    this.#checkErrors();
    if (this.clock.numLoading > 0) await this.#settle();
  }

  /** Begins an episode by the game's own restart; all chance in it comes from `seed`, 32 bits. */
  begin(seed: number): void {
    for (const _ of this.#beginning(seed));
  }

  /** As `begin`, with a turn of the event loop after each frame. */
  async beginInTurns(seed: number): Promise<void> {
    for (const _ of this.#beginning(seed)) await this.giveTurn();
  }

  /** With a pause after each frame. */
  *#beginning(seed: number): Generator<undefined, void> {
    const { window, clock } = this;
    const adapter = this.#adapter;
    clock.release();
    if (this.#size !== adapter.size) this.#resize(adapter.size);
    clock.clearStorage();
    // Menus live on animations, games hardly ever.
    clock.followsAnimations = true;
    clock.align();
    this.ticks = 0;
    this.stepTick = 0;
    // Menus may draw chance as well.
    clock.seed(seed);
    adapter.seed?.(window, seed);
    adapter.restart?.(window, this);
    // One tick at least: a restart is often only asked for.
    do {
      if (this.ticks > MAX_MENU_TICKS)
        throw new Error(
          `the game did not begin within ${MAX_MENU_TICKS} frames${this.#lastError()}` +
            (adapter.turns ? "" : "; if it waits for promises between them, give turns: true") +
            (adapter.hidden ? "; if it waits for sizes or animations, leave out hidden" : ""),
        );
      adapter.menu?.(window, this);
      if (!adapter.css) clock.collectAnimations();
      this.tick();
      if (this.isReloadDue)
        throw new Error(
          "the page reloaded itself before the game began: remove from restart and menu what reloads it; " +
            "without restart each episode has a fresh page",
        );
      yield;
    } while (adapter.playing !== undefined && !adapter.playing(window));
    clock.release();
    if (adapter.reset === "over") {
      // What it shows, such as its score, is of the game before until it has drawn once.
      this.tick();
      yield;
    }
    clock.followsAnimations = adapter.css;
  }

  /** What cannot be played the same way twice, or only at a cost. */
  get unheld(): UnheldUses {
    const { numSpins, unheld } = this.clock;
    if (numSpins > 0) unheld.add("waits for the clock in a loop, which takes 20,000 reads per millisecond");
    return unheld;
  }

  /** Is seen from now on, in the middle of `width` x `height` CSS pixels of this document and as large as fits. */
  show(width: number, height: number): void {
    this.#room = [width, height];
    const [w, h] = this.#size;
    const scale = Math.min(width / w, height / h);
    // Whole pixels: elsewhere what it lies on shows at its edges.
    const [scaledWidth, scaledHeight] = [Math.round(w * scale), Math.round(h * scale)];
    Object.assign(this.#element.style, {
      left: `${Math.round((width - scaledWidth) / 2)}px`,
      top: `${Math.round((height - scaledHeight) / 2)}px`,
      transformOrigin: "0 0",
      transform: `scale(${scaledWidth / w}, ${scaledHeight / h})`,
      // The ground of a page without a background.
      background: "#fff",
      opacity: "1",
    });
  }

  hide(): void {
    this.#room = null;
    this.#element.style.cssText = HIDDEN;
  }

  remove(): void {
    this.#element.remove();
  }

  async #becomeReady(draws: boolean): Promise<void> {
    const { window } = this;
    const adapter = this.#adapter;
    await this.#settle();
    // What a page has not set yet is undefined: that is no yes.
    while (adapter.ready !== undefined && !adapter.ready(window)) {
      if (this.loadTicks > MAX_LOAD_TICKS)
        throw new Error(
          `ready() was still false after ${MAX_LOAD_TICKS} frames` +
            `${this.#lastError()}${this.#neverMade()}${this.#stillLoading()}`,
        );
      // One frame, then whatever it asked for must be here.
      this.clock.collectAnimations();
      this.tick();
      this.loadTicks++;
      await this.#settle();
    }
    this.clock.keepStorage();
    this.clock.draws = draws;
    // What cannot begin twice has no first play to warm up by.
    if (adapter.reset !== "own") return;
    if (adapter.turns) await this.beginInTurns(0);
    else this.begin(0);
    // What cannot be read is reported now, not in the middle of training.
    this.pixels?.begin();
    for (let tick = 0; tick < FIRST_TICKS && !this.isReloadDue && !isOver(adapter.over(window)); tick++) {
      this.tick();
      if (adapter.turns) await this.giveTurn();
    }
  }

  /** Waits until nothing is under way, but for what did not come within `LOAD_MS` before. */
  async #settle(): Promise<void> {
    const began = performance.now();
    for (let quiet = 0; quiet < QUIET_TURNS && performance.now() - began < LOAD_MS; ) {
      await turn();
      if (this.clock.numLoading <= this.#numLost) quiet++;
      else {
        quiet = 0;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
    this.#numLost = this.clock.numLoading;
    if (this.#numLost > 0) this.isUnsettled = true;
  }

  /** Raises the page's last error if it ended the page's loop. Pages go on after most of their errors. */
  #checkErrors(): void {
    if (this.clock.errors.length === this.#seen) return;
    this.#seen = this.clock.errors.length;
    if (this.clock.isIdle) throw this.clock.errors.at(-1);
  }

  /** What the adapter asks `made` for in vain; `made` hears of nothing that was there before it was first called. */
  #neverMade(): string {
    const all: ReadonlyMap<string, unknown[]> = this.window.attractMade ?? new Map();
    const names = [...all].filter(([, found]) => found.length === 0).map(([name]) => JSON.stringify(name));
    if (names.length === 0) return "";
    return `; made(w, ${names.join(", ")}) has found nothing: call it in prepare, before the page's scripts run`;
  }

  #stillLoading(): string {
    const { pending } = this.clock;
    return pending.length === 0 ? "" : `; still loading after ${LOAD_MS / 1000} s: ${pending.join(", ")}`;
  }

  #lastError(): string {
    const last = ownError(this.clock.errors.at(-1));
    if (last === undefined) return "";
    return `; the page's last error: ${last instanceof Error ? last.message : String(last)}`;
  }
}

/** Whether the episode is over: with several agents, all of them must have ended. */
export function isOver(over: boolean | ArrayLike<boolean>): boolean {
  return typeof over === "boolean" ? over : Array.from(over).every(Boolean);
}

/** @param isOwn whether the page was to have the browser's own. */
function noWebGlText(
  canvases: Iterable<{ id?: string; width: number; height: number }>,
  isOwn: boolean,
): string {
  const names = [...canvases].map(canvasName).join(", ");
  const elsewhere = "or give observation and observe(window) instead of pixels";
  if (isOwn)
    return `${names} requested WebGL, which this browser lacks: train in one that has it (the dashboard, or a join link), ${elsewhere}`;
  return (
    `${names} requested WebGL, which is off for agents that see pixels: let the engine draw in 2D ` +
    `(Phaser: type: Phaser.AUTO or CANVAS), use the browser's WebGL by pixels: { webGl: true } ` +
    `(slow without a graphics processor), name another canvas, ${elsewhere}`
  );
}

/** Adds what asked for WebGL to an error: engines fail in their own words where WebGL is missing. */
function withWebGl(error: unknown, { pixels }: PageAdapter, clock: VirtualClock | null): unknown {
  const refused = clock?.refusedWebGl;
  if (pixels === undefined || refused === undefined || refused.size === 0) return error;
  if (!(error instanceof Error) || error instanceof ConfigurationError) return error;
  error.message += `; ${noWebGlText(refused, pixels.webGl)}`;
  return error;
}

/** Adds the missing files to an error, which may come of them or not: a page that lacks a file fails in its own words. */
function withMissing(error: unknown, clock: VirtualClock | null): unknown {
  if (!(error instanceof Error) || error instanceof ConfigurationError) return error;
  const missing = clock?.unheld.of("file") ?? [];
  if (missing.length > 0)
    error.message +=
      `. The page ${missing.join(", and ")}: if the game needs it, build the page first, ` +
      "name it by --include where it lies above the page's folder, or give the address of the server it needs";
  for (const script of clock?.unheld.of("script") ?? []) error.message += `. The page ${script}`;
  return error;
}

function goneError(address = ""): Error {
  return new Error(
    `the page went to another address${address}: it no longer plays the game; ` +
      "remove the code that navigates, or use the page that it goes to",
  );
}

async function withinTime(promise: Promise<void>, text: string): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LateError(text)), LOAD_MS);
  });
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const channel = new MessageChannel();
const waiting: (() => void)[] = [];
channel.port1.onmessage = () => waiting.shift()?.();

/** Whatever is due in the event loop has had its turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(null);
  });
}

/** What a page threw as an error of this window, with its place in the page's files: those of another are no `Error` here. */
export function ownError(thrown: unknown): unknown {
  if (thrown instanceof Error || typeof thrown !== "object" || thrown === null || !("message" in thrown))
    return thrown;
  const { name, message, stack } = thrown as Error;
  const place = placeOf(String(stack));
  const error = new Error(place === null ? String(message) : `${message} (${place})`);
  error.name = String(name);
  if (typeof stack === "string") error.stack = stack;
  return error;
}

/** Where `stack` begins, but for what holds the page, as `js/game.js:12:5`; null where that is in none of its files. */
function placeOf(stack: string): string | null {
  for (const frame of stack.split("\n")) {
    if (!/:\d+:\d+\)?$/.test(frame) || frame.includes("/.attract/")) continue;
    const [, path, at] = /(?<!blob:)https?:\/\/[^/]+\/([^?#]*?)(?:[?#].*)?:(\d+:\d+)\)?$/.exec(frame) ?? [];
    if (at === undefined) return null;
    return `${path === "" ? "index.html" : path}:${at}`;
  }
  return null;
}

/** What begins an episode in a used page: an adapter may forget what the game's own restart resets. */
export function restartText(adapter: PageAdapter | undefined): string {
  return adapter?.restart === undefined ? "the game's own restart" : "the adapter's restart(window)";
}
