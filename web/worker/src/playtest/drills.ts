/** Drills: tests of the game that begin in recorded episodes. */

import type { PlaytestDrill, PlaytestDrilled, PlaytestGame } from "@attract/schema";
import type { GameDefinition } from "attract/contract";

export interface DrillOptions {
  order: PlaytestGame;
  /** Left of the budget. */
  seconds: number;
  /** Told what begins: a drill that says nothing for 40 s counts as a hang. */
  onPhase(phase: string): void;
}

/** What came of one drill of the game. */
export async function drillGame(
  drill: PlaytestDrill,
  _definition: GameDefinition,
  _options: DrillOptions,
): Promise<PlaytestDrilled> {
  return { kind: drill.kind, alarms: [], recorded: [], numbers: {}, problem: "there is no such drill" };
}
