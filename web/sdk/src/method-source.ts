/** Which method of a game something is about: its name and its text, by which its place in the module is found. */

import { className } from "./class-name.ts";
import type { GameMethod } from "./errors.ts";

export interface MethodSource {
  /** Class and method, for example `Catch.update`. */
  name: string;
  /** The beginning of its source as the engine has it; empty where that is unknown. */
  text: string;
  /** The returned field it is about, for example `reward`; empty for the method as a whole. */
  field: string;
}

const MAX_CHARACTERS = 4_000;
/** Length of a name; the wire allows 120. */
const MAX_NAME_CHARACTERS = 100;

/** Name and source of `method` of `game`; `field` as in a `GameError`, cut to its first word. */
export function methodSource(game: unknown, method: GameMethod, field = ""): MethodSource {
  const own = (game as Record<string, unknown> | null | undefined)?.[method];
  const text = typeof own === "function" ? Function.prototype.toString.call(own) : "";
  const name = className(game);
  return {
    name: name === "" ? method : `${name.slice(0, MAX_NAME_CHARACTERS)}.${method}`,
    // A bound or native function has no text of its own.
    text: text.includes("[native code]") ? "" : text.slice(0, MAX_CHARACTERS),
    field: (/^[A-Za-z_$][\w$]*/.exec(field)?.[0] ?? "").slice(0, MAX_NAME_CHARACTERS),
  };
}
