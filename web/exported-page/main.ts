/** What `attract export --page` ships: the game, its agent, and the keyboard in the place of either. */

import { type Agent, controllerOf, loadAgent } from "@attract/play";
import type { GameDefinition } from "attract/contract";
import { describe } from "attract/description";
import { nameOfKey } from "attract/page/key-names";
import { createKeyboard } from "attract/page/keyboard";
import { beside, type Controller, createPlayer } from "attract/page/play";
import { Scores } from "./scores.ts";
import { STYLE } from "./style.ts";

/** Beside the page; not a literal, so that nothing bundles it. */
const GAME = new URL("game.js", document.baseURI).href;

type Who = "agent" | "you" | "against";
const LABELS: Readonly<Record<Who, string>> = {
  agent: "Watch the agent",
  you: "Play yourself",
  against: "Play with the agent",
};
const NAMES: Readonly<Record<Who, string>> = { agent: "The agent", you: "You", against: "You and the agent" };

function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

// A style sheet of its own kind: no rule about `style-src` stands against it.
const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLE);
document.adoptedStyleSheets = [sheet];

const status = element("status");

const POLICY = new URL("policy.json", document.baseURI);

/** An agent for each player: `policies` names the policy of each, or is empty where one plays them all. */
function loadAgents(numAgents: number, policies: readonly string[], level?: number): Promise<Agent[]> {
  const each = Array.from({ length: numAgents }, (_, i) => loadAgent(POLICY, { policy: policies[i], level }));
  return Promise.all(each);
}

/** A choice among the levels of the export, the hardest first chosen; null: it has none. */
async function levelChoice(choose: (level: number) => Promise<void>): Promise<HTMLElement | null> {
  const { levels = [] }: { levels?: { level: number }[] } = await (await fetch(POLICY)).json();
  if (levels.length === 0) return null;
  const select = document.createElement("select");
  for (const { level } of levels) {
    const ends = level === 1 ? ", the easiest" : level === levels.length ? ", the hardest" : "";
    select.append(new Option(`Level ${level}${ends}`, `${level}`));
  }
  select.value = `${levels.length}`;
  select.setAttribute("aria-label", "Level of the agent");
  select.addEventListener("change", async () => {
    await choose(Number(select.value));
    // A key of the game must not change it again.
    select.blur();
  });
  return select;
}

async function begin(): Promise<void> {
  const definition: GameDefinition = (await import(GAME)).default;
  const description = describe(definition);
  const policies = (document.body.dataset.policies ?? "").split(",").filter((name) => name !== "");
  let agents = await loadAgents(description.num_agents, policies);
  const codes = Object.keys(description.keys);
  const keyboard = createKeyboard(description, window);
  const byHand: Controller = { choose: () => keyboard.choose() };
  const controllers: Partial<Record<Who, Controller>> = {};
  const play = (): void => {
    const trained = controllerOf(agents);
    controllers.agent = trained;
    if (codes.length === 0) return;
    if (description.num_agents === 1) controllers.you = byHand;
    else controllers.against = beside(byHand, trained);
  };
  play();

  let who: Who = "agent";
  const scores = new Scores(element("scores"));
  const player = createPlayer({
    definition,
    canvas: element<HTMLCanvasElement>("game"),
    controller: { choose: (instance, begins) => controllers[who]!.choose(instance, begins) },
    seed: crypto.getRandomValues(new Uint32Array(1))[0],
    onEpisodeEnd: ({ episodeReturns }) => scores.add(NAMES[who], [...episodeReturns]),
    onError: (error) => {
      status.textContent = `The game failed: ${error instanceof Error ? error.message : error}`;
      console.error(error);
    },
  });

  const buttons = (Object.keys(controllers) as Who[]).map((one) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = LABELS[one];
    button.addEventListener("click", () => {
      choose(one);
      // A key of the game must not press it again.
      button.blur();
    });
    return { one, button };
  });
  const choose = (chosen: Who): void => {
    who = chosen;
    for (const { one, button } of buttons) button.setAttribute("aria-pressed", String(one === chosen));
    status.textContent = chosen === "agent" ? "The agent plays." : "You play by keyboard.";
  };
  element("players").append(...buttons.map(({ button }) => button));
  const levels = await levelChoice(async (level) => {
    agents = await loadAgents(description.num_agents, policies, level);
    for (const agent of agents) agent.mistakeRate = Number(mistakes.value) / 100;
    play();
  });
  if (levels !== null) element("players").append(levels);
  element("keys").textContent = codes.length > 0 ? `Keys: ${codes.map(nameOfKey).join(" ")}` : "";
  const mistakes = element<HTMLInputElement>("mistakes");
  mistakes.addEventListener("input", () => {
    for (const agent of agents) agent.mistakeRate = Number(mistakes.value) / 100;
    element("mistakes-shown").textContent = `${mistakes.value} %`;
  });
  // Moved by mouse or finger, it gives the arrows back to the game.
  mistakes.addEventListener("pointerup", () => mistakes.blur());
  element("controls").hidden = false;
  choose("agent");
  if (!description.has_draw) {
    element("game").hidden = true;
    status.textContent = "The agent plays. This game has no draw(), so there is only its score to see.";
  }
  player.start();
}

begin().catch((error: unknown) => {
  status.textContent = `This page cannot start: ${error instanceof Error ? error.message : error}`;
  console.error(error);
});
