/** What `attract export --replay` ships: one recorded episode, played in the game's own build. */

import type { EpisodeDifference, RecordedEpisode } from "@attract/schema";
import { describe } from "attract/description";
import { maskGroups } from "attract/spaces";
import { choicesOf } from "../dashboard/src/game/choices.ts";
import { SPEEDS, steering, Transport } from "../dashboard/src/game/transport.ts";
import { differenceText, endText, playersText, secondsText } from "../dashboard/src/state/episode-text.ts";
import { formatNumber } from "../dashboard/src/state/format.ts";
import { EpisodePlayer } from "../worker/src/episode/episode-player.ts";
import { EpisodeScript } from "../worker/src/episode/episode-script.ts";
import { definitionOf } from "../worker/src/game/load-game.ts";
import { Yielder } from "../worker/src/rollout/yielding.ts";
import { Screen } from "./screen.ts";
import { STYLE } from "./style.ts";

/** Beside the page; not literals, so that nothing bundles them. */
const GAME = new URL("game.js", document.baseURI).href;
const EPISODE = new URL("episode.json", document.baseURI).href;

/** What the page has in itself where it has no folder: in the report of `attract ci`. */
interface Inlined {
  /** Text of the game's module. */
  game: string;
  episode: RecordedEpisode;
  /** Second at which it opens. */
  at: number;
}

function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

// A style sheet of its own kind: no rule about `style-src` stands against it.
const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLE);
document.adoptedStyleSheets = [sheet];

const status = element("status");
/** For programs that watch the page: `state` is `playing`, `ended` or `failed`, `shown` the second that is seen. */
const state = document.body.dataset;

function inlined(): Inlined | null {
  const text = document.getElementById("inlined")?.textContent ?? null;
  return text === null ? null : JSON.parse(text);
}

async function fetchEpisode(): Promise<RecordedEpisode> {
  const answer = await fetch(EPISODE);
  if (!answer.ok) throw new Error(`episode.json cannot be had (${answer.status})`);
  return await answer.json();
}

function fail(error: unknown): void {
  status.textContent = `The episode cannot be played: ${error instanceof Error ? error.message : error}`;
  state.state = "failed";
  console.error(error);
}

async function begin(): Promise<void> {
  const own = inlined();
  const game = own === null ? GAME : URL.createObjectURL(new Blob([own.game], { type: "text/javascript" }));
  const [module, episode] = await Promise.all([import(game), own?.episode ?? fetchEpisode()]);
  const canvas = element<HTMLCanvasElement>("game");
  const screen = new Screen(
    element("screen"),
    canvas,
    definitionOf(module, "game.js"),
    document.body.dataset.page ?? "",
  );
  const { definition, pages } = screen;
  const script = await EpisodeScript.of(definition, episode);
  await pages?.preload();
  const description = describe(definition);
  // As the dashboard's addresses have it: below 0 it counts from the end.
  const at = own?.at ?? Number(new URLSearchParams(location.search).get("at") ?? 0);
  const length = episode.num_steps * episode.seconds_per_step;
  const transport = new Transport(length, episode.seconds_per_step, Number.isFinite(at) ? at : 0);
  transport.isPlaying = !matchMedia("(prefers-reduced-motion: reduce)").matches && !transport.isAtEnd;

  const yielder = new Yielder();
  let difference: EpisodeDifference | null = null;
  /** The second that is seen; below 0: none yet. */
  let shown = -1;
  let drawError: unknown = null;
  const player = new EpisodePlayer({
    definition,
    script,
    preloaded: pages,
    yieldTurn: () => yielder.yield(),
    now: () => performance.now(),
    onDiffers: (found) => {
      difference = found;
    },
    onArrived: (seconds) => {
      shown = seconds;
      draw();
      state.shown = String(seconds);
      if (seconds >= length && transport.isAtEnd) state.state = "ended";
    },
    onError: fail,
  });

  function draw(): void {
    try {
      screen.draw(player.instance);
    } catch (error) {
      if (drawError === null) console.error(error);
      drawError = error;
    }
    showPlay();
  }

  /** What the play has come to where it stands. */
  function showPlay(): void {
    const { action, step, instance } = player;
    element("return").textContent = Array.from(instance.episodeReturns, formatNumber).join(" : ");
    // The first agent's, as everywhere.
    const first = Array.isArray(action) ? action[0] : action;
    element("action").textContent = first === undefined ? "–" : actionText(first);
    const isOver = shown >= length;
    element("step").textContent = `${isOver ? episode.num_steps : step} of ${episode.num_steps}`;
    const end = element("end");
    end.hidden = !isOver;
    end.textContent = episode.error === null ? endText(episode) : `The game failed: ${episode.error.text}`;
    const notes = [
      difference === null ? (isOver ? "It played as it was recorded." : "") : differenceText(difference),
      drawError === null
        ? ""
        : `draw() failed: ${drawError instanceof Error ? drawError.message : drawError}`,
    ];
    const text = notes.filter((note) => note !== "").join(" ");
    if (status.textContent !== text) status.textContent = text;
    state.differs = String(difference !== null);
  }

  function actionText(action: number | ArrayLike<number>): string {
    const values = typeof action === "number" ? action : Array.from(action);
    const taken = choicesOf(description, { action: values, probabilities: new Float64Array(0) }).filter(
      ({ isTaken }) => isTaken,
    );
    if (description.action.kind === "box") return [values].flat().map(formatNumber).join(", ");
    if (description.action.kind === "mixed") {
      // The boxes' numbers are the last.
      const moved = [values].flat().slice(maskGroups(description.action).length).map(formatNumber);
      return [...taken.map(({ label }) => label), ...moved].join(", ");
    }
    if (taken.length === 0) return "none";
    return taken
      .map(({ label, keys }) => (keys.length === 0 ? label : `${label} (${keys.join(" or ")})`))
      .join(", ");
  }

  const scrub = element<HTMLInputElement>("scrub");
  const play = element("play");
  scrub.max = String(length);
  function showClock(): void {
    const { seconds, isPlaying, step } = transport;
    const time = `${secondsText(seconds)} of ${secondsText(length)}`;
    scrub.value = String(seconds);
    scrub.setAttribute("aria-valuetext", `${time}, step ${step}`);
    element("time").textContent = time;
    play.textContent = isPlaying ? "Pause" : "Play";
  }

  function steer(change: (clock: Transport) => void): void {
    change(transport);
    showClock();
  }
  play.addEventListener("click", () => steer((clock) => clock.toggle()));
  element("back").addEventListener("click", () => steer((clock) => clock.stepBy(-1)));
  element("on").addEventListener("click", () => steer((clock) => clock.stepBy(1)));
  scrub.addEventListener("input", () => steer((clock) => clock.seek(Number(scrub.value))));
  const speed = element<HTMLSelectElement>("speed");
  speed.append(...SPEEDS.map(([value, text]) => new Option(text, String(value), value === 1, value === 1)));
  speed.addEventListener("change", () => {
    transport.speed = Number(speed.value);
  });
  window.addEventListener("keydown", (event) => {
    const change = steering(event);
    if (change === null) return;
    event.preventDefault();
    steer(change);
  });

  const players = `Played by ${playersText(episode)}, seed ${episode.seed.low}.`;
  element("players").textContent = players;
  canvas.setAttribute("aria-label", `The game. ${players}`);
  status.textContent = "";
  element("controls").hidden = element("keys").hidden = false;
  if (!description.has_draw && pages === null) {
    element("screen").hidden = true;
    element("players").textContent += " This game has no draw(), so there are only its numbers to see.";
  }
  state.state = "playing";

  let last: number | null = null;
  let asked: number | null = null;
  requestAnimationFrame(function frame(now) {
    if (state.state === "failed") return;
    requestAnimationFrame(frame);
    // What it waits for the play it makes up for, up to a tenth of a second.
    if (!player.isBehind) {
      const wasPlaying = transport.isPlaying;
      transport.frame(now - (last ?? now));
      last = now;
      if (wasPlaying) showClock();
    }
    if (screen.resize() && shown >= 0 && !player.isBehind) draw();
    if (asked === transport.seconds) return;
    asked = transport.seconds;
    state.state = "playing";
    player.go(asked);
  });
  showClock();
}

// Its frame is as high as what is in it.
if (inlined() !== null)
  new ResizeObserver(() => {
    parent.postMessage({ attractHeight: document.documentElement.offsetHeight }, "*");
  }).observe(document.documentElement);
begin().catch(fail);
