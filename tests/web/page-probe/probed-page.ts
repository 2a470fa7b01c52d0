/** A page made for a test, and what `attract probe` finds in it. */

import type { Writer } from "../../../web/page-probe/src/draft.ts";
import { probe } from "../../../web/page-probe/src/probe.ts";
import type { PageToProbe } from "../../../web/page-probe/src/trial.ts";
import type { PageProbe, ProbeDraft } from "../../../web/schema/src/api.gen.ts";
import "../worker/page/hop-page.ts";

const CANVAS = '<canvas width="200" height="100"></canvas>';

/** @param script of the page, which calls `tick` in each frame. */
export function pageOf(script: string, body = CANVAS): PageToProbe {
  const page = `<!doctype html><title>Test</title>${body}<script>
    parent.attractTestClock(window);
  </script><script>{
    const held = {}, context = document.querySelector("canvas")?.getContext("2d");
    addEventListener("keydown", ({ code }) => { held[code] = true; });
    addEventListener("keyup", ({ code }) => { held[code] = false; });
    ${script}
    (function frame() { tick(); requestAnimationFrame(frame); })();
  }</script>`;
  return { page: URL.createObjectURL(new Blob([page], { type: "text/html" })), size: [200, 100] };
}

/** What a probe of `pageOf` finds. */
export async function found(
  script: string,
  body?: string,
): Promise<PageProbe & ProbeDraft & { draft: Writer }> {
  const { report, draft } = await probe(pageOf(script, body), () => undefined);
  return { ...(await draft.write(draft.first)), ...report, draft };
}
