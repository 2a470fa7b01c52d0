/** A game that a playtest is tried on, and what an episode of it needs. */

import type { PlaytestGame } from "@attract/schema";
import { EpisodeTape } from "@attract/worker/episode/episode-tape";
import type { GameDefinition, GameOptions, StartContext } from "attract/contract";
import { defineGame } from "attract/define-game";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { box, discrete } from "attract/spaces";
import { EpisodeAlarms } from "../../../../web/playtest/src/alarms.ts";
import { GameCopies } from "../../../../web/playtest/src/game-copies.ts";
import { InfoWatch } from "../../../../web/playtest/src/info-watch.ts";
import type { EpisodeTable } from "../../../../web/playtest/src/play-episode.ts";
import type { Player } from "../../../../web/playtest/src/player.ts";
import { PlayerActions } from "../../../../web/playtest/src/player-actions.ts";
import { ThreadErrors } from "../../../../web/playtest/src/thread-errors.ts";

/** What `update` is given besides: the tick, from 1, and the action. */
export type Extra = (tick: number, action: number) => Record<string, unknown> | undefined;

/** Six actions; sees its place on a line, moved by the actions, and a number drawn at the start; ends after 30 ticks. */
export function lineGame(extra: Extra = () => undefined, options: Partial<GameOptions> = {}): GameDefinition {
  return defineGame({
    id: "Line-v1",
    tickSeconds: 0.1,
    observation: box({ shape: [2], low: -100, high: 100 }),
    action: discrete(6),
    metrics: { place: "max" },
    create: () => {
      let tick = 0;
      let place = 0;
      let luck = 0;
      return {
        start({ random }: StartContext) {
          tick = place = 0;
          luck = random();
          return [place, luck];
        },
        update(_: number, action: number) {
          tick++;
          place += action;
          return {
            observation: [Math.min(place, 100), luck],
            reward: action,
            terminated: tick === 30,
            info: { place },
            ...extra(tick, action),
          };
        },
      } as never;
    },
    ...options,
  });
}

export function orderOf(fields: Partial<PlaytestGame> = {}): PlaytestGame {
  return {
    type: "playtest_game",
    playtest_id: 4,
    game: { name: "line.ts", sha256: "a".repeat(64), url: "games/x.js", has_page: false },
    seed: { low: 7, high: 0 },
    plays: [],
    drills: [],
    policies: [],
    episodes: [],
    parameters: {},
    max_steps: null,
    fresh_every: 0,
    record: false,
    observed: [],
    claim: null,
    budget_seconds: 20,
    ...fields,
  };
}

/** All but a clock that moves: a turn of the event loop is one of Node's. */
export function tableOf(game: GameDefinition, fields: Partial<EpisodeTable> = {}): EpisodeTable {
  const actions = new PlayerActions(game);
  return {
    copies: new GameCopies(game, 0, actions.masks),
    actions,
    alarms: new EpisodeAlarms(),
    tape: new EpisodeTape(game),
    errors: new ThreadErrors(),
    ofLoading: [],
    watch: new InfoWatch(game),
    claim: null,
    yieldTurn: () => new Promise((resolve) => setImmediate(resolve)),
    now: () => 0,
    started: () => undefined,
    goesOn: () => true,
    ...fields,
  };
}

/** What the player does in each step of an episode of `game`: one row of all agents' numbers per step. */
export function actionsOf(player: Player, game: GameDefinition, index = 0, steps = 30): number[][] {
  const actions = new PlayerActions(game);
  const instance: Instance = createInstance(game, { masks: actions.masks });
  instance.setStream(7, 0, index);
  instance.start(0);
  player.begin(index);
  const rows: number[][] = [];
  for (let step = 0; step < steps && !instance.episodeOver && player.act(instance, step, actions); step++) {
    rows.push(Array.from(actions.row));
    instance.step(actions.ofGame as never);
  }
  return rows;
}

/** Allows the even actions alone. */
export function evenGame(): GameDefinition {
  return lineGame(undefined, {
    actionMask: true,
    create: () =>
      ({
        start: ({ out }: StartContext) => {
          mask(out.actionMask as Uint8Array);
          return [0, 0];
        },
        update: (_: number, action: number, out: StartContext["out"]) => {
          if (action % 2 === 1) throw new Error(`${action} is not allowed`);
          mask(out.actionMask as Uint8Array);
          return { observation: [0, 0], reward: 0, terminated: false };
        },
      }) as never,
  });
}

function mask(allowed: Uint8Array): void {
  for (let i = 0; i < allowed.length; i++) allowed[i] = 1 - (i % 2);
}
