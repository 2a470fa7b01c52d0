// The page: you play by keyboard, or the agent does that `attract export` put into public/policy.

import { describe } from "attract";
import { createKeyboard, createPlayer } from "attract/page";
import { type AgentController, controllerOf, loadAgent } from "attract/play";
import game from "./game.ts";

const canvas = document.querySelector<HTMLCanvasElement>("#game")!;
const status = document.querySelector("#status")!;
const who = document.querySelector<HTMLButtonElement>("#who")!;

const keyboard = createKeyboard(describe(game), window);
let agent: AgentController | null = null;

const player = createPlayer({
  definition: game,
  canvas,
  controller: { choose: (instance, begins) => (agent ?? keyboard).choose(instance, begins) },
  seed: Date.now() % 2 ** 32,
  onEpisodeEnd: ({ episode, episodeReturns }) => {
    const name = agent === null ? "You" : "The agent";
    status.textContent = `Episode ${episode + 1}: ${name} scored ${episodeReturns[0].toFixed(1)}`;
  },
  onError: (error) => {
    status.textContent = String(error);
    console.error(error);
  },
});

who.addEventListener("click", async () => {
  try {
    agent = agent === null ? controllerOf([await loadAgent(new URL("policy/", document.baseURI))]) : null;
    who.textContent = agent === null ? "Let the agent play" : "Let me play";
    // Else Space would press it again, where a game has that key.
    who.blur();
  } catch (error) {
    status.textContent = `No agent yet: train one, then export it into public/policy (${error})`;
  }
});

player.start();
