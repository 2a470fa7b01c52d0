/** What a code of the keyboard says as `key` and `keyCode`, for an American keyboard. */

/** `KeyboardEvent.code` to what `key` and the old `keyCode` say, for an American keyboard. */
const NAMED: Readonly<Record<string, readonly [key: string, keyCode: number]>> = {
  Space: [" ", 32],
  Enter: ["Enter", 13],
  NumpadEnter: ["Enter", 13],
  Escape: ["Escape", 27],
  Tab: ["Tab", 9],
  Backspace: ["Backspace", 8],
  Delete: ["Delete", 46],
  Home: ["Home", 36],
  End: ["End", 35],
  PageUp: ["PageUp", 33],
  PageDown: ["PageDown", 34],
  ArrowLeft: ["ArrowLeft", 37],
  ArrowUp: ["ArrowUp", 38],
  ArrowRight: ["ArrowRight", 39],
  ArrowDown: ["ArrowDown", 40],
  ShiftLeft: ["Shift", 16],
  ShiftRight: ["Shift", 16],
  ControlLeft: ["Control", 17],
  ControlRight: ["Control", 17],
  AltLeft: ["Alt", 18],
  AltRight: ["Alt", 18],
  MetaLeft: ["Meta", 91],
  Semicolon: [";", 186],
  Equal: ["=", 187],
  Comma: [",", 188],
  Minus: ["-", 189],
  Period: [".", 190],
  Slash: ["/", 191],
  Backquote: ["`", 192],
  BracketLeft: ["[", 219],
  Backslash: ["\\", 220],
  BracketRight: ["]", 221],
  Quote: ["'", 222],
};
export const MODIFIERS: Readonly<Record<string, string>> = {
  Shift: "shiftKey",
  Control: "ctrlKey",
  Alt: "altKey",
  Meta: "metaKey",
};

/** What Shift makes of the keys that are no letters. */
const SHIFTED: Readonly<Record<string, string>> = Object.fromEntries(
  [...")!@#$%^&*(", ...'_+{}|:"<>?~'].map((shifted, i) => ["0123456789-=[]\\;',./`"[i], shifted]),
);

/** @param isShifted whether Shift is held. */
export function keyOf(code: string, isShifted: boolean): readonly [key: string, keyCode: number] {
  const [key, keyCode] = NAMED[code] ?? plainKeyOf(code);
  if (!isShifted || key.length > 1) return [key, keyCode];
  return [SHIFTED[key] ?? key.toUpperCase(), keyCode];
}

function plainKeyOf(code: string): readonly [string, number] {
  const letter = /^Key([A-Z])$/.exec(code)?.[1];
  if (letter !== undefined) return [letter.toLowerCase(), letter.charCodeAt(0)];
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(code)?.[1];
  if (digit !== undefined) return [digit, digit.charCodeAt(0)];
  const functionKey = /^F(\d+)$/.exec(code)?.[1];
  return [code, functionKey === undefined ? 0 : 111 + Number(functionKey)];
}
