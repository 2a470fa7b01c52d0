/** Keys in the words that stand on them. */

/** Signs of the arrow keys, by code. */
export const ARROWS: Readonly<Record<string, string>> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
};

/** "ArrowLeft" is "←", "KeyA" is "A", "Space" is "Space". */
export function nameOfKey(code: string): string {
  return ARROWS[code] ?? code.replace(/^(Key|Digit|Numpad)/, "");
}
