/** What an agent can choose between, in words, and what it makes of each. */

import type { GameDescription } from "@attract/schema";
import type { Decision } from "@attract/worker/stage/stage-messages";
import { nameOfKey } from "attract/page/key-names";
import { mixedParts } from "attract/spaces";

type Played = Pick<GameDescription, "keys" | "action">;

/** With more choices than this, only the likeliest are shown. */
export const MAX_CHOICES = 12;

/** One choice, or one switch. */
export interface Choice {
  label: string;
  /** Names of the keys that a person has for it. */
  keys: string[];
  /** 0 to 1; null if no policy was evaluated. */
  probability: number | null;
  isTaken: boolean;
}

/** What `decision` was made of, at most `MAX_CHOICES` in the game's order; empty for continuous actions, which have none. */
export function choicesOf(description: Played, { action, probabilities }: Decision): Choice[] {
  const taken = new Set(takenOf(description.action, action));
  const all = labelsOf(description.action).map((label, i) => ({
    label,
    keys: keysOf(description, i),
    probability: probabilities.length > i ? probabilities[i] : null,
    isTaken: taken.has(i),
  }));
  if (all.length <= MAX_CHOICES) return all;
  const weight = (choice: Choice) => (choice.isTaken ? 2 : (choice.probability ?? 0));
  const kept = new Set([...all].sort((a, b) => weight(b) - weight(a)).slice(0, MAX_CHOICES));
  return all.filter((choice) => kept.has(choice));
}

function labelsOf(space: Played["action"]): string[] {
  switch (space.kind) {
    case "discrete":
      return Array.from({ length: space.n }, (_, i) => space.labels?.[i] ?? String(i));
    case "multi_discrete":
      return space.nvec.flatMap((n, c) => Array.from({ length: n }, (_, a) => `${c + 1}: ${a}`));
    case "multi_binary":
      return Array.from({ length: space.n }, (_, i) => String(i + 1));
    case "mixed":
      return mixedParts(space).flatMap(({ name, space: part }) =>
        labelsOf(part).map((label) => `${name}: ${label}`),
      );
    case "box":
      return [];
  }
}

/** Where in the list of labels the chosen ones stand. */
function takenOf(space: Played["action"], action: Decision["action"]): readonly number[] {
  const values = typeof action === "number" ? [action] : action;
  switch (space.kind) {
    case "discrete":
      return values;
    case "multi_discrete":
      return values.map((value, c) => space.nvec.slice(0, c).reduce((sum, n) => sum + n, value));
    case "multi_binary":
      return values.flatMap((value, i) => (value === 1 ? [i] : []));
    case "mixed": {
      let before = 0;
      return mixedParts(space).flatMap(({ space: part, from, size }) => {
        const own = takenOf(part, values.slice(from, from + size)).map((place) => before + place);
        before += labelsOf(part).length;
        return own;
      });
    }
    case "box":
      return [];
  }
}

/** The keys that select a single choice; none for other action kinds, where a key stands for several components. */
function keysOf({ keys, action }: Played, choice: number): string[] {
  if (action.kind !== "discrete") return [];
  return Object.entries(keys).flatMap(([code, value]) => (value === choice ? [nameOfKey(code)] : []));
}
