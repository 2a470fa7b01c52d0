/** What `attract probe` and `attract look` open: a document that holds the page's frames, and answers what it found. */

import { type LookOrder, look } from "./look.ts";
import { type ProbeReport, probe } from "./probe.ts";
import type { PageToProbe } from "./trial.ts";

declare global {
  interface Window {
    /** For the browser's driver. */
    attractProbe: {
      phase: string;
      run(page: PageToProbe): Promise<ProbeReport>;
      /** A `PageLook` as JSON. */
      look(order: LookOrder): Promise<string>;
    };
  }
}

window.attractProbe = {
  phase: "starting",
  run: (page) =>
    probe(page, (phase) => {
      window.attractProbe.phase = phase;
    }),
  look: async (order) => JSON.stringify(await look(order)),
};
