/** What looks wrong in the frames of a game's episodes: a blank picture, a flicker, a jump, words and buttons outside the view. */

import {
  busyCells,
  isBlank,
  isFlicker,
  isSame,
  numChanged,
  type Shift,
  shiftBetween,
  type Thumbnail,
} from "./thumbnail.ts";

/** A text or a button, in pixels of the view. */
export interface Word {
  /** In one line, and short. */
  text: string;
  isButton: boolean;
  left: number;
  top: number;
  right: number;
  bottom: number;
  /** Edges beyond which nobody can see it or scroll. */
  beyond: readonly ("left" | "top" | "right" | "bottom")[];
  /** Share of its box beyond them. */
  share: number;
}

/** One frame. */
export interface Glance {
  /** Null: it was not drawn. */
  picture: Thumbnail | null;
  /** Whether it shows another part of the page than the frame before. */
  isOther: boolean;
  /** Ticks since an input of any kind, those before the episode left out; 0: one is held. */
  ticksWithoutInput: number;
  /** Whether what is pressed is the same as for some ticks. */
  isCalm: boolean;
  /** Null: they were not read. */
  words: readonly Word[] | null;
  /** What should have been drawn and was not, in words. */
  misses: readonly string[];
}

export interface SightAlarm {
  oracle: "blank" | "flicker" | "jump" | "outside";
  text: string;
  /** Place of the episode among those that were begun. */
  episode: number;
  /** Tick of that episode. */
  tick: number;
}

/** Game time of a picture of one colour; twice as long where the episode begins with it. */
const BLANK_SECONDS = 1.5;
const MIN_BLANK_TICKS = 20;
/** Frames of that time that were drawn. */
const MIN_BLANK_LOOKS = 8;
/** Share of the cells in which something is drawn that is left where all but the words is gone, and how many that must be. */
const GONE = 0.15;
const MIN_USUAL = 100;
const SLOW = 0.03;
/** A frame that stays longer is no flicker but a scene. */
const FLICKER_TICKS = 2;
/** Cells that change in a jump, and how many times as many as in the frame before. */
const JUMPED = 40;
const SUDDEN = 2;
/** A jump that is undone within this game time is none of the game's; any other is one only if nothing was pressed for as long. */
const RETURN_SECONDS = 1;
/** More of them in one episode are how the game moves. */
const MAX_JUMPS = 3;
/** Comparisons in search of a shift: each takes some milliseconds. */
const MAX_SEARCHES = 200;
/** Game time for which a word stays in one place, outside. */
const OUTSIDE_SECONDS = 1;
/** Share of a word, or of a button, that is outside. */
const MIN_OUTSIDE = 0.25;
/** A word that is elsewhere in more of its moments moves. */
const MAX_MOVED = 0.1;
const SAME_PLACE = 1.5;
const MAX_WORDS = 500;
const MAX_MISSES = 4;

interface Scene {
  picture: Thumbnail;
  tick: number;
  last: number;
}

interface Jump {
  shift: Shift;
  tick: number;
  isQuiet: boolean;
}

interface Known {
  word: Word;
  looks: number;
  moved: number;
  /** Since when it has been outside in this place; null: it is not. */
  since: number | null;
  alarm: SightAlarm | null;
}

/** Owned by one drill: sees the frames of its episodes in their order. */
export class SightRules {
  readonly #tickSeconds: number;
  readonly #minFlickers: number;
  readonly #alarms: SightAlarm[] = [];
  readonly #words = new Map<string, Known>();
  /** The first of each, by its words without numbers. */
  readonly #misses = new Map<string, SightAlarm>();
  #episode = -1;
  #searches = 0;
  #numTicks = 0;
  #numLooks = 0;
  #numBlank = 0;
  #hasPicture = false;
  #blankSince: number | null = null;
  /** Cells in which something is drawn, in the mean of late, and the words beside it. */
  #usual = Number.POSITIVE_INFINITY;
  #usualWords = "";
  #shownWords = "";
  #wordsSince = 0;
  #isBlankKnown = false;
  #scenes: Scene[] = [];
  #jumps: Jump[] = [];
  #changedBefore = 0;
  #flickers: number[] = [];

  /** @param minFlickers in one episode: fewer are an accident. */
  constructor(tickSeconds: number, minFlickers: number) {
    this.#tickSeconds = tickSeconds;
    this.#minFlickers = minFlickers;
  }

  begin(): void {
    this.#end();
    this.#episode++;
    this.#forget();
    this.#wordsSince = 0;
    for (const known of this.#words.values()) known.since = null;
  }

  see(tick: number, glance: Glance): void {
    this.#numTicks++;
    if (glance.isOther) this.#forget();
    if (glance.words !== null) this.#seeWords(tick, glance.words);
    for (const text of glance.misses) {
      const key = text.replace(/[\d.]+/g, "#");
      if (!this.#misses.has(key) && this.#misses.size < MAX_MISSES)
        this.#misses.set(key, { oracle: "outside", text, episode: this.#episode, tick });
    }
    if (glance.picture === null) {
      this.#scenes = [];
    } else {
      this.#numLooks++;
      this.#seeBlank(tick, glance.picture);
      this.#seeScene(tick, glance.picture, glance);
    }
  }

  /** Ends the last episode. */
  alarms(): SightAlarm[] {
    this.#end();
    const blank = this.#alarms.filter(({ oracle }) => oracle === "blank");
    const isEnough =
      this.#numTicks >= this.#ticks(2 * BLANK_SECONDS) && this.#numLooks >= 2 * MIN_BLANK_LOOKS;
    const isNever = !this.#hasPicture && isEnough;
    const text = "the game draws nothing: its picture has one colour in every frame";
    const never: SightAlarm[] = isNever ? [{ oracle: "blank", text, episode: 0, tick: 0 }] : [];
    return [
      ...(this.#hasPicture ? blank : never),
      ...this.#alarms.filter(({ oracle }) => oracle === "flicker" || oracle === "jump"),
      ...[...this.#words.values()].flatMap(({ alarm, moved, looks }) =>
        alarm !== null && moved <= MAX_MOVED * looks ? [alarm] : [],
      ),
      ...this.#misses.values(),
    ];
  }

  #ticks(seconds: number): number {
    return Math.max(MIN_BLANK_TICKS, Math.ceil(seconds / this.#tickSeconds));
  }

  #forget(): void {
    this.#usual = Number.POSITIVE_INFINITY;
    this.#usualWords = "";
    this.#scenes = [];
    this.#jumps = [];
    this.#blankSince = null;
    this.#isBlankKnown = false;
  }

  #raise(oracle: SightAlarm["oracle"], tick: number, text: string): void {
    this.#alarms.push({ oracle, text, episode: this.#episode, tick });
  }

  #seeBlank(tick: number, picture: Thumbnail): void {
    const isWhole = isBlank(picture);
    const drawn = isWhole ? 0 : busyCells(picture).reduce((sum, one) => sum + one, 0);
    const isKnown = this.#usual >= MIN_USUAL && this.#usual < Number.POSITIVE_INFINITY;
    const isGone = isKnown && drawn <= GONE * this.#usual;
    if (!isWhole && !isGone) {
      this.#hasPicture = true;
      // What is taken away bit by bit is followed, and a fade is soon forgotten.
      this.#usual =
        this.#usual === Number.POSITIVE_INFINITY ? drawn : this.#usual + SLOW * (drawn - this.#usual);
      if (tick - this.#wordsSince >= this.#ticks(OUTSIDE_SECONDS)) this.#usualWords = this.#shownWords;
    }
    // A screen between two levels has words of its own.
    if (!isWhole && (!isGone || this.#shownWords === "" || this.#shownWords !== this.#usualWords)) {
      this.#blankSince = null;
      this.#isBlankKnown = false;
      return;
    }
    if (this.#blankSince === null) this.#numBlank = 0;
    this.#numBlank++;
    this.#blankSince ??= tick;
    const needed = this.#ticks(BLANK_SECONDS) * (this.#blankSince === 0 ? 2 : 1);
    if (this.#isBlankKnown || tick - this.#blankSince < needed || this.#numBlank < MIN_BLANK_LOOKS) return;
    this.#isBlankKnown = true;
    const text = isWhole ? "the picture has one colour" : "all but the words has gone from the picture";
    this.#raise("blank", this.#blankSince, `${text} for ${needed} ticks`);
  }

  #seeScene(tick: number, picture: Thumbnail, { ticksWithoutInput, isCalm }: Glance): void {
    const last = this.#scenes.at(-1);
    if (last !== undefined && isSame(last.picture, picture)) {
      last.last = tick;
      // A game that is drawn at half the rate of the ticks moves all the same.
      if (tick - last.tick > FLICKER_TICKS) this.#changedBefore = 0;
      return;
    }
    this.#scenes = [...this.#scenes.slice(-2), { picture: picture.slice(), tick, last: tick }];
    if (last === undefined) return;
    const [before, middle, after] = this.#scenes;
    if (
      after !== undefined &&
      middle.last - middle.tick < FLICKER_TICKS &&
      isFlicker(before.picture, middle.picture, after.picture)
    )
      this.#flickers.push(middle.tick);
    this.#seeJump(tick, last.picture, picture, ticksWithoutInput, isCalm);
  }

  #seeJump(tick: number, a: Thumbnail, b: Thumbnail, ticksWithoutInput: number, isCalm: boolean): void {
    const changed = numChanged(a, b);
    const before = this.#changedBefore;
    this.#changedBefore = changed;
    if (!isCalm || changed < Math.max(JUMPED, SUDDEN * before) || this.#searches >= MAX_SEARCHES) return;
    this.#searches++;
    const shift = shiftBetween(a, b);
    if (shift === null) return;
    this.#jumps.push({ shift, tick, isQuiet: ticksWithoutInput >= this.#ticks(RETURN_SECONDS) });
  }

  /** The episode is over. */
  #end(): void {
    const isNear = ([x, y]: Shift, [u, v]: Shift): boolean => Math.abs(x - u) <= 2 && Math.abs(y - v) <= 2;
    const isUndone = ({ shift: [x, y], tick }: Jump): boolean =>
      this.#jumps.some(
        (other) =>
          other.tick > tick &&
          other.tick - tick <= this.#ticks(RETURN_SECONDS) &&
          isNear(other.shift, [-x, -y]),
      );
    const isUsual = this.#jumps.length > MAX_JUMPS;
    const jump = this.#jumps.find((one) => isUndone(one) || (one.isQuiet && !isUsual));
    this.#jumps = [];
    if (this.#flickers.length >= this.#minFlickers) {
      const text = "frames are unlike those before and after them, which agree";
      this.#raise("flicker", this.#flickers[0], text);
    }
    this.#flickers = [];
    if (jump !== undefined)
      this.#raise(
        "jump",
        jump.tick,
        "the whole picture jumps from one frame to the next, though nothing was pressed",
      );
  }

  #seeWords(tick: number, words: readonly Word[]): void {
    const now = new Map<string, Word | null>();
    for (const word of words) {
      const key = `${word.isButton} ${word.text.replace(/[\d.,:]+/g, "#")} ${Math.round(word.bottom - word.top)}`;
      const same = now.get(key);
      // One of several alike cannot be followed.
      now.set(key, same === undefined || (same !== null && isAtPlace(same, word)) ? word : null);
    }
    const shown = [...now.keys()].sort().join("\n");
    if (shown !== this.#shownWords) this.#wordsSince = tick;
    this.#shownWords = shown;
    for (const [key, word] of now) {
      const known = this.#words.get(key);
      if (known === undefined && (word === null || this.#words.size >= MAX_WORDS)) continue;
      const isMoved = known !== undefined && (word === null || !isAtPlace(known.word, word));
      const next = known ?? { word: word as Word, looks: 0, moved: 0, since: null, alarm: null };
      this.#words.set(key, next);
      next.looks++;
      if (isMoved) next.moved++;
      if (word === null) continue;
      const isOut = word.share >= MIN_OUTSIDE && !isMoved;
      next.since = isOut ? (next.since ?? tick) : null;
      next.word = word;
      if (next.since === null || next.alarm !== null || tick - next.since < this.#ticks(OUTSIDE_SECONDS))
        continue;
      const what = `${word.isButton ? "the button" : "the text"} ${JSON.stringify(word.text)}`;
      const how =
        word.share > 0.99
          ? "lies outside the view"
          : `is cut off: ${Math.round(100 * word.share)} % of it lie outside the view`;
      const text = `${what} ${how}, beyond the ${word.beyond.join(" and ")} edge`;
      next.alarm = { oracle: "outside", text, episode: this.#episode, tick };
    }
    for (const [key, known] of this.#words) if (!now.has(key)) known.since = null;
  }
}

/** Whether one of its edges, or its middle, is where it was: a number may grow to one side. */
function isAtPlace(a: Word, b: Word): boolean {
  const isNear = (x: number, y: number): boolean => Math.abs(x - y) <= SAME_PLACE;
  const isAcross =
    isNear(a.left, b.left) || isNear(a.right, b.right) || isNear(a.left + a.right, b.left + b.right);
  return isAcross && (isNear(a.top, b.top) || isNear(a.bottom, b.bottom));
}
