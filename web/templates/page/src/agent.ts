// The agent in the page: loaded only on request, after `attract export latest --out public/policy`.

import { attachAgent } from "attract/page";
import { loadAgent } from "attract/play";
import definition from "../game.page.ts";

// After five seconds without a key, a click or a touch it plays; any of them gives the game back.
const agent = await loadAgent(new URL("policy/", document.baseURI));
attachAgent(definition, agent, { idleSeconds: 5 });
