/** What random play earns, episode by episode: whether it lasts long enough to be played, and whether it can be learned from. */

import { HUGE_REWARD } from "./bounds.gen.ts";
import type { Finding, Report } from "./check-finding.ts";
import type { GameDefinition } from "./contract.ts";
import { show } from "./errors.ts";
import type { Instance } from "./instance.ts";
import { methodSource } from "./method-source.ts";

/** From this number on, episodes that end in their first step are no accident if they are the majority. */
const MIN_AT_ONCE = 3;
const MOST = 0.75;
/** From this number of ends on, returns that are all the same say something. */
const MIN_ENDS = 3;
/** Share of the rewards by which sums of fractions may differ. */
const ROUNDING = 1e-6;

/** Owned by one random play. */
export class RewardWatch {
  readonly #definition: GameDefinition;
  #episodes = 0;
  /** Returns of the episodes that were over in their first step. */
  readonly #atOnce: number[] = [];
  /** Each agent's terminated episodes: their returns, and those before the last step. */
  readonly #ends: { readonly total: number; readonly before: number }[] = [];
  #largest = 0;
  /** Number of rewards other than 0, and the sum of the logarithms of their sizes. */
  #numPaid = 0;
  #logSum = 0;

  constructor(definition: GameDefinition) {
    this.#definition = definition;
  }

  /** Called after each step. */
  look(instance: Instance): void {
    for (let agent = 0; agent < instance.numAgents; agent++) {
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
      this.#ends.push({ total, before: isLast ? total - instance.rewards[agent] : total });
    });
  }

  report(report: Report, { numAgents, game }: Instance): void {
    const method = (field: string): Finding["method"] => methodSource(game, "update", field);
    this.#reportSizes((finding) => report({ ...finding, method: method("reward") }));
    this.#reportEnds(this.#atOnce.length / numAgents, (finding) =>
      report({ ...finding, method: method("terminated") }),
    );
    this.#reportLost((finding) => report({ ...finding, method: method("reward") }));
  }

  /** Whatever was earned, each end takes it back: the score is reset or hidden as the game ends. */
  #reportLost(report: Report): void {
    if (this.#ends.length < MIN_ENDS) return;
    const befores = this.#ends.map(({ before }) => before);
    const [highest, least] = [Math.max(...befores), Math.min(...befores)];
    const slack = ROUNDING * Math.max(...befores.map(Math.abs));
    const [{ total }] = this.#ends;
    const isLost = this.#ends.every(
      (end) => Math.abs(end.total - total) <= slack && end.before > total - slack,
    );
    if (!isLost || highest - least <= slack) return;
    const isPage = this.#definition.page !== undefined;
    report({
      id: "score-lost-at-end",
      severity: "error",
      text:
        `in ${this.#ends.length} episodes of random play up to ${show(round(highest))} was earned, and the last step ` +
        `took it back each time: each has a return of ${show(round(total))}, however it was played`,
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

function round(value: number): number {
  return Number(value.toPrecision(6));
}
