/** Actions of a person, from what a game says of its keys and its action space. */

import type { ActionSpace, GameDescription } from "@attract/schema";
import { ARROWS, nameOfKey } from "attract/page/key-names";

type ActionValue = number | number[];

/** One thing a finger can press: every key that means the same action. */
export interface TouchKey {
  action: ActionValue;
  label: string;
  codes: string[];
  /** Where it lies on the cross of arrows; null when it is no arrow. */
  place: "up" | "down" | "left" | "right" | null;
}

const PLACES: Readonly<Record<string, TouchKey["place"]>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};

/** The buttons that stand for a game's keys on a touch screen. */
export function touchKeys(description: Pick<GameDescription, "keys" | "action">): TouchKey[] {
  const keys: TouchKey[] = [];
  for (const [code, action] of Object.entries(description.keys)) {
    const known = keys.find((key) => JSON.stringify(key.action) === JSON.stringify(action));
    if (known !== undefined) {
      known.codes.push(code);
      known.place ??= PLACES[code] ?? null;
      continue;
    }
    keys.push({
      action,
      label: ARROWS[code] ?? labelOf(description.action, action) ?? nameOfKey(code),
      codes: [code],
      place: PLACES[code] ?? null,
    });
  }
  return keys;
}

function labelOf(space: ActionSpace, action: ActionValue): string | null {
  if (space.kind !== "discrete" || typeof action !== "number") return null;
  return space.labels?.[action] ?? null;
}
