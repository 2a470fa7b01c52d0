/**
 * `node lines.mjs GAME COUNT`: plays COUNT copies of the module GAME; each line of stdin is a JSON array of
 * actions, or "reset", and each is answered by one line.
 */

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { createGames } from "./games.mjs";

const [path, count] = process.argv.slice(2);
// As data: the file's own name and place need not make it a module.
const module = await import(`data:text/javascript,${encodeURIComponent(await readFile(path, "utf8"))}`);
const games = createGames(module.default, Number(count));

/** [observations, rewards, terminated, truncated, {index: final observation}]; ended games are restarted. */
function stepAll(actions) {
  const observations = [];
  const rewards = [];
  const terminated = [];
  const truncated = [];
  const finals = {};
  actions.forEach((action, index) => {
    const [observation, reward, isTerminated, isTruncated] = games.step(index, action);
    const isOver = isTerminated || isTruncated;
    if (isOver) finals[index] = observation;
    observations.push(isOver ? games.reset(index) : observation);
    rewards.push(reward);
    terminated.push(isTerminated);
    truncated.push(isTruncated);
  });
  return [observations, rewards, terminated, truncated, finals];
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const order = JSON.parse(line);
  const answer =
    order === "reset"
      ? Array.from({ length: Number(count) }, (_, index) => games.reset(index))
      : stepAll(order);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
