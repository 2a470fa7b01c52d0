/** What a game writes to the console, handed on: the first copy's lines, so many a second, each of bounded length. */

import type { GameLog } from "@attract/schema";

export type LogLevel = GameLog["level"];

const LEVELS: readonly LogLevel[] = ["debug", "log", "info", "warn", "error"];
/** Lines at once, and lines per second after that. */
const BURST_LINES = 20;
const LINES_PER_SECOND = 10;
const MAX_CHARACTERS = 1_000;
const MAX_ELEMENTS = 32;

export interface RelayOptions {
  /** Part of the URL of the game's module: only lines written from there are the game's. */
  module: string;
  /** Monotonic, in milliseconds. */
  now(): number;
  send(line: Pick<GameLog, "level" | "text" | "dropped">): void;
  /** Called once, with the first line: from then on `turn` must be kept current. */
  heard(): void;
}

/** Owned by one rollout worker. Costs nothing until a game writes something. */
export class ConsoleRelay {
  /** The copy whose turn it is; null while that is unknown. */
  turn: number | null = null;
  /** Games of an evaluation are played side by side: their lines are left out. */
  isMuted = false;
  readonly #options: RelayOptions;
  #first: number | null = null;
  #lines = BURST_LINES;
  #lastLine: number;
  #dropped = 0;
  #isHeard = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#lastLine = options.now();
  }

  /** The copy whose lines are handed on. */
  set first(instanceId: number) {
    this.#first = instanceId;
  }

  /** Takes the place of the console's methods, which are called on for what is handed on, and for what is not the game's. */
  install(target: Record<LogLevel, (...args: unknown[]) => void> = console): void {
    for (const level of LEVELS) {
      const original = target[level].bind(target);
      target[level] = (...args) => {
        if (this.#take(level, args)) original(...args);
      };
    }
  }

  /** Whether the console itself should have the line too. */
  #take(level: LogLevel, args: readonly unknown[]): boolean {
    if (this.turn !== null && this.turn !== this.#first) return false;
    if (this.isMuted) return false;
    const { now, module, send } = this.#options;
    const time = now();
    this.#lines = Math.min(BURST_LINES, this.#lines + ((time - this.#lastLine) * LINES_PER_SECOND) / 1000);
    this.#lastLine = time;
    if (this.#lines < 1) {
      this.#dropped++;
      return false;
    }
    if (!(new Error().stack ?? "").includes(module)) return true;
    this.#lines--;
    if (!this.#isHeard) {
      this.#isHeard = true;
      this.#options.heard();
    }
    send({ level, text: consoleText(args), dropped: this.#dropped });
    this.#dropped = 0;
    return true;
  }
}

/** What a console would show for `args`, in one text of at most 1,000 characters. */
export function consoleText(args: readonly unknown[]): string {
  const text = args.map((arg) => (typeof arg === "string" ? arg : valueText(arg))).join(" ");
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}...` : text;
}

function valueText(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (typeof value === "function") return `function ${value.name}`;
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value);
  const seen = new Set<unknown>();
  try {
    return JSON.stringify(value, (_key, inner: unknown) => {
      if (typeof inner === "number" && !Number.isFinite(inner)) return String(inner);
      if (typeof inner === "bigint" || typeof inner === "function") return String(inner);
      if (typeof inner !== "object" || inner === null) return inner;
      if (seen.has(inner)) return "[seen above]";
      seen.add(inner);
      if (inner instanceof Map || inner instanceof Set) return [...inner].slice(0, MAX_ELEMENTS);
      if (ArrayBuffer.isView(inner)) return Array.from(inner as Float32Array).slice(0, MAX_ELEMENTS);
      return Array.isArray(inner) ? inner.slice(0, MAX_ELEMENTS) : inner;
    });
  } catch {
    return Object.prototype.toString.call(value);
  }
}
