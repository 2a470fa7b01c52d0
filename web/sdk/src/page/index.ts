/** What a page imports from `attract/page`: a game in its own time on a canvas, and the keyboard that plays it. */

export { nameOfKey } from "./key-names.ts";
export { createKeyboard, type Keyboard } from "./keyboard.ts";
export {
  beside,
  type Choice,
  type Controller,
  createPlayer,
  type Player,
  type PlayerOptions,
} from "./play.ts";
