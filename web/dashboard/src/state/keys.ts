/** The keys of the whole page: which there are, and what a pressed key means. */

import { store, stored } from "./stored.ts";

export type KeyCommand = "help" | "search" | "home" | "runs" | "tuning" | "live";

interface KeyEntry {
  /** Pressed one after the other. */
  keys: readonly string[];
  does: string;
  command: KeyCommand;
}

export const KEYS: readonly KeyEntry[] = [
  { keys: ["?"], does: "List the keys", command: "help" },
  { keys: ["/"], does: "Go to the search field of the page", command: "search" },
  { keys: ["g", "h"], does: "Go to Home", command: "home" },
  { keys: ["g", "r"], does: "Go to the runs", command: "runs" },
  { keys: ["g", "t"], does: "Go to the studies", command: "tuning" },
  { keys: ["g", "l"], does: "Go to the run that goes on", command: "live" },
];

/** What a browser does by itself, and the parts of a page: listed here, handled elsewhere. */
export const PART_KEYS: readonly { keys: readonly string[]; does: string }[] = [
  { keys: ["←", "↑", "→", "↓"], does: "Among the games: choose the one beside it" },
  { keys: ["j", "k", "x"], does: "In a table: the next row, the one before, tick it; Enter opens it" },
  { keys: ["Esc"], does: "Close a question or this list" },
];

/** Time between the two keys of a sequence. */
const SEQUENCE_MS = 1500;

export interface Pressed {
  key: string;
  atMs: number;
}

/** The command of a key that was pressed after `before`; null: none. */
export function commandOf(before: Pressed | null, pressed: Pressed): KeyCommand | null {
  const isSequence = before !== null && pressed.atMs - before.atMs <= SEQUENCE_MS;
  const found = KEYS.find(({ keys }) =>
    keys.length === 1
      ? keys[0] === pressed.key
      : isSequence && keys[0] === before.key && keys[1] === pressed.key,
  );
  return found?.command ?? null;
}

const STORED = "attract keys";

/** Whether the person wants them: a speech input, for example, types them by mistake. */
export function areKeysOn(): boolean {
  return stored(STORED) !== "off";
}

export function keepKeysOn(areOn: boolean): void {
  store(STORED, areOn ? "" : "off");
}
