/** A page made for a test, and what `attract probe` finds in it. */

import { probe } from "../../../web/page-probe/src/probe.ts";
import "../worker/page/hop-page.ts";

const CANVAS = '<canvas width="200" height="100"></canvas>';

/** @param script of the page, which calls `tick` in each frame. */
export function found(script: string, body = CANVAS): ReturnType<typeof probe> {
  const page = `<!doctype html><title>Test</title>${body}<script>
    parent.attractTestClock(window);
  </script><script>{
    const held = {}, context = document.querySelector("canvas")?.getContext("2d");
    addEventListener("keydown", ({ code }) => { held[code] = true; });
    addEventListener("keyup", ({ code }) => { held[code] = false; });
    ${script}
    (function frame() { tick(); requestAnimationFrame(frame); })();
  }</script>`;
  const address = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  return probe({ page: address, size: [200, 100] }, () => undefined);
}
