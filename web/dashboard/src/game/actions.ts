/** Actions of a person or of chance, from what a game says of its keys and its action space. */

import type { ActionSpace, GameDescription } from "@attract/schema";

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
const ARROWS: Readonly<Record<string, string>> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
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

/** "ArrowLeft" is "←", "KeyA" is "A", "Space" is "Space". */
export function nameOfKey(code: string): string {
  return ARROWS[code] ?? code.replace(/^(Key|Digit|Numpad)/, "");
}

/** A uniformly random action; an unbounded box component is drawn from [-1, 1]. `random` is in [0, 1). */
export function randomAction(space: ActionSpace, random: () => number): ActionValue {
  const below = (n: number) => Math.min(n - 1, Math.floor(random() * n));
  switch (space.kind) {
    case "discrete":
      return below(space.n);
    case "multi_discrete":
      return space.nvec.map(below);
    case "multi_binary":
      return Array.from({ length: space.n }, () => below(2));
    case "box": {
      const size = space.shape.reduce((product, extent) => product * extent, 1);
      return Array.from({ length: size }, (_, i) => {
        const low = bound(space.low, i) ?? -1;
        const high = bound(space.high, i) ?? 1;
        return low + (high - low) * random();
      });
    }
  }
}

function bound(limit: number | readonly (number | null)[] | null, i: number): number | null {
  return typeof limit === "object" && limit !== null ? limit[i] : limit;
}

function labelOf(space: ActionSpace, action: ActionValue): string | null {
  if (space.kind !== "discrete" || typeof action !== "number") return null;
  return space.labels?.[action] ?? null;
}
