/** What random play earns, episode by episode: whether it lasts long enough to be played, and whether it can be learned from. */

import { HUGE_REWARD } from "attract/bounds.gen";
import type { GameDefinition } from "attract/contract";
import { show } from "attract/errors";
import type { Instance } from "attract/instance";
import { methodSource } from "attract/method-source";
import type { Finding, Report } from "./check-finding.ts";

/** From this number on, episodes that end in their first step are no accident if they are the majority. */
const MIN_AT_ONCE = 3;
const MOST = 0.75;
/** From this number of ends on, returns that are all the same say something. */
const MIN_ENDS = 3;
/** Share of the rewards by which sums of fractions may differ. */
const ROUNDING = 1e-6;
/** Digits by which rewards are alike. */
const DIGITS = 6;
/** Share of what was earned by which returns may differ that are the same beside what each step earns. */
const KEPT_SHARE = 0.05;

/** An episode that terminated: its return, the same before its last step, and the number of steps before that. */
interface End {
  readonly total: number;
  readonly before: number;
  readonly steps: number;
}

/** Owned by one random play. */
export class RewardWatch {
  readonly #definition: GameDefinition;
  #episodes = 0;
  /** Returns of the episodes that were over in their first step. */
  readonly #atOnce: number[] = [];
  /** Each agent's terminated episodes. */
  readonly #ends: End[] = [];
  /** How often each reward came before an episode's last step. */
  readonly #counts = new Map<number, number>();
  #largest = 0;
  /** The largest step up and down before an episode's last step. */
  #rise = 0;
  #fall = 0;
  /** Number of rewards other than 0, and the sum of the logarithms of their sizes. */
  #numPaid = 0;
  #logSum = 0;

  constructor(definition: GameDefinition) {
    this.#definition = definition;
  }

  /** Called after each step. */
  look(instance: Instance): void {
    for (let agent = 0; agent < instance.numAgents; agent++) {
      if (instance.valid[agent] !== 0 && !instance.episodeOver) {
        const reward = round(instance.rewards[agent]);
        this.#counts.set(reward, (this.#counts.get(reward) ?? 0) + 1);
        this.#rise = Math.max(this.#rise, reward);
        this.#fall = Math.max(this.#fall, -reward);
      }
      const size = instance.valid[agent] === 0 ? 0 : Math.abs(instance.rewards[agent]);
      if (size === 0) continue;
      this.#numPaid++;
      this.#logSum += Math.log(size);
      this.#largest = Math.max(this.#largest, size);
    }
    if (!instance.episodeOver) return;
    this.#episodes++;
    if (instance.endReason !== "terminated") return;
    if (instance.episodeSteps === 1) this.#atOnce.push(...Array.from(instance.episodeReturns));
    instance.episodeReturns.forEach((total, agent) => {
      const isLast = instance.valid[agent] !== 0;
      const before = isLast ? total - instance.rewards[agent] : total;
      this.#ends.push({ total, before, steps: instance.episodeSteps - 1 });
    });
  }

  report(report: Report, { numAgents, game }: Instance): void {
    const method = (field: string): Finding["method"] => methodSource(game, "update", field);
    this.#reportSizes((finding) => report({ ...finding, method: method("reward") }));
    this.#reportEnds(this.#atOnce.length / numAgents, (finding) =>
      report({ ...finding, method: method("terminated") }),
    );
    this.#reportLost((finding) => report({ ...finding, method: method("reward") }));
    this.#reportFalls(report);
  }

  /** A number that is misread falls as it gets more digits: `750`, then `1.000` taken for one. */
  #reportFalls(report: Report): void {
    const { page } = this.#definition;
    if (page?.score === undefined || this.#rise === 0 || this.#fall <= this.#rise) return;
    report({
      id: "score-falls",
      severity: "warning",
      text:
        `score(window) fell by ${show(this.#fall)} in one step while the game went on, and never rose by more than ` +
        `${show(this.#rise)} in one`,
      fix: "compare score(window) with what the page shows, as before and after 1,000; ignore this if the game takes so much away",
    });
  }

  /** Whatever was earned, each end takes it back: the score is reset or hidden as the game ends. */
  #reportLost(report: Report): void {
    if (this.#ends.length < MIN_ENDS) return;
    // What nearly each step earns, such as time alive, is kept, whatever becomes of the score.
    const [[usual]] = [...this.#counts, [0, 0]].sort(([, a], [, b]) => b - a);
    const lost = lostOf(this.#ends, 0) ?? (usual === 0 ? null : lostOf(this.#ends, usual));
    if (lost === null) return;
    const { highest, total, pay } = lost;
    const time = pay === 0 ? "" : ` beside ${show(pay)} for each step`;
    const isPage = this.#definition.page !== undefined;
    report({
      id: "score-lost-at-end",
      severity: "error",
      text:
        `in ${this.#ends.length} episodes of random play up to ${show(round(highest))} was earned${time}, and the last ` +
        `step took it back each time: each has a return of ${show(round(total))}${time}, however it was played`,
      fix: isPage
        ? "score(window) is reset or hidden as the game ends: keep its last value (let last = 0; score: (w) => " +
          "over(w) ? last : (last = w.score)), or read a variable that lasts until the next game begins"
        : "reward what is earned in each step; do not take it back as the game ends",
    });
  }

  /** A module of one step is a bandit where its rewards differ; a page takes more frames than one step has to answer a press. */
  #reportEnds(numAtOnce: number, report: Report): void {
    if (numAtOnce < MIN_AT_ONCE || numAtOnce < MOST * this.#episodes) return;
    const isPage = this.#definition.page !== undefined;
    const isAlike = new Set(this.#atOnce).size === 1;
    if (!isPage && !isAlike) return;
    report({
      id: "over-at-once",
      severity: isAlike ? "error" : "warning",
      text:
        `${numAtOnce} of ${this.#episodes} episodes of random play were over in their first step` +
        (isAlike ? `, each with a return of ${this.#atOnce[0]}: no action was worth more than another` : ""),
      fix: isPage
        ? "check what over(window) reads: it must be false while the game plays; if it still shows the end of the " +
          "previous game, add playing(window): the episode then starts once it is true"
        : "return terminated: true only in the tick in which the game ends",
    });
  }

  #reportSizes(report: Report): void {
    const usual = Math.exp(this.#logSum / Math.max(1, this.#numPaid));
    if (this.#largest > HUGE_REWARD && this.#largest > HUGE_REWARD * usual) {
      report({
        id: "reward-size",
        severity: "error",
        text:
          `the largest reward was ${show(this.#largest)}, a usual one ${show(Number(usual.toPrecision(2)))}: ` +
          "training scales rewards by their spread, so beside the largest the others vanish",
        fix: "use one scale: a goal is worth a few hundred steps at most; take the logarithm of a score that grows by factors",
      });
    }
  }
}

/**
 * The highest that was earned before a last step, and the return that each episode has all the same, without `pay` for each step.
 * Null: the returns differ, or nothing is taken back.
 */
function lostOf(
  ends: readonly End[],
  pay: number,
): { readonly highest: number; readonly total: number; readonly pay: number } | null {
  const befores = ends.map(({ before, steps }) => before - pay * steps);
  const totals = ends.map(({ total, steps }) => total - pay * steps);
  const [highest, least] = [Math.max(...befores), Math.min(...befores)];
  const rounding = ROUNDING * Math.max(...befores.map(Math.abs));
  const slack = pay === 0 ? rounding : KEPT_SHARE * (highest - least);
  const isLost = befores.every(
    (before, i) => Math.abs(totals[i] - totals[0]) <= slack && before > totals[i] - slack,
  );
  // The last step may be cut short, and has a part of the pay then.
  return isLost && Math.abs(pay) <= slack && highest - least > rounding
    ? { highest, total: totals[0], pay }
    : null;
}

function round(value: number): number {
  return Number(value.toPrecision(DIGITS));
}
