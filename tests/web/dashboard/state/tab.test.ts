/** This tab: as a host that joins, changes its mind and leaves; its keys, what it reads aloud, its first page. */

import type { GameEntry, RunRow } from "@attract/schema";
import { describe, expect, it, test, vi } from "vitest";
import { ApiError } from "../../../../web/dashboard/src/api/client.ts";
import { Announcer } from "../../../../web/dashboard/src/state/announcer.ts";
import { bestRun, isFirstVisit, showpiece } from "../../../../web/dashboard/src/state/home.ts";
import { areKeysOn, commandOf, keepKeysOn } from "../../../../web/dashboard/src/state/keys.ts";
import { TabHost } from "../../../../web/dashboard/src/state/tab-host.ts";

function fakeHost() {
  const log: string[] = [];
  let say: (status: never) => void = () => undefined;
  const start = (options: {
    base: URL;
    token: string;
    maxWorkers: number;
    onStatus: (status: never) => void;
  }) => {
    log.push(`start ${options.maxWorkers} ${options.token} ${options.base.href}`);
    say = options.onStatus;
    return { setMaxWorkers: (n: number) => log.push(`set ${n}`), stop: () => log.push("stop") };
  };
  return { log, start, say: (status: unknown) => say(status as never), current: () => say };
}

describe("TabHost", () => {
  it("starts one host, changes it, ends it", async () => {
    const fake = fakeHost();
    const seen: number[] = [];
    const host = new TabHost(
      async () => fake.start as never,
      async () => "t0k",
      () => new URL("http://h/p/"),
    );
    host.subscribe(() => seen.push(host.state().numWorkers));
    await host.join(5);
    await host.join(2);
    fake.say({ numWorkers: 2 });
    expect(host.state()).toEqual({ numWorkers: 2, status: { numWorkers: 2 } });
    host.leave();
    expect(host.state()).toEqual({ numWorkers: 0, status: null });
    expect(fake.log).toEqual(["start 5 t0k http://h/p/", "set 2", "stop"]);
    expect(seen.at(-1)).toBe(0);
  });

  it("comes again for more workers than it offered, and no longer hears the host it was", async () => {
    const fake = fakeHost();
    const host = new TabHost(
      async () => fake.start as never,
      async () => "t",
      () => new URL("http://h/"),
    );
    await host.join(1);
    const sayAsBefore = fake.current();
    await host.join(3);
    expect(fake.log).toEqual(["start 1 t http://h/", "stop", "start 3 t http://h/"]);
    fake.say({ numWorkers: 3 });
    sayAsBefore({ numWorkers: 0, ended: true } as never);
    expect(host.state()).toEqual({ numWorkers: 3, status: { numWorkers: 3 } });
  });

  it("has not joined when the server gave no token", async () => {
    const refused = async () => {
      throw new ApiError(403, "no", null);
    };
    const host = new TabHost(
      async () => fakeHost().start as never,
      refused,
      () => new URL("http://h/"),
    );
    await expect(host.join(2)).rejects.toThrow("no");
    expect(host.state()).toEqual({ numWorkers: 0, status: null });
  });

  it("leaving while it still joins leaves no host behind", async () => {
    const fake = fakeHost();
    let give: (token: string) => void = () => undefined;
    const token = new Promise<string>((resolve) => {
      give = resolve;
    });
    const host = new TabHost(
      async () => fake.start as never,
      () => token,
      () => new URL("http://h/"),
    );
    const joining = host.join(2);
    host.leave();
    give("t");
    await joining;
    expect(fake.log).toEqual([]);
    expect(host.state().numWorkers).toBe(0);
  });

  it("two joins at once start one host with the later number", async () => {
    const fake = fakeHost();
    const host = new TabHost(
      async () => fake.start as never,
      async () => "t",
      () => new URL("http://h/"),
    );
    await Promise.all([host.join(2), host.join(3)]);
    expect(fake.log).toEqual(["start 3 t http://h/"]);
  });
});

test("a key alone is a command, and two in a row are another", () => {
  expect(commandOf(null, { key: "?", atMs: 0 })).toBe("help");
  expect(commandOf(null, { key: "g", atMs: 0 })).toBeNull();
  expect(commandOf({ key: "g", atMs: 0 }, { key: "r", atMs: 1500 })).toBe("runs");
  expect(commandOf({ key: "g", atMs: 0 }, { key: "h", atMs: 10 })).toBe("home");
});

test("the second key of two is none without the first, after another, or too late", () => {
  expect(commandOf(null, { key: "r", atMs: 0 })).toBeNull();
  expect(commandOf({ key: "x", atMs: 0 }, { key: "r", atMs: 10 })).toBeNull();
  expect(commandOf({ key: "g", atMs: 0 }, { key: "r", atMs: 1501 })).toBeNull();
});

test("the keys are on until someone turns them off, which is remembered", () => {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  });
  expect(areKeysOn()).toBe(true);
  keepKeysOn(false);
  expect(areKeysOn()).toBe(false);
  expect(kept.size).toBe(1);
  keepKeysOn(true);
  expect(areKeysOn()).toBe(true);
});

test("where the browser forbids storage they can be turned off until the page is left", () => {
  vi.stubGlobal("localStorage", undefined);
  expect(areKeysOn()).toBe(true);
  keepKeysOn(false);
  expect(areKeysOn()).toBe(false);
  keepKeysOn(true);
  expect(areKeysOn()).toBe(true);
});

test("each text is said once to who listens, and again only after another", () => {
  const announcer = new Announcer();
  const heard: string[] = [];
  const leave = announcer.subscribe(() => heard.push(announcer.text()));
  for (const text of ["Training", "Training", "Finished", "Training"]) announcer.say(text);
  expect(heard).toEqual(["Training", "Finished", "Training"]);
  leave();
  announcer.say("Stopped");
  expect(heard).toHaveLength(3);
  expect(announcer.text()).toBe("Stopped");
});

const run = (run_id: string, rest: Partial<RunRow> = {}) =>
  ({
    run_id,
    state: "finished",
    policy_version: 5,
    episode_return_mean: 1,
    ...rest,
  }) as RunRow;

test("without a run it is a first visit, unless some were not read yet or one goes on", () => {
  const list = {
    runs: [],
    num_found: 0,
    num_hidden: 0,
    num_unread: 0,
    next: null,
    settings: [],
    metrics: [],
  };
  expect(isFirstVisit(list, null)).toBe(true);
  expect(isFirstVisit({ ...list, num_unread: 3000 }, null)).toBe(false);
  expect(isFirstVisit({ ...list, num_found: 1 }, null)).toBe(false);
  expect(isFirstVisit(list, "now")).toBe(false);
});

test("the best run has the highest return and a policy", () => {
  const runs = [
    run("1", { episode_return_mean: null }),
    run("2", { episode_return_mean: -3 }),
    run("3", { episode_return_mean: 9, policy_version: 0 }),
    run("5", { episode_return_mean: 9, state: "damaged" }),
  ];
  expect(bestRun(runs)?.run_id).toBe("2");
  expect(bestRun(runs.slice(0, 1))?.run_id).toBe("1");
  expect(bestRun([])).toBeNull();
});

test("a first visitor is shown Lander, else any game with a trained agent", () => {
  const game = (name: string, trained_return: number | null, error: string | null = null) =>
    ({ name, error, card: { about: "", trained_return } }) as GameEntry;
  expect(showpiece([game("snake", 1), game("lander", 1)])?.name).toBe("lander");
  expect(showpiece([game("lander", null), game("moles", 1, "broken"), game("snake", 1)])?.name).toBe("snake");
  expect(showpiece([{ ...game("mine", null), card: null }])).toBeNull();
});
