/** What the server takes of a game's description: checked where the game is defined, where file and option can be named. */

import { GAME_BOUNDS, SPACE_BOUNDS } from "./bounds.gen.ts";
import { ConfigurationError, show } from "./errors.ts";

interface Bound {
  readonly of: "value" | "length" | "names" | "each";
  readonly above?: number;
  readonly min?: number;
  readonly max?: number;
}

/** What a definition has for each bounded field of its description: the option's name and its value. */
export type BoundedValues = {
  readonly [F in keyof typeof GAME_BOUNDS]: readonly [option: string, value: unknown];
};

/** Raises ConfigurationError for a value that the server refuses; undefined and null are none. */
export function checkGameBounds(values: BoundedValues): void {
  for (const name of Object.keys(GAME_BOUNDS) as (keyof typeof GAME_BOUNDS)[]) {
    const [option, value] = values[name];
    for (const bound of GAME_BOUNDS[name]) checkBound(option, "", value, bound);
  }
}

/** Raises ConfigurationError for a field of a space that the server refuses. */
export function checkSpaceBounds(option: string, space: { readonly kind: keyof typeof SPACE_BOUNDS }): void {
  for (const [field, bounds] of Object.entries<readonly Bound[]>(SPACE_BOUNDS[space.kind])) {
    for (const bound of bounds) checkBound(option, field, (space as Record<string, unknown>)[field], bound);
  }
}

function checkBound(option: string, field: string, value: unknown, bound: Bound): void {
  if (value === undefined || value === null) return;
  const prefix = field === "" ? "" : `${field} `;
  if (bound.of === "value") check(option, prefix, value as number, "be", "", bound);
  else if (bound.of === "length" && typeof value === "string")
    check(option, prefix, value.length, "have", " letters", bound);
  else if (bound.of === "length") check(option, prefix, Object.keys(value).length, "have", " entries", bound);
  else if (bound.of === "names")
    for (const name of Object.keys(value))
      check(option, `the name ${show(name)} `, name.length, "have", " letters", bound);
  else
    for (const [key, entry] of Object.entries(value)) {
      if (field === "") check(`${option}.${key}`, "", entry as number, "be", "", bound);
      else check(option, `${field}[${key}] `, entry as number, "be", "", bound);
    }
}

function check(option: string, what: string, got: number, verb: string, unit: string, bound: Bound): void {
  const { above, min, max } = bound;
  let limit = "";
  if (above !== undefined && !(got > above)) limit = `above ${above}`;
  else if (min !== undefined && !(got >= min)) limit = `at least ${min}`;
  else if (max !== undefined && !(got <= max)) limit = `at most ${max}`;
  if (limit !== "") throw new ConfigurationError(option, `${what}must ${verb} ${limit}${unit}, got ${got}`);
}
