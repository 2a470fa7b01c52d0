/** Probe of a page that is an environment with reset() and step(action): the environment describes itself. */

import type { PageProbe, ProbeCandidates, ProbeDraft } from "../../schema/src/api.gen.ts";
import { environmentText } from "./adapter-text.ts";
import { linesOf, starterOf } from "./candidates.ts";
import type { Environment } from "./contracts.ts";
import { MAX_SECONDS, type Writer } from "./draft.ts";
import { BY_ITSELF } from "./start-actions.ts";
import type { PageToProbe } from "./trial.ts";

/** What is said of every page. */
export type Common = Pick<
  PageProbe,
  "title" | "engine" | "contracts" | "unheld" | "errors" | "num_places" | "listens"
>;

export interface Probed {
  readonly report: PageProbe;
  /** Writes the adapter. */
  readonly draft: Writer;
}

export function environmentProbe(page: PageToProbe, common: Common, environment: Environment): Probed {
  const { text, numActions, observation, end, length } = environment;
  const said = {
    score: `${text}.step(action).reward`,
    end: `${text}.step(action).${end}`,
    restart: `${text}.reset()`,
    taps: false,
  };
  const none: ProbeCandidates = {
    start: [],
    moves: [],
    press: [],
    places: [],
    score: [],
    end: [],
    restart: [],
  };
  const missing = length > 0 ? [] : ["observe"];
  const report: PageProbe = {
    ...common,
    ...said,
    starter: starterOf(BY_ITSELF),
    moves: linesOf(Array.from({ length: numActions }, (_, i) => String(i))),
    sees_pixels: false,
    seen: [`${text}.step(action).${observation}`],
    seen_numbers: [length],
    restarts_by_menu: false,
    cut: [],
    unfinished: missing,
    candidates: none,
  };
  const adapter = environmentText({ ...page, title: common.title }, environment);
  const first = {
    press: 0,
    score: null,
    end: null,
    restart: 0,
    max_seconds: MAX_SECONDS,
    alive: false,
    reached: false,
  };
  // It says all itself: there is nothing to choose from.
  const write = async (): Promise<ProbeDraft> => ({ ...said, adapter, unfinished: missing });
  return { report, draft: { first, write } };
}
