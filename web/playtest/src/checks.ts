/** A thread of the sandbox that checks or playtests its game, or plays its episodes again, and says what it found. */

import type {
  Answer,
  CheckGame,
  GameChecked,
  PlayAgain,
  PlaytestGame,
  ReplayEpisodes,
  Tensor,
} from "@attract/schema";
import type { Instance } from "attract/instance";
import { checkGame, type GameReport } from "../../check/src/check.ts";
import { ForbiddenCalls } from "../../check/src/forbidden-globals.ts";
import { CheckedEpisodes } from "../../worker/src/episode/checked-episodes.ts";
import { playAgain, replayEpisodes } from "../../worker/src/episode/replay-episodes.ts";
import { NOWHERE, reportOf } from "../../worker/src/game/failures.ts";
import type { GameModule } from "../../worker/src/game/game-module.ts";
import { loadGame } from "../../worker/src/game/load-game.ts";
import {
  type CheckNews,
  failedCheck,
  failedPlay,
  failedPlaytest,
  failedReplay,
  type GameOrder,
} from "../../worker/src/host/game-checker.ts";
import { checkPageGame } from "../../worker/src/page/page-check.ts";
import type { AskOutside } from "../../worker/src/policy/outside-policy.ts";
import { playtestGame } from "./playtest.ts";
import { ThreadErrors } from "./thread-errors.ts";

type Post = (news: CheckNews) => void;

/** The wire's limits: characters of a finding's texts, and number of findings. */
const MAX_CHARACTERS = 5_000;
const MAX_FINDINGS = 200;

async function check(order: CheckGame, module: GameModule, post: Post): Promise<GameChecked> {
  const { game } = order;
  const now = performance.now.bind(performance);
  const began = now();
  silenceConsole();
  const calls = new ForbiddenCalls(game.url);
  // Before the module is loaded: what it calls at its top counts too.
  calls.watch();
  let definition: Awaited<ReturnType<typeof loadGame>>;
  try {
    definition = await loadGame(module);
  } catch (error) {
    calls.restore();
    const report = reportOf(error, NOWHERE, "load");
    return failedCheck(order, { id: "load", text: report.text, fix: "fix the module", stack: report.stack });
  }
  const episodes = order.record ? new CheckedEpisodes(definition) : null;
  const options = {
    now,
    budgetMilliseconds: order.budget_seconds * 1000,
    onPhase: (phase: string) => post({ type: "phase", phase }),
    onCopy: (instance: Instance, seed: number) => episodes?.watch(instance, seed),
    only:
      order.random_episodes === null
        ? undefined
        : { episodes: order.random_episodes, parameters: order.parameters, isFresh: order.is_fresh },
  };
  // A page may call what it likes: its clock, its chance and its network are given to it.
  if (definition.page !== undefined) calls.restore();
  const report =
    definition.page === undefined
      ? await checkGame(definition, { ...options, module: { name: game.url, text: module.text }, calls })
      : await checkPageGame(definition, options);
  calls.restore();
  const { play } = report;
  return {
    type: "game_checked",
    check_id: order.check_id,
    findings: report.findings.slice(0, MAX_FINDINGS).map(({ thrown, ...finding }) => ({
      ...finding,
      text: clip(finding.text),
      stack: finding.stack === null ? null : clip(finding.stack),
      recorded: episodes?.takeFailed(thrown) ?? null,
    })),
    description: report.description as GameChecked["description"],
    play: play === null ? null : playOf(play),
    first_episode: episodes?.takeFirst() ?? null,
    unplayable: report.isUnplayable,
    seconds: (now() - began) / 1000,
  };
}

function playOf(play: NonNullable<GameReport["play"]>): NonNullable<GameChecked["play"]> {
  return {
    steps: play.steps,
    episodes: play.episodes,
    return_mean: play.episodes === 0 ? null : play.returnMean,
    return_std: play.episodes === 0 ? null : play.returnStd,
    length_mean: play.episodes === 0 ? null : play.lengthMean,
    returns: [...play.returns],
    terminated: play.endReasons.terminated ?? 0,
    paid_steps: play.paidSteps,
    microseconds_per_tick: play.microsecondsPerTick,
    create_milliseconds: play.createMilliseconds,
  };
}

function clip(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}...` : text;
}

async function answer(order: CheckGame, module: GameModule, post: Post): Promise<void> {
  try {
    post({ type: "answered", answer: await check(order, module, post) });
  } catch (error) {
    const text = `the check itself failed: ${error instanceof Error ? error.message : String(error)}`;
    post({
      type: "answered",
      answer: { ...failedCheck(order, { id: "load", text, fix: "report it" }), unplayable: false },
    });
  }
}

async function replay(order: ReplayEpisodes | PlayAgain, module: GameModule, post: Post): Promise<void> {
  silenceConsole();
  let definition: Awaited<ReturnType<typeof loadGame>>;
  try {
    definition = await loadGame(module);
  } catch (error) {
    const { text } = reportOf(error, NOWHERE, "load");
    const answer = order.type === "play_again" ? failedPlay(order, text) : failedReplay(order, [], text);
    post({ type: "answered", answer });
    return;
  }
  const answer =
    order.type === "play_again"
      ? await playAgain(order, definition, post)
      : await replayEpisodes(order, definition, post);
  post({ type: "answered", answer });
}

async function playtest(order: PlaytestGame, module: GameModule, post: Post, ask: AskOutside): Promise<void> {
  const began = performance.now();
  const errors = new ThreadErrors();
  // Before the module is loaded: what it says at its top counts too.
  errors.listen();
  let definition: Awaited<ReturnType<typeof loadGame>>;
  try {
    definition = await loadGame(module);
  } catch (error) {
    const { text } = reportOf(error, NOWHERE, "load");
    const answer = failedPlaytest(order, text, (performance.now() - began) / 1000);
    post({ type: "answered", answer });
    return;
  }
  post({ type: "answered", answer: await playtestGame(order, definition, errors, began, post, ask) });
}

/** A game that is played some ten thousand steps may have as much to say. */
function silenceConsole(): void {
  for (const level of ["debug", "log", "info", "warn", "error"] as const) console[level] = () => undefined;
}

/** Does what is ordered through `port`. */
export function serveCheck(port: MessagePort, module: GameModule): void {
  const post: Post = (news) => port.postMessage(news);
  let answered: (action: Tensor) => void = () => undefined;
  port.onmessage = ({ data }: MessageEvent<GameOrder | Answer>) => {
    if (data.type === "answer") answered(data.action);
    else if (data.type === "check_game") void answer(data, module, post);
    else if (data.type === "replay_episodes" || data.type === "play_again") void replay(data, module, post);
    else {
      const order = { run_id: null, order_id: data.playtest_id };
      void playtest(data, module, post, (question) => {
        post({ type: "ask", ...order, ...question });
        return new Promise((resolve) => {
          answered = resolve;
        });
      });
    }
  };
  // An unhandled promise of the game is no fault of the check.
  addEventListener("unhandledrejection", (event) => event.preventDefault());
}
