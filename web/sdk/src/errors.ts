/**
 * Every error the SDK raises, readable by the person who wrote the game.
 *
 * Error
 * ├── ConfigurationError   the definition given to `defineGame` cannot work
 * ├── GameError            a running game broke the contract, or threw
 * └── RuntimeError         our own code called something in the wrong order
 *
 * Errors cross bundles and workers as plain objects, so they are identified by `name` and `kind`, never by `instanceof`.
 */

import { className } from "./class-name.ts";

/** The definition itself is wrong; `field` is the option to change. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
  readonly field: string;

  constructor(field: string, message: string) {
    super(`${field}: ${message}`);
    this.field = field;
  }
}

/**
 * What went wrong in a running game: `throw` (the game's own exception), `shape` (wrong length or type), `nan` (not a
 * finite number), `flag` (not a boolean), `promise` (an async method), `missing` (something was left out), `mask`.
 */
export type GameErrorKind = "throw" | "shape" | "nan" | "flag" | "promise" | "missing" | "mask";

export type GameMethod = "create" | "start" | "update" | "draw";

/** The fields of a `GameError` as they travel between threads and over the wire. */
export interface GameErrorReport {
  kind: GameErrorKind;
  method: GameMethod;
  /** The returned field that was wrong, for example `observation[3]`; empty for an exception of the game's own. */
  field: string;
  message: string;
  /** Stack of the game's own exception, or of the check that failed. */
  stack: string;
}

/** A game broke the contract; the message names method and field, what came and what is right. */
export class GameError extends Error {
  override readonly name = "GameError";
  readonly kind: GameErrorKind;
  readonly method: GameMethod;
  readonly field: string;

  constructor(kind: GameErrorKind, method: GameMethod, field: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.method = method;
    this.field = field;
    const causeStack = stackOf(cause);
    if (causeStack !== "") this.stack = causeStack;
  }

  /** A plain object with everything a report needs. */
  toReport(): GameErrorReport {
    const { kind, method, field, message } = this;
    return { kind, method, field, message, stack: this.stack ?? "" };
  }
}

/** Wraps whatever `method` threw; anything may be thrown, also a string. */
export function thrownByGame(method: GameMethod, thrown: unknown): GameError {
  const hint = hintFor(thrown);
  const text = `${method}() threw: ${messageOf(thrown)}${hint === "" ? "" : `; ${hint}`}`;
  return new GameError("throw", method, "", text, thrown);
}

/** Names that only a page has, and what a game does instead. */
const PAGE_NAMES: Readonly<Record<string, string>> = {
  window: "use globalThis for globals",
  document: "paint in draw(context, width, height), which gets its canvas",
  localStorage: "keep state in the game object and reset it in start()",
  sessionStorage: "keep state in the game object and reset it in start()",
  Image: "paint with the methods of the context that draw() gets",
  HTMLElement: "paint in draw(context, width, height), which gets its canvas",
  HTMLCanvasElement: "paint in draw(context, width, height), which gets its canvas",
  HTMLImageElement: "paint with the methods of the context that draw() gets",
  Audio: "there is no sound where games run",
  AudioContext: "there is no sound where games run",
  alert: "return what happened in `info`",
  prompt: "return what happened in `info`",
  screen: "draw() gets the width and height to paint in",
};

/** A fix for a common mistake, as one sentence; empty if nothing better is known than the error itself. */
export function hintFor(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : "";
  const missing = pageName(thrown);
  if (missing !== null) {
    return (
      `games run in a web worker, without a page: there is no ${missing}. ${capital(PAGE_NAMES[missing])}; ` +
      "put the rules of a page's game into start() and update(), and its picture into draw()"
    );
  }
  const uncalled = /Class constructor (\w+) cannot be invoked without 'new'/.exec(text);
  return uncalled === null ? "" : `write create: () => new ${uncalled[1]}()`;
}

function pageName(thrown: unknown): string | null {
  if (!(thrown instanceof Error) || thrown.name !== "ReferenceError") return null;
  const name = /^(?:Can't find variable: )?(\w+)(?: is not defined)?$/.exec(thrown.message)?.[1] ?? "";
  return Object.hasOwn(PAGE_NAMES, name) ? name : null;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** A caller's mistake in our own code. */
export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
}

/** A short literal of `value` for messages: at most 60 characters. */
export function show(value: unknown): string {
  let text: string;
  if (typeof value === "string") text = JSON.stringify(value);
  else if (typeof value === "bigint") text = `${value}n, a bigint`;
  else if (typeof value === "function") text = functionText(value);
  else if (ArrayBuffer.isView(value)) {
    const { length } = value as unknown as { length?: number };
    text = `${value.constructor.name}(${length ?? value.byteLength})`;
  } else if (typeof value === "object" && value !== null) {
    try {
      text = JSON.stringify(value) ?? String(value);
    } catch {
      text = Object.prototype.toString.call(value);
    }
    const name = className(value);
    if (name !== "" && name !== "Array") text = text === "{}" ? name : `${name} ${text}`;
  } else text = String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function functionText(value: { name: string }): string {
  if (!Function.prototype.toString.call(value).startsWith("class")) return "a function";
  return value.name === "" ? "a class" : `the class ${value.name}`;
}

function messageOf(thrown: unknown): string {
  if (typeof thrown === "object" && thrown !== null && "message" in thrown) {
    const { name, message } = thrown as { name?: unknown; message: unknown };
    return typeof name === "string" && name !== "Error" ? `${name}: ${message}` : String(message);
  }
  return show(thrown);
}

function stackOf(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null || !("stack" in thrown)) return "";
  return typeof thrown.stack === "string" ? thrown.stack : "";
}
