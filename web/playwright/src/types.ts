/** What a test gives to the game, and gets. */

/** Where the game is, and how it is opened: `test.use({ attract: { page: "../dist" } })`. */
export interface GameOptions {
  /**
   * The page: a folder with an `index.html`, an `.html` file, or an address. Relative paths begin at the test's folder, else at
   * that of playwright.config; one that begins with `/` at `baseURL`. Default: `baseURL`. Of `moduleGame` the game's module.
   */
  page?: string;
  /** The folder or address that the page's files are served from, of which `page` is a part. Default: the page's folder. */
  root?: string;
  /** File of the adapter: it says what players see, press, and gain. Default: none. */
  adapter?: string;
  /** Default: the adapter's, else "desktop". */
  device?: "desktop" | "desktop@2x" | "phone" | "phone-landscape" | "tablet";
  /** Chance in the page follows from it, 32 bits. Default: 0. */
  seed?: number;
  /** Of a page without an adapter: size of its window in CSS pixels. Default: the device's, else 800 x 600. */
  size?: readonly [width: number, height: number];
  /**
   * Of a page without an adapter: what players press, codes of keys and places in CSS pixels. Default: usual keys, and in turn nine
   * places and small elements, which are clicked and dragged.
   */
  inputs?: readonly (string | readonly [x: number, y: number])[];
  /** Whether the page draws, so that screenshots show it: slower. Default: false. */
  draws?: boolean;
}

/** What came of a play. */
export interface Played {
  steps: number;
  /** Game time. */
  seconds: number;
  /** Rewards since the episode began, the mean over its agents. 0 without an adapter. */
  return: number;
  /** Why the episode is over; null: it is not. */
  ended: "terminated" | "time_limit" | "game_truncated" | "failed" | null;
}

/** What came of the replay of a recorded episode. */
export interface Replayed extends Played {
  /** What is wrong, a sentence each; empty: the fault is not there. */
  failures: string[];
  /** Where this build plays differently from the recorded one; null: nowhere. */
  difference: string | null;
}

/** Who plays, see `attract ci`: a policy is `game.policy`. */
export type PlayerName = "idle" | "random" | "sticky" | "novelty" | `hold-${number}`;

/** A CSS selector, or a place in the page's window in CSS pixels. */
export type ClickTarget = string | readonly [x: number, y: number];

export interface PlayOptions {
  /** Game time. Default: 30. */
  seconds?: number;
  /** The player's chance, and that of a page in which nothing was done yet. Default: the page's. */
  seed?: number;
}

export interface PressOptions {
  /** Frames of 1/60 s; of a module ticks. Default: 4. */
  frames?: number;
}

export interface ClickOptions extends PressOptions {
  /** Default: "press". */
  how?: "press" | "double" | "right";
}

export interface UntilOptions extends PlayOptions {
  /** Keys that are held, or an action of the adapter. */
  hold?: string | readonly string[];
  /** Who plays meanwhile. Default: nobody. */
  player?: PlayerName;
}

export interface PolicyOptions extends PlayOptions {
  /** By its best action, as it was trained, with mistakes and a delay, or random for a while. Default: "greedy". */
  how?: "greedy" | "sampled" | "clumsy" | "excursions";
}

export interface ReplayOptions {
  /** The oracle of `attract ci` by which the play is judged. Default: "error". */
  oracle?: string;
  /** Texts of errors that are no failures. */
  known?: readonly string[];
  /** Whether a second play in the same copy has to begin, and nothing more. */
  begins?: boolean;
}
