/** What was found in a page, as its adapter is written of it. */

import type { ResponsiveInputs } from "./moves.ts";
import type { Reading } from "./readings.ts";
import type { StartAction } from "./start-actions.ts";
import type { PageToProbe } from "./trial.ts";

export interface Findings extends PageToProbe {
  readonly title: string;
  readonly inputs: ResponsiveInputs;
  readonly reading: Reading;
  /** Whether the agent sees the canvas, in the place of what was found. */
  readonly seesPixels: boolean;
  /** Whether its engine draws by WebGL alone, and keeps its state to itself. */
  readonly isCompiled: boolean;
  /** The call that restarts the game; null: each episode takes a fresh page. */
  readonly restart: string | null;
  /** The start action with what restarts the game once it is over; null: nothing does, or `restart` does it. */
  readonly again: StartAction | null;
  /** A call that seeds the engine's own random numbers; null: it has none. */
  readonly seed: string | null;
  /** An expression of `w` that holds once the game has begun; null: it is waited for. */
  readonly playing: string | null;
  /** Expressions of `w` that are there once the page has loaded. */
  readonly early: readonly string[];
  /** Variables of scripts, which are reached by a function made within the page. */
  readonly variables: readonly string[];
  /** Whether the page advances only by calls of `advanceTime`. */
  readonly advances: boolean;
  /** Whether style sheets move what is played with. */
  readonly isAnimated: boolean;
  /** Frames of a step. */
  readonly ticksPerStep: number;
  /** Length of an episode that the game does not end. */
  readonly maxSeconds: number;
  /** Whether each frame earns a little: random play rarely scores, and loses. */
  readonly alive: boolean;
  /** Whether each place that the player reaches first earns a little: random play rarely scores. */
  readonly reached: boolean;
  /** Further options that are missing beside those of `unfinishedOf`: no candidate plays as it did in the probe. */
  readonly open: readonly string[];
}
