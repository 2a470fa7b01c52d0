/** This tab as a host: joining, changing its mind, leaving. */

import { describe, expect, it } from "vitest";
import { ApiError } from "../../../../web/dashboard/src/api/client.ts";
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
