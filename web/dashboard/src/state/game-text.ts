/** What a game's card and page say of it in words: spaces, parameters, what was learned in how long. */

import type { GameCard, GameDescription } from "@attract/schema";
import { formatDuration, formatNumber, plural } from "./format.ts";

type Space = GameDescription["observation"] | GameDescription["action"];

/** Labels of more choices than this are left out. */
const MAX_LABELS = 12;

/** "4 numbers", "24 × 24 × 3 pixels", "2 choices: left, right"; of several fields one part each. */
export function spaceText(space: Space): string {
  switch (space.kind) {
    case "box":
      return boxText(space);
    case "discrete": {
      const labels = space.labels ?? [];
      const isShort = labels.length > 0 && labels.length <= MAX_LABELS;
      return `${plural(space.n, "choice")}${isShort ? `: ${labels.join(", ")}` : ""}`;
    }
    case "multi_discrete":
      return `${plural(space.nvec.length, "choice")} at once, of ${space.nvec.join(", ")}`;
    case "multi_binary":
      return `${space.n} ${space.n === 1 ? "switch" : "switches"}`;
    case "set":
      return `up to ${space.max} × ${plural(space.shape[0], "number")} in any order`;
    case "dict":
    case "mixed":
      return Object.entries(space.spaces)
        .map(([name, part]) => `${name}: ${spaceText(part)}`)
        .join("; ");
  }
}

function boxText({ shape, dtype, low, high }: Extract<Space, { kind: "box" }>): string {
  const isPicture = dtype === "uint8" && shape.length > 1;
  const size = shape.length === 0 ? "1" : shape.join(" × ");
  const noun = isPicture ? "pixels" : size === "1" ? "number" : "numbers";
  const limits =
    typeof low === "number" && typeof high === "number" && !isPicture
      ? ` from ${formatNumber(low)} to ${formatNumber(high)}`
      : "";
  return `${size} ${noun}${limits}`;
}

/** "10, from 6 to 20". */
export function parameterText(range: GameDescription["parameters"][string]): string {
  return `${formatNumber(range.default)}, from ${formatNumber(range.low)} to ${formatNumber(range.high)}`;
}

/** "Learned in 2 s: 500 points, random play 21.7."; null where no policy is kept. */
export function learnText(card: GameCard | null): string | null {
  if (card === null || card.trained_return === null) return null;
  const when = card.learn_seconds === null ? "Trained" : `Learned in ${formatDuration(card.learn_seconds)}`;
  const random = card.random_return === null ? "" : `, random play ${formatNumber(card.random_return)}`;
  return `${when}: ${formatNumber(card.trained_return)} points${random}.`;
}

/** Whether a run's or a study's game is the one that this server calls `name`: a command names a file by its whole path. */
export function isGame(name: string, given: string): boolean {
  return given === name || (given.startsWith("/") && given.endsWith(`/${name}`));
}

/** The game of this server that is named; null: it has none. */
export function gameNamed<T extends { readonly name: string }>(games: readonly T[], given: string): T | null {
  return games.find(({ name }) => name === given) ?? games.find(({ name }) => isGame(name, given)) ?? null;
}
