/** What a page imports from `attract/page`: a game on its canvas, the keyboard that plays it, and adapters of games that have a page. */

export { alerts } from "../../../page-clock/src/dialogs.ts";
export type { ClickTarget, PageHands, PageWindow, PointerHow, PointerPlace } from "../page-adapter.ts";
export type { PixelOptions } from "../page-pixels.ts";
export {
  box,
  dict,
  discrete,
  mixed,
  multiBinary,
  multiDiscrete,
  set,
} from "../spaces.ts";
export { type AttachedAgent, type AttachOptions, attachAgent, type Decider } from "./attach.ts";
export { type Drawn, type DrawnThing, drawn } from "./drawn.ts";
export { elements } from "./elements.ts";
export { nameOfKey } from "./key-names.ts";
export { createKeyboard, type Keyboard } from "./keyboard.ts";
export { made } from "./made.ts";
export { numberIn } from "./numerals.ts";
export { definePageGame, type PageGameOptions } from "./page-game.ts";
export {
  beside,
  type Choice,
  type Controller,
  createPlayer,
  type Player,
  type PlayerOptions,
} from "./play.ts";
export { type PortalSignals, portal } from "./portal.ts";
export { cells, marked, near, nearest, numbersIn, phaserGame, rows, says } from "./readers.ts";
export { spot } from "./spot.ts";
export { type UsualInputs, usualInputs } from "./usual-inputs.ts";
