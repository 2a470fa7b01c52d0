/** How often a game moves what is played with: games on a grid do so once in many frames. */

import type { Players } from "./player.ts";
import { isSame, type Samples } from "./trial.ts";

/** A player who moves more often moves smoothly, or with each press. */
const MIN_TICKS = 6;
const MAX_TICKS = 15;
/** Moves of the player that say how far apart they are. */
const MIN_MOVES = 8;

/** Frames between two moves of the player, where there are many; null: it is not known, or moves more often. */
export function stepTicksOf(plays: readonly Samples[], { state, drawn }: Players): number | null {
  const texts = [state, drawn].flatMap((player) => [player?.x, player?.y]).map((text) => ownerOf(text));
  const gaps = plays.flatMap(({ places, rows }) => {
    const columns = places.flatMap(({ text }, at) => (texts.includes(text) ? [at] : []));
    const moved = rows.flatMap((row, tick) =>
      tick > 0 && columns.some((at) => !isSame(row[at], rows[tick - 1][at])) ? [tick] : [],
    );
    return moved.slice(1).map((tick, i) => tick - moved[i]);
  });
  const least = Math.min(...gaps);
  return gaps.length < MIN_MOVES || least < MIN_TICKS ? null : Math.min(least, MAX_TICKS);
}

/** The place of a coordinate: a thing that is drawn has both of its own. */
function ownerOf(text: string | null | undefined): string | undefined {
  return text?.replace(/\[0\]\?\.[xy]$/, "");
}
