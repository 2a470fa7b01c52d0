/** What `attract probe` opens: a document that holds the page's frames, and answers what it found. */

import { type ProbeReport, probe } from "./probe.ts";
import type { PageToProbe } from "./trial.ts";

declare global {
  interface Window {
    /** For the browser's driver. */
    attractProbe: {
      phase: string;
      run(page: PageToProbe): Promise<ProbeReport>;
    };
  }
}

window.attractProbe = {
  phase: "starting",
  run: (page) =>
    probe(page, (phase) => {
      window.attractProbe.phase = phase;
    }),
};
