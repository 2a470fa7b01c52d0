/** What the Playwright test of a finding of `attract ci` loads, in Node and in the page: one script, no server. */

import "../page-clock/src/index.ts";
import { playFinding } from "./player.ts";
import { playInPage, playModule } from "./runner.ts";

// A page that the clock has taken over is the game's: nothing more is put into it.
if (globalThis.window === undefined || window.frameElement === null)
  Object.assign(globalThis, { attractTest: { playFinding, playInPage, playModule } });
