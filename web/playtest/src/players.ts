/** The players of a playtest by name. */

import type { PlaytestGame } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { heldActions, idleAction } from "./held-actions.ts";
import { NoveltyPlayer } from "./novelty-player.ts";
import type { Player } from "./player.ts";
import type { PlayerActions } from "./player-actions.ts";
import { type Manner, PolicyPlayer } from "./policy-player.ts";
import { HoldingPlayer, RandomPlayer, RecordedPlayer, StickyPlayer } from "./scripted-players.ts";

/** Rejects with Error where there is no such player of this game. */
export async function createPlayer(
  name: string,
  { seed, policies, episodes }: Pick<PlaytestGame, "seed" | "policies" | "episodes">,
  definition: GameDefinition,
  actions: PlayerActions,
): Promise<Player> {
  switch (name) {
    case "idle":
      return new HoldingPlayer(idleAction(definition));
    case "random":
      return new RandomPlayer(seed);
    case "sticky":
      return new StickyPlayer(seed, actions);
    case "novelty":
      return new NoveltyPlayer(seed, definition);
  }
  const [, kind, number] = /^(hold|recorded)-(\d+)$/.exec(name) ?? [];
  if (kind === "hold")
    return new HoldingPlayer(entryOf(heldActions(definition.action), number, "held actions"));
  if (kind === "recorded")
    return await RecordedPlayer.of(definition, entryOf(episodes, number, "recorded episodes"));
  const [policyName, manner] = name.split(":");
  const policy = policies.find((each) => each.name === policyName);
  if (policy === undefined) throw new Error(`there is no policy ${policyName}`);
  return new PolicyPlayer(seed, policy, manner as Manner, definition);
}

function entryOf<T>(entries: readonly T[], number: string | undefined, what: string): T {
  const entry = entries[Number(number)];
  if (entry === undefined) throw new Error(`number ${number} of ${entries.length} ${what}, counted from 0`);
  return entry;
}
