/** An agent in a page that keeps its own time: nobody's clock, the browser's frames. */

import { afterEach, expect, test } from "vitest";
import {
  type AttachedAgent,
  type AttachOptions,
  alerts,
  attachAgent,
  box,
  definePageGame,
  discrete,
  type PageGameOptions,
} from "../../../../web/sdk/src/page/index.ts";

const PAGE = `<!doctype html><body><input /><script>
  let state = "menu", ticks = 0, starts = 0;
  const held = new Set(), pressed = [];
  addEventListener("keydown", ({ code }) => { held.add(code); pressed.push(code); if (code === "Enter" && state !== "playing") begin(); });
  addEventListener("keyup", ({ code }) => held.delete(code));
  function begin() { state = "playing"; ticks = 0; starts++; }
  function frame() { if (state === "playing" && ++ticks >= 40) state = "over"; requestAnimationFrame(frame); }
  requestAnimationFrame(frame);
  window.look = () => ({ state, ticks, starts, held: [...held], pressed });
</script>`;

const opened: [HTMLIFrameElement, AttachedAgent][] = [];

afterEach(() => {
  for (const [frame, attached] of opened.splice(0)) {
    attached.detach();
    frame.remove();
  }
});

interface Opened {
  attached: AttachedAgent;
  look(): { state: string; ticks: number; starts: number; held: string[]; pressed: string[] };
  events: (boolean | string)[];
  seen: number[];
  /** What the agent was given, a copy of each. */
  given: Uint8Array[];
}

async function open(options: AttachOptions = {}, adapter: Partial<PageGameOptions> = {}): Promise<Opened> {
  const frame = document.createElement("iframe");
  frame.src = URL.createObjectURL(new Blob([PAGE], { type: "text/html" }));
  document.body.append(frame);
  await new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  return attach(options, adapter, frame);
}

function attach(options: AttachOptions, adapter: Partial<PageGameOptions>, frame: HTMLIFrameElement): Opened {
  const definition = definePageGame({
    id: "Hop-v1",
    page: "hop.html",
    ticksPerStep: 2,
    observation: box({ shape: [1] }),
    action: discrete(["wait", "jump"]),
    keys: { wait: [], jump: ["Space"] },
    // Holds while the page loads alone.
    ready: (w) => w.look().state === "menu",
    restart: (w) => w.eval(`state = "menu"`),
    menu: (_w, page) => page.hold(page.ticks % 2 ? ["Enter"] : []),
    playing: (w) => w.look().state === "playing",
    observe: (w) => [w.look().ticks],
    score: () => 0,
    over: (w) => w.look().state === "over",
    ...adapter,
  });
  const events: Opened["events"] = [];
  const seen: number[] = [];
  const given: Opened["given"] = [];
  const agent = {
    act: (observation: ArrayLike<number>) => {
      given.push(Uint8Array.from(observation));
      seen.push(observation[0]);
      return seen.length % 2;
    },
    reset: () => events.push("reset"),
  };
  const page = frame.contentWindow as Window & Pick<Opened, "look">;
  const attached = attachAgent(definition, agent as never, {
    idleSeconds: 0.05,
    window: page,
    onChange: (isPlaying) => events.push(isPlaying),
    onError: (error) => events.push(String(error)),
    ...options,
  });
  opened.push([frame, attached]);
  return { attached, events, seen, given, look: () => page.look() };
}

test("after a while without anybody the agent goes through the menu, plays, and begins again", async () => {
  const { events, seen, look, attached } = await open();
  await expect.poll(() => look().starts, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
  expect(events.slice(0, 3)).toEqual(["reset", true, "reset"]);
  expect(attached.isPlaying).toBe(true);
  // It decides each second frame or so, from the beginning of the game on.
  expect(seen[0]).toBeLessThan(10);
  expect(seen.length).toBeGreaterThan(10);
  expect(new Set(look().pressed)).toEqual(new Set(["Enter", "Space"]));
});

test("the ticks of each step are counted from 0, whenever its menu has begun the game", async () => {
  const counted: number[] = [];
  const { look } = await open(
    {},
    { ticksPerStep: 3, keys: undefined, act: (_w, _action, page) => counted.push(page.stepTick) },
  );
  await expect.poll(() => look().starts, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
  expect(counted.slice(0, 9)).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2]);
});

test("what an agent saw drawn in the game before is forgotten when another begins", async () => {
  const forgotten: string[] = [];
  const { attached, look } = await open(
    { idleSeconds: 100 },
    {
      prepare: () => undefined,
      ready: (w) => {
        w.attractDrawn ??= { forget: () => forgotten.push(w.look().state) };
        return true;
      },
    },
  );
  attached.play();
  await expect.poll(() => look().starts, { timeout: 20_000 }).toBeGreaterThan(1);
  // The first game has no earlier state to forget, or no agent yet.
  expect(forgotten.at(-1)).toBe("over");
});

test("it leaves off with nothing held, and for good when it is detached", async () => {
  const { events, look, attached, seen } = await open();
  await expect.poll(() => seen.length).toBeGreaterThan(3);
  attached.yield();
  expect([attached.isPlaying, look().held, events.at(-1)]).toEqual([false, [], false]);
  await expect.poll(() => attached.isPlaying).toBe(true);
  attached.detach();
  const { length } = seen;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect([attached.isPlaying, seen.length]).toEqual([false, length]);
  attached.play();
  expect(attached.isPlaying).toBe(false);
});

test("an agent of pixels sees the page's own canvas, however large and fine it is shown", async () => {
  const { given, look } = await open(
    {},
    {
      observation: undefined,
      observe: undefined,
      pixels: { size: 8, stack: 2 },
      loaded: (w) =>
        w.eval(`{
          const canvas = document.createElement("canvas");
          // As a page does on a screen of two pixels for one of CSS.
          canvas.width = canvas.height = 160;
          canvas.style.width = canvas.style.height = "80px";
          document.body.append(canvas);
          const context = canvas.getContext("2d");
          const draw = () => {
            context.fillStyle = "rgb(" + [ticks, ticks, ticks] + ")";
            context.fillRect(0, 0, 160, 160);
            requestAnimationFrame(draw);
          };
          draw();
        }`),
    },
  );
  await expect.poll(() => look().starts, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
  const [first, second] = given;
  expect(first).toHaveLength(8 * 8 * 2);
  // One brightness for all, which tells the frame; at first there is no picture before it.
  expect([new Set(first).size, first[0] < 10]).toEqual([1, true]);
  expect([second[0], new Set(second).size]).toEqual([first[0], second[1] > second[0] ? 2 : 1]);
  expect(given.some((one) => one[1] > 30)).toBe(true);
});

test("a dialog that the game opens is nobody's to close while the agent plays, and a person's otherwise", async () => {
  const said: string[][] = [];
  const { attached, look } = await open(
    { idleSeconds: 100 },
    {
      loaded: (w) => w.eval(`setInterval(() => { if (state === "over") alert("Game over"); }, 5)`),
      over(w) {
        said.push([...alerts(w)]);
        return alerts(w).length > 0;
      },
    },
  );
  const page = opened.at(-1)![0].contentWindow as Window;
  const { alert } = page;
  attached.play();
  // For each game: nothing at first, and then its end.
  await expect.poll(() => look().starts, { timeout: 20_000 }).toBeGreaterThan(1);
  expect(said[0]).toEqual([]);
  expect(said.some((one) => one[0] === "Game over")).toBe(true);
  expect(page.alert).not.toBe(alert);
  attached.yield();
  expect(page.alert).toBe(alert);
});

const RELOADING: [string, Partial<PageGameOptions>][] = [
  ["without a restart of its own", {}],
  [
    "where the page reloads itself",
    {
      // Once: each further call would break off the load that is under way, on a busy machine for ever.
      loaded: (w) =>
        w.eval(`const timer = setInterval(() => {
          if (ticks <= 20) return;
          clearInterval(timer);
          location.reload();
        }, 5)`),
    },
  ],
];

test.each(RELOADING)("%s, the agent plays on in the fresh page at once", async (_, end) => {
  const { attached } = await open({ idleSeconds: 100 }, { restart: undefined, ...end });
  const [frame, first] = opened.at(-1)!;
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  attached.play();
  await loaded;
  first.detach();
  const again = attach({ idleSeconds: 100 }, { restart: undefined }, frame);
  await expect.poll(() => again.attached.isPlaying).toBe(true);
  again.attached.yield();
  again.attached.detach();
  // A person took over: the page that they reload is theirs.
  const later = attach({ idleSeconds: 100 }, { restart: undefined }, frame);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(later.attached.isPlaying).toBe(false);
  later.attached.detach();
});

test("a game that its own menu restarts is played on in its page", async () => {
  const { attached, look } = await open(
    { idleSeconds: 100 },
    {
      restart: undefined,
      reset: "over",
      menu: (_w, page) => page.hold(page.ticks % 8 < 4 ? ["Enter"] : []),
      playing: (w) => w.look().state === "playing",
    },
  );
  const [frame] = opened.at(-1)!;
  let loads = 0;
  frame.addEventListener("load", () => loads++);
  attached.play();
  await expect.poll(() => look().starts, { timeout: 20_000 }).toBeGreaterThan(2);
  expect(loads).toBe(0);
});

test("what an adapter throws ends it, and is told", async () => {
  const observe = (): number[] => {
    throw new Error("nothing to see");
  };
  const { events, attached } = await open({}, { observe });
  await expect.poll(() => events.at(-1)).toBe("Error: nothing to see");
  expect(attached.isPlaying).toBe(false);
});

test("it is for games of one agent that live in a page", () => {
  const plain = { id: "Plain-v1", secondsPerStep: 1, tickSeconds: 1 } as never;
  expect(() => attachAgent(plain, {} as never)).toThrow("Plain-v1 is no game of definePageGame()");
});
