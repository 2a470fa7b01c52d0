/** Plays the episode of a finding of `attract ci`, and says whether the fault is still there. */

import type { PlaytestDrill, RecordedEpisode } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { Deadline } from "../../check/src/check-finding.ts";
import { NOT_AGAIN } from "../../playtest/src/alarms.ts";
import { drillGame } from "../../playtest/src/drills.ts";
import { heldMoves } from "../../playtest/src/held-actions.ts";
import { RecordedPlayer } from "../../playtest/src/scripted-players.ts";
import { EpisodeScript } from "../../worker/src/episode/episode-script.ts";
import { isGameError } from "../../worker/src/game/failures.ts";
import { Yielder } from "../../worker/src/rollout/yielding.ts";
import { Sitting, type SittingOptions } from "./sitting.ts";
import type { Played, Replayed } from "./types.ts";

/** For the drills, which play an episode many times. */
const DRILL_MS = 100_000;

export interface FindingOrder {
  /** The oracle of `attract ci` by which the play is judged. */
  oracle: string;
  episode: RecordedEpisode;
  /** Parts of errors that are no finding: those of the baseline, which has `#` in place of each number. */
  known: readonly string[];
  /** Whether a second play in the same copy has to begin, and nothing more. */
  begins: boolean;
}

/** Rejects with EpisodeMismatch where the episode is not of this game. */
export async function replayFinding(
  game: GameDefinition,
  given: FindingOrder,
  options: SittingOptions,
): Promise<Replayed> {
  const { oracle, known } = given;
  // A file leaves out what has a default.
  const episode: RecordedEpisode = { ...{ parameters: {}, error: null }, ...given.episode };
  const { played, errors, difference } = await replayed(game, episode, options);
  const failures =
    oracle === "soft-lock" || oracle === "retry-broken"
      ? await drilled(oracle, game, episode, given.begins, options)
      : failuresOf(oracle, episode, played, errors);
  const isNews = (text: string): boolean =>
    !known.some((part) => withoutNumbers(text).includes(withoutNumbers(part)));
  return { ...played, failures: failures.filter(isNews), difference };
}

interface Replay {
  played: Played;
  errors: string[];
  difference: string | null;
}

async function replayed(
  game: GameDefinition,
  episode: RecordedEpisode,
  options: SittingOptions,
): Promise<Replay> {
  const sitting = new Sitting(game, options);
  let difference: string | null = null;
  try {
    const player = await RecordedPlayer.of(sitting.definition, episode);
    const script = await EpisodeScript.of(sitting.definition, episode);
    await sitting.begin(episode);
    const look = (instance: Instance, step: number): void => {
      if (step < episode.num_steps) difference ??= script.difference(step, instance)?.text ?? null;
    };
    const played = await sitting.play(player, episode.num_steps, { look });
    return { played, errors: sitting.errors, difference };
  } catch (error) {
    if (!isGameError(error)) throw error;
    const played: Played = { steps: 0, seconds: 0, return: 0, ended: "failed" };
    return { played, errors: [...sitting.errors, error.message], difference };
  } finally {
    sitting.close();
  }
}

function failuresOf(oracle: string, episode: RecordedEpisode, played: Played, errors: string[]): string[] {
  const { steps, ended } = played;
  if (oracle === "error" || oracle === "nan") return errors;
  if (ended === "failed") return [`the game failed in step ${steps}: ${errors.at(-1)}`];
  if (oracle === "endless" || oracle === "cannot-be-lost")
    return ended === "terminated" || ended === "game_truncated"
      ? []
      : [`the game did not end the episode within ${episode.num_steps} steps`];
  if (oracle === "won-without-input" || oracle === "score-exploit") {
    const before = episode.returns.reduce((sum, value) => sum + value, 0) / episode.returns.length;
    const isReached = played.return >= before - 1e-9 * Math.max(1, Math.abs(before));
    return isReached ? [`this play still reaches a return of ${played.return}`] : [];
  }
  return [];
}

/** As where it was found. Another build may play the episode differently: that alone is no failure. */
async function drilled(
  kind: PlaytestDrill["kind"],
  game: GameDefinition,
  episode: RecordedEpisode,
  begins: boolean,
  { base }: SittingOptions,
): Promise<string[]> {
  const yielder = new Yielder();
  const now = (): number => performance.now();
  const deadline = new Deadline(now, now() + DRILL_MS);
  const unmarked = { ...episode, marks: { interval: 1, hashes: "" } };
  const { alarms, problem } = await drillGame({ kind, episodes: [unmarked], last_step: null }, game, {
    seed: episode.seed,
    parameters: episode.parameters,
    held: heldMoves(game),
    deadline,
    yieldTurn: () => yielder.yield(),
    now,
    base,
  });
  yielder.close();
  if (deadline.isOver) throw new Error(`it could not be judged in ${DRILL_MS / 1000} s: ${problem}`);
  return alarms
    .filter(({ oracle, text }) => oracle === kind && (!begins || text.startsWith(NOT_AGAIN)))
    .map(({ text }) => text);
}

/** The first line without what differs from play to play, as the baseline keeps it. */
function withoutNumbers(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return line.replaceAll(/\(?https?:\/\/[^\s)]*\)?/g, "").replaceAll(/-?\d+(\.\d+)?(e[+-]?\d+)?/g, "#");
}
