import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { once } from "../../../../web/dashboard/src/hooks/use-compared.ts";

test("a run that ends between two looks is asked for its last part, and then no more", async () => {
  const client = new QueryClient();
  let asked = 0;
  const ask = (state: "running" | "finished", agent_steps: number) =>
    once(client, ["curve", "a"], { state, agent_steps }, async () => ++asked);
  expect(await ask("running", 100)).toBe(1);
  expect(await ask("running", 200)).toBe(2);
  expect(await ask("finished", 300)).toBe(3);
  expect(await ask("finished", 300)).toBe(3);
  // Continued.
  expect(await ask("finished", 900)).toBe(4);
});
