/** Finds which keys and pointer positions change a page's state compared with the same play without them. */

import { middleOf } from "attract/page-action";
import type { PointerHow } from "attract/page-adapter";
import { canvasesIn, elements } from "../../sdk/src/page/elements.ts";
import { clickGroupsOf, type Heard, heardIn } from "./clicks.ts";
import { effectsOf } from "./effects.ts";
import {
  chance,
  DIRECTIONS,
  FURTHER_KEYS,
  KEYS,
  labelOf,
  MOVERS,
  type Move,
  ownMoves,
  PAD,
  type ResponsiveInputs,
  randomly,
} from "./moves.ts";
import type { Place } from "./places.ts";
import { askedHow, askedOf, followersOf, placesAlong, spotsOf } from "./pointer.ts";
import { isThing } from "./readings.ts";
import { groupsOf } from "./roots.ts";
import { NOTED, PAUSED } from "./rules.ts";
import { type Press, pressesIn, promptsIn, type StartAction, start } from "./start-actions.ts";
import {
  differing,
  type Input,
  isSame,
  NOTHING,
  type PageToProbe,
  type Samples,
  type Script,
  Trial,
} from "./trial.ts";

const FEW_MOVES = 2;
/** Frames before the first press, and length of a press. */
const BEFORE = 4;
const HELD = 12;
const SHORT = 5;
/** Frames for each key of a group. */
const IN_GROUP = 8;
/** A few steps of a game that steps once a second. */
const LATE_TICKS = 150;
const TEST_TICKS = 60;
const SAMPLED = 4;
/** Frames until a paused game stands still. */
const PAUSE_TICKS = 12;
/** Numbers that play must have changed to detect a restart key, and the share that another key may reset. */
const MIN_CHANGED_PLACES = 3;
const MAX_RESET_SHARE = 0.6;
/** A pause stops at least this share of what moves by itself. A menu may fade in, and clocks go on. */
const MIN_PAUSED_SHARE = 0.4;
/** This share of it must move again after the pause: a count of successes may stay as it is. */
const MIN_RESUMED_SHARE = 0.7;
/** Frames of random moves before a test; each further try of a direction takes a longer one. */
const PRELUDES = [40, 80, 160];
/** Similar elements that become moves. */
const MAX_ELEMENTS = 64;
/** Distance between clicked elements, as a share of all: neighbours often do the same. */
const STRIDE = 0.618;

/** Tests of one start action. */
export class InputTests {
  readonly #page: PageToProbe;
  readonly #startAction: StartAction;
  readonly #places: readonly Place[];
  readonly #placesIn: (trial: Trial) => readonly Place[];
  #idle: Samples | null = null;
  /** Expressions of all that is there after a play without input. */
  readonly #usual = new Set<string>();
  /** Random moves before a test. */
  #prelude: readonly Input[] | null = null;
  #isMovingLater: boolean | null = null;
  /** What the page listens to beside keys, presses and moves; null: nothing was played yet. */
  #asked: readonly Move[] | null = null;
  #heard: Heard = { keys: true, pointer: true };
  /** A longer play without input, for what it was made after: `#idle`. */
  #long: readonly [idle: Samples, Samples] | null = null;
  #asksForPad = false;
  /** Plays with the pointer at one spot each, by their labels. */
  readonly #pointed = new Map<string, Samples>();
  /** Texts that prompted for a start at the end of the last play. */
  prompts: readonly string[] = [];
  /** Places that differ between plays without input: they show no effect of keys. */
  #restless = new Set<Place>();

  constructor(
    page: PageToProbe,
    startAction: StartAction,
    places: readonly Place[],
    placesIn: (trial: Trial) => readonly Place[],
  ) {
    this.#page = page;
    this.#startAction = startAction;
    this.#places = places;
    this.#placesIn = placesIn;
    for (const { text } of places) this.#usual.add(text);
  }

  async idle(): Promise<Samples> {
    this.#idle ??= await this.#play(
      () => NOTHING,
      TEST_TICKS,
      async (trial) => {
        for (const { text } of this.#placesIn(trial)) this.#usual.add(text);
        if (this.#asked === null) this.#heard = heardIn(trial.window, trial.listeners);
        this.#asked ??= askedOf(trial.window, this.#page, trial.listeners);
        this.#asksForPad ||= trial.listeners.has("gamepadconnected");
      },
    );
    return this.#idle;
  }

  /** Whether it moves by itself within a longer time than a test: games on a grid go step by step. */
  async movesLater(): Promise<boolean> {
    this.#isMovingLater ??= moving(await this.#play(() => NOTHING, LATE_TICKS));
    return this.#isMovingLater;
  }

  /** What a menu asks for that is there once the start action is over, after the one with these prompts. */
  async presses(before: readonly string[]): Promise<Press[]> {
    const trial = await Trial.open(this.#page);
    try {
      await start(trial, this.#startAction);
      await trial.play(() => NOTHING, TEST_TICKS, []);
      return pressesIn(trial.window, this.#page, before);
    } finally {
      trial.close();
    }
  }

  /** @param isTimeUp given whether there is any move yet. */
  async run(isTimeUp: (hasMoves: boolean) => boolean): Promise<ResponsiveInputs> {
    const idle = await this.idle();
    const isUp = (): boolean => isTimeUp(moves.length > 0);
    this.#restless = differing(idle, await this.#play(() => NOTHING));
    const moves: Move[] = [];
    const changed = new Set<Place>();
    const effects = new Set<string>();
    const consider = async (label: string, input: Input): Promise<boolean> => {
      const idle = await this.idle();
      let places: readonly Place[] = [];
      let effect = "";
      const samples = await this.#play(held(input), TEST_TICKS, async (trial, played) => {
        places = this.#responding(played, input, idle);
        effect = fingerprint(played, places);
        if (places.length > 0) return;
        places = await this.#appeared(trial, input);
        effect = places.map(({ text }) => text).join();
      });
      if (input.pointer !== undefined) this.#pointed.set(label, samples);
      if (places.length === 0) return false;
      if (effects.has(effect)) return true;
      effects.add(effect);
      // A pause key has an effect, but is no move.
      if ([...differing(await this.idle(), samples)].some(({ text }) => PAUSED.test(text))) return true;
      if (await this.#pauses(input, samples)) return true;
      for (const place of places) changed.add(place);
      const all = effectsOf(samples, await this.idle());
      const moved = new Map([...all].map(([place, direction]) => [place.text, direction]));
      moves.push({ label, input, effects: moved, ...(this.#prelude !== null && { isLate: true }) });
      return true;
    };
    const without: string[] = [];
    /** Returns those that have none. */
    const tryKeys = async (groups: readonly (readonly string[])[]): Promise<string[]> => {
      const heedless: string[] = [];
      for (const codes of groups) {
        const isNone = codes.length > 1 && !isUp() && !(await this.#heedsAny(codes));
        for (const code of codes)
          if (!isUp() && (isNone || !(await consider(labelOf(code), { keys: [code] })))) heedless.push(code);
      }
      return heedless;
    };
    const { touch = false } = this.#page;
    if (this.#asksForPad) without.push(...(await tryKeys(PAD.map((code) => [code]))));
    // A phone has none: what a finger does would be dropped where a key does the same.
    const hasKeys = !touch && this.#heard.keys;
    if (hasKeys) without.push(...(await tryKeys(KEYS)));
    if (
      hasKeys &&
      ownMoves(this.#startAction, moves).length < FEW_MOVES &&
      (moving(idle) || moves.length > 0)
    )
      without.push(...(await tryKeys(FURTHER_KEYS)));
    if (moves.length > 0 && !isUp()) {
      // A direction has no effect at a wall: tried again, after some of the other moves.
      const dead = new Set(without);
      const directions = DIRECTIONS.filter((codes) => codes.some((code) => !dead.has(code))).flat();
      for (const [i, ticks] of PRELUDES.entries()) {
        const codes = [...dead].filter((code) => i === 0 || directions.includes(code));
        if (codes.length === 0 || isUp()) break;
        this.#prelude = preludeOf(moves, ticks);
        this.#idle = null;
        this.#restless = differing(await this.idle(), await this.#play(() => NOTHING));
        const groups = [...KEYS, ...FURTHER_KEYS, PAD].map((some) =>
          some.filter((one) => codes.includes(one)),
        );
        const heedless = await tryKeys(groups);
        for (const code of codes) if (!heedless.includes(code)) dead.delete(code);
      }
      this.#prelude = null;
      this.#idle = idle;
    }
    if (!isUp()) moves.splice(0, moves.length, ...(await this.#goingOn(moves)));
    for (const isDown of touch ? [true] : [false, true])
      if (this.#heard.pointer && (await this.#point(isDown, moves, consider, isUp))) break;
    for (const { label, input } of this.#asked ?? []) if (!isUp()) await consider(label, input);
    const isMoving = moving(idle) || (await this.movesLater());
    for (const group of await this.#elementMoves()) {
      if (isUp()) break;
      const clicks = await this.#play(clicking(group), 3 * TEST_TICKS);
      const places = this.#responding(clicks, NOTHING, await this.#play(() => NOTHING, 3 * TEST_TICKS));
      if (places.length === 0) continue;
      for (const place of places) changed.add(place);
      const own = moves.filter(({ input: { pointer } }) => pointer === undefined || pointer[3] !== undefined);
      const hows = new Set(
        moves.map(({ input: { pointer } }) => (pointer?.[3] ? undefined : askedHow(pointer))),
      );
      // What one cell answers to, the others do.
      const cells = [undefined, ...[...hows].filter((how) => how !== undefined)].flatMap((how) =>
        group.slice(0, MAX_ELEMENTS).map((cell) => (how === undefined ? cell : withHow(cell, how))),
      );
      moves.splice(0, moves.length, ...own, ...cells);
      return { startAction: this.#startAction, moves, changed, isMoving, taps: true };
    }
    return {
      startAction: this.#startAction,
      moves,
      changed,
      isMoving,
      taps: await this.#isTapped(moves, isUp),
    };
  }

  /** Whether anything responds to these keys, pressed one after another in one play. */
  async #heedsAny(codes: readonly string[]): Promise<boolean> {
    const ticks = BEFORE + IN_GROUP * codes.length + TEST_TICKS;
    const idle = await this.idle();
    if (this.#long?.[0] !== idle || this.#long[1].rows.length <= ticks / SAMPLED)
      this.#long = [idle, await this.#play(() => NOTHING, ticks)];
    const [, long] = this.#long;
    const script: Script = (tick) => {
      const code = codes[Math.floor((tick - BEFORE) / IN_GROUP)];
      return code === undefined ? NOTHING : { keys: [code] };
    };
    const input = { keys: codes };
    const usual = { ...long, rows: long.rows.slice(0, 1 + Math.floor(ticks / SAMPLED)) };
    let heeds = false;
    await this.#play(script, ticks, async (trial, played) => {
      heeds =
        this.#responding(played, input, usual).length > 0 || (await this.#appeared(trial, input)).length > 0;
    });
    return heeds;
  }

  /**
   * Tries the pointer at several spots; where something follows it, a row of places takes their place.
   *
   * @returns whether anything follows it.
   */
  async #point(
    isDown: boolean,
    moves: Move[],
    consider: (label: string, input: Input) => Promise<boolean>,
    isTimeUp: () => boolean,
  ): Promise<boolean> {
    const { size } = this.#page;
    const keys = [...moves];
    for (const { label, input } of spotsOf(size, isDown)) if (!isTimeUp()) await consider(label, input);
    const followers = followersOf(this.#pointed, isDown, this.#restless);
    const isAlong = { x: followers.x.length > 0, y: followers.y.length > 0 };
    if (moves.length === keys.length || (!isAlong.x && !isAlong.y)) return false;
    moves.splice(keys.length);
    // The button, if it does more than the place of the pointer.
    const [{ label, input }] = spotsOf(size, true);
    if (!isDown && !isTimeUp()) await consider(label, input);
    const isClicked = moves.length > keys.length;
    // Keys that move the same do it with fewer actions.
    const isSteered = (places: readonly Place[]): boolean =>
      places.length === 0 ||
      places.some(({ text }) => {
        const ways = new Set(keys.map(({ effects }) => effects?.get(text)));
        return ways.has("up") && ways.has("down");
      });
    if (isSteered(followers.x) && isSteered(followers.y)) return true;
    moves.splice(keys.length, moves.length, ...placesAlong(size, isAlong, isDown || isClicked));
    return true;
  }

  /** Whether it stops much of what moves by itself at once, and another press resumes it. */
  async #pauses(input: Input, samples: Samples): Promise<boolean> {
    if (MOVERS.has(input.keys[0])) return false;
    const [usual, still] = [await this.idle(), samples].map((play) => movingIn(after(play, PAUSE_TICKS)));
    const stopped = [...usual].filter((place) => !still.has(place));
    if (stopped.length < Math.max(2, MIN_PAUSED_SHARE * usual.size)) return false;
    const second = TEST_TICKS / 2;
    const twice: Script = (tick, window) => held(input, SHORT)(tick < second ? tick : tick - second, window);
    const play = await this.#play(twice, 2 * TEST_TICKS);
    // A move that ends the game stops everything, too, but not at every moment.
    const between = movingIn({ ...play, rows: play.rows.slice(PAUSE_TICKS / SAMPLED, second / SAMPLED) });
    if (stopped.some((place) => between.has(place))) return false;
    const resumed = movingIn(after(play, TEST_TICKS));
    return stopped.filter((place) => resumed.has(place)).length >= MIN_RESUMED_SHARE * stopped.length;
  }

  /** The moves without restart keys, which reset most of what play has changed. */
  async #goingOn(moves: readonly Move[]): Promise<readonly Move[]> {
    const [others, suspects] = [true, false].map((isOther) =>
      moves.filter(({ input }) => MOVERS.has(input.keys[0]) === isOther),
    );
    if (others.length === 0 || suspects.length === 0) return moves;
    const fresh = await this.idle();
    this.#prelude = preludeOf(others, PRELUDES.at(-1) as number);
    try {
      const later = await this.#play(() => NOTHING);
      // If the game is over by then, any key may restart it.
      if (movingIn(later).size * 2 < movingIn(fresh).size) return moves;
      const sides = this.#places.map((place, at) => awayOf(place, at, fresh, later));
      const numAway = sides.filter((side) => side !== 0).length;
      if (numAway < MIN_CHANGED_PLACES) return moves;
      const kept: Move[] = [];
      for (const move of suspects) {
        const pressed = await this.#play(held(move.input));
        const back = this.#places.filter(
          (place, at) => sides[at] !== 0 && awayOf(place, at, fresh, pressed) !== sides[at],
        );
        if (back.length < MAX_RESET_SHARE * numAway) kept.push(move);
      }
      return moves.filter((move) => others.includes(move) || kept.includes(move));
    } finally {
      this.#prelude = null;
    }
  }

  /** For a page without a canvas: clicks on similar elements, by groups. */
  async #elementMoves(): Promise<Move[][]> {
    const trial = await Trial.open(this.#page);
    try {
      await start(trial, this.#startAction);
      const { window } = trial;
      if (canvasesIn(window).length > 0) return [];
      const heard = clickGroupsOf(window, trial.clickable).map((elements) => ({ name: "cell", elements }));
      const alike = groupsOf(window).map(({ selector }) => ({
        name: selector.replace(/^\./, ""),
        elements: elements(window, selector),
      }));
      // A group of one look may be a part of a board.
      const isPart = (some: readonly HTMLElement[]): boolean =>
        heard.some(({ elements: all }) => all.length > some.length && some.every((one) => all.includes(one)));
      // Named groups first.
      const groups = [...alike.filter(({ elements }) => !isPart(elements)), ...heard];
      return groups.map(({ name, elements }) =>
        elements.map((element, i) => {
          const text = element.tagName === "BUTTON" ? element.textContent?.trim().slice(0, 20) : "";
          const label = text || `${name} ${i + 1}`;
          return { label, input: { keys: [], pointer: middleOf(element, window) ?? [0, 0] } };
        }),
      );
    } finally {
      trial.close();
    }
  }

  /** Whether a long press does the same as a short one, and repeated presses do more. */
  async #isTapped(moves: readonly Move[], isTimeUp: () => boolean): Promise<boolean> {
    let [numTapped, numHeld] = [0, 0];
    for (const { input } of moves.slice(0, 4)) {
      if (isTimeUp()) break;
      const idle = this.#idle as Samples;
      const long = await this.#play(held(input, TEST_TICKS));
      const short = await this.#play(held(input, SHORT));
      if (this.#responding(long, input, idle).length === 0) {
        // A press into a wall shows nothing; a key that counts when it is released shows only a short one.
        if (this.#responding(short, input, idle).length > 0) numTapped++;
        continue;
      }
      if (this.#responding(long, input, short).length > 0) {
        numHeld++;
        continue;
      }
      const again = await this.#play((tick) =>
        tick >= BEFORE && (tick - BEFORE) % (2 * SHORT) < SHORT ? input : NOTHING,
      );
      if (this.#responding(again, input, long).length > 0) numTapped++;
    }
    // If neither moves it further, as at a wall, this shows nothing.
    return numTapped > numHeld;
  }

  /** Places that change by `input`, without those that only record pressed keys. */
  #responding(samples: Samples, input: Input, idle: Samples): Place[] {
    const found = [...differing(idle, samples)].filter(
      (place) => !this.#restless.has(place) && !isNote(place, input),
    );
    return found.some(({ kind }) => kind !== "word") ? found : [];
  }

  /** Places of things that `input` brought into being, such as shots, if they move: what stays may be a note of the press. */
  async #appeared(trial: Trial, input: Input): Promise<readonly Place[]> {
    const found = this.#placesIn(trial).filter(
      (place) => !this.#usual.has(place.text) && !isNote(place, input),
    );
    const samples = await trial.play(() => NOTHING, SAMPLED, found, SAMPLED);
    return [...movingIn(samples)];
  }

  /** @param after called before the page is closed. */
  async #play(
    script: Script,
    ticks = TEST_TICKS,
    after?: (trial: Trial, samples: Samples) => Promise<void>,
  ): Promise<Samples> {
    const trial = await Trial.open(this.#page);
    try {
      await start(trial, this.#startAction);
      const prelude = this.#prelude;
      if (prelude !== null) await trial.play((tick) => prelude[tick], prelude.length, []);
      const samples = await trial.play(script, ticks, this.#places, SAMPLED);
      this.prompts = promptsIn(trial.window);
      await after?.(trial, samples);
      return samples;
    } finally {
      trial.close();
    }
  }
}

/** Whether it says no more than what is pressed. */
function isNote({ kind, text, name }: Place, { keys }: Input): boolean {
  return kind === "truth" || NOTED.test(text) || keys.some((code) => code === name || code.endsWith(name));
}

/** Whether a number ends above (1), below (-1) or within (0) its range in the first moments of a fresh game. */
function awayOf({ kind }: Place, at: number, fresh: Samples, later: Samples): number {
  const now = later.rows.at(-1)?.[at];
  const known = fresh.rows.map((row) => row[at]).filter((value) => typeof value === "number");
  if (kind !== "number" || typeof now !== "number" || known.length === 0) return 0;
  return Number(now > Math.max(...known)) - Number(now < Math.min(...known));
}

/** The samples from `tick` on. */
function after({ places, rows }: Samples, tick: number): Samples {
  return { places, rows: rows.slice(tick / SAMPLED) };
}

/** Places that change, words left out. */
function changing({ places, rows }: Samples): Place[] {
  return places.filter(
    ({ kind }, at) => kind !== "word" && rows.some((row) => !isSame(row[at], rows[0][at])),
  );
}

/** Changing things and numbers; booleans, such as that a game is over, do not count as movement. */
function movingIn(samples: Samples): Set<Place> {
  return new Set(changing(samples).filter(({ kind }) => kind !== "truth"));
}

/** Whether several numbers change by themselves, as in a running game. */
function moving(samples: Samples): boolean {
  const found = changing(samples);
  return found.filter(({ isShown }) => !isShown).length > 2 || found.some(isThing);
}

/** Random moves that are the same in every play. */
function preludeOf(moves: readonly Move[], ticks: number): Input[] {
  const script = randomly([...moves], chance(ticks));
  return Array.from({ length: ticks }, (_, tick) => script(tick));
}

/** Clicks on elements far from each other, each pressed and released. */
function clicking(moves: readonly Move[]): Script {
  const at = (click: number): number => Math.floor(((click * STRIDE) % 1) * moves.length);
  return (tick) => (tick % 8 < 4 ? moves[at(Math.floor(tick / 8))].input : NOTHING);
}

function withHow({ label, input: { pointer: [x, y] = [0, 0] } }: Move, how: PointerHow): Move {
  return { label: `${how} ${label}`, input: { keys: [], pointer: [x, y, how] } };
}

function held(input: Input, ticks = HELD): Script {
  return (tick) => (tick >= BEFORE && tick < BEFORE + ticks ? input : NOTHING);
}

/** Equal for keys with the same effect. */
function fingerprint({ places, rows }: Samples, responding: readonly Place[]): string {
  const chosen = new Set(responding);
  return rows
    .map((row) => row.map((value, at) => (chosen.has(places[at]) ? String(value) : "")).join())
    .join(";");
}
