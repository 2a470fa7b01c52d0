import { commandOf, resultOf, snippetOf } from "@attract/dashboard/state/shipping-text";
import { expect, test } from "vitest";

const RUN = {
  state: "finished" as const,
  goal: 475,
  episode_return_mean: 489.26,
  agent_steps: 122_880,
  elapsed_seconds: 2.4,
};

test("a goal that was reached is said first", () => {
  expect(resultOf(RUN)).toBe("Solved: mean return 489.3 over the last 100 episodes, 122,880 steps in 2 s");
  for (const other of [{ goal: 490 }, { goal: null }, { state: "stopped" as const }]) {
    expect(resultOf({ ...RUN, ...other })).toMatch(/^Mean return 489\.3/);
  }
  expect(resultOf({ ...RUN, episode_return_mean: null })).toBe("122,880 steps in 2 s");
});

test("the lines name a policy where there are several, and the mask where the game has one", () => {
  const plain = snippetOf({ settings: {}, description: null });
  expect(plain).toContain('await loadAgent("./policy/");');
  expect(plain).toContain("agent.tick(() => observation)");
  const settings = { collection: { seats: ["scout", "keeper", "keeper"] } };
  expect(snippetOf({ settings, description: null })).toContain('{ policy: "scout" }');
  const description = { action_mask: true } as never;
  expect(snippetOf({ settings: {}, description })).toContain("agent.tick(() => observation, () => mask)");
});

test("a game that lives in a page has no update to call: its page is written by a command", () => {
  const description = { page: "index.html" } as never;
  expect(commandOf({ run_id: "moles-1", description })).toBe("attract export moles-1 --out site --page");
  expect(commandOf({ run_id: "snake-1", description: { page: null } as never })).toBeNull();
  expect(commandOf({ run_id: "snake-1", description: null })).toBeNull();
});
