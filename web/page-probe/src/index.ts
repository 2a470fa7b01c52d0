/** What `attract probe` and `attract look` open: a document that holds the page's frames, and answers what it found. */

import type { PageProbe, ProbeChoice, ProbeDraft } from "../../schema/src/api.gen.ts";
import type { Writer } from "./draft.ts";
import { draw, type LookOrder, look } from "./look.ts";
import { probe } from "./probe.ts";
import type { PageToProbe } from "./trial.ts";

declare global {
  interface Window {
    /** For the browser's driver. */
    attractProbe: {
      phase: string;
      run(page: PageToProbe): Promise<PageProbe>;
      /** The adapter of certain candidates of the last `run`; `open` are options for which no candidate will do. */
      write(choice: ProbeChoice, open: readonly string[]): Promise<ProbeDraft>;
      /** A `PageLook` as JSON. */
      look(order: LookOrder): Promise<string>;
      draw(order: LookOrder): Promise<string | null>;
    };
  }
}

let draft: Writer | null = null;

window.attractProbe = {
  phase: "starting",
  run: async (page) => {
    const found = await probe(page, (phase) => {
      window.attractProbe.phase = phase;
    });
    draft = found.draft;
    return found.report;
  },
  write: async (choice, open) => {
    if (draft === null) throw new Error("expected a probed page");
    return draft.write(choice, open);
  },
  look: async (order) => JSON.stringify(await look(order)),
  draw,
};
