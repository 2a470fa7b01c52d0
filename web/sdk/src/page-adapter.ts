/** How a game that lives in a page is played: what its adapter says, without a word of the page's own types. */

import type { DeviceName } from "../../page-clock/src/devices.gen.ts";
import type { POINTER_INPUTS } from "./page-inputs.gen.ts";
import type { PixelSettings } from "./page-pixels.ts";
import type { GivenAction, ObservationValue, PerAgent } from "./values.ts";

/** The page's own window, with whatever its scripts left there. */
// biome-ignore lint/suspicious/noExplicitAny: a page's globals are not known here
export type PageWindow = any;

/** What the pointer does at its place: a row of the table in docs/adapter.md. */
export type PointerHow = keyof typeof POINTER_INPUTS;

type Spot = readonly [x: number, y: number];

/** A place in the page's window in CSS pixels, and what the pointer does there. Default: it is pressed. */
export type PointerPlace = readonly [x: number, y: number, how?: PointerHow, second?: Spot];

/** An element of the page: what is read of it. */
export interface ClickedElement {
  getBoundingClientRect(): {
    readonly left: number;
    readonly top: number;
    readonly width: number;
    readonly height: number;
  };
}

/** An element, of which the middle counts, or a place in the page's window in CSS pixels. */
export type ClickPlace = ClickedElement | { readonly x: number; readonly y: number };

/** What `click` names, and how it is clicked. */
export type ClickTarget = ClickPlace | readonly [target: ClickPlace, how: PointerHow, second?: ClickPlace];

/** What an adapter may do to its page beside reading it. */
export interface PageHands {
  /** Ticks since the episode's start was asked for, menus included. */
  readonly ticks: number;
  /** Ticks of the step under way before this one: 0 to `ticksPerStep - 1`; 0 in menus. */
  readonly stepTick: number;
  /** The episode's parameters, as in every game. */
  readonly parameters: Readonly<Record<string, number>>;
  /** Exactly these keys (`KeyboardEvent.code`) are down from now on. */
  hold(codes: readonly string[]): void;
  /**
   * Where the pointer is from now on, and whether it is pressed or what else it does.
   *
   * @param second place of a second finger.
   */
  point(x: number, y: number, how: boolean | PointerHow, second?: Spot): void;
  /** Release the pointer, wherever it is. */
  lift(): void;
  /** Turns a phone or a tablet: the sides of the window are swapped, and the page hears of it in the next tick. */
  rotate(): void;
}

/** Keys that an action holds down for its step, by the action's label. */
export type KeysByLabel = Readonly<Record<string, readonly string[]>>;

/** One number per choice, 0 where it is forbidden; of a mixed action by the names of its parts. */
export type Allowed = ArrayLike<boolean | number> | Readonly<Record<string, ArrayLike<boolean | number>>>;

/** How the parts of a mixed action are pressed together, where neither `act` nor `click` does it. */
export interface MixedHands {
  /** Labels of each part that is a choice. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  /** Name of the box that is the pointer's place. */
  readonly aim: string;
  /** What the pointer does there: by a label of a choice, else by the name of the box. */
  readonly hows: Readonly<Record<string, PointerHow>>;
}

/** How episodes begin: see `definePageGame`. */
export type PageReset = "own" | "over" | "reload";

/** See `definePageGame` for what each is for. */
export interface PageAdapter<W = PageWindow> {
  readonly page: string;
  readonly size: readonly [width: number, height: number];
  readonly reset: PageReset;
  readonly css: boolean;
  readonly hidden: boolean;
  readonly taps: boolean;
  readonly touch: boolean;
  readonly device: DeviceName;
  readonly turns: boolean;
  /** Per agent; empty where no action holds keys. */
  readonly keys: readonly KeysByLabel[];
  readonly pointers: Readonly<Record<string, PointerPlace>>;
  readonly labels: readonly string[];
  readonly mixed?: MixedHands;
  /** Where the agent sees the page's canvas; without them it sees what `observe` says alone. */
  readonly pixels?: PixelSettings;
  prepare?(window: W, parameters: Readonly<Record<string, number>>): void;
  loaded?(window: W): void;
  ready?(window: W): boolean;
  seed?(window: W, seed: number): void;
  restart?(window: W, page: PageHands): void;
  menu?(window: W, page: PageHands): void;
  playing?(window: W): boolean;
  act?(window: W, action: GivenAction, page: PageHands): void;
  click?(window: W, action: GivenAction): ClickTarget | null | undefined;
  observe?(window: W): ObservationValue | ObservationValue[];
  allowed?(window: W): Allowed | readonly Allowed[];
  score?(window: W): PerAgent<number>;
  reward?(window: W): PerAgent<number>;
  over(window: W): PerAgent<boolean>;
  info?(window: W): Readonly<Record<string, number>>;
}
