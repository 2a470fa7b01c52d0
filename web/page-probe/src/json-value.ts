/** Values of a page as JSON of bounded size. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const MAX_DEPTH = 4;
const MAX_ENTRIES = 100;
/** All values within one. */
const MAX_VALUES = 2_000;
export const MAX_WORDS = 400;
const MAX_NAME = 100;
const DIGITS = 6;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what goes
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\s]+/g;

/** In one line, without control characters, and not longer than `length`. */
export function wordsOf(text: unknown, length = MAX_WORDS): string {
  const line = asText(text)
    .slice(0, 4 * length)
    .replace(CONTROLS, " ")
    .trim();
  const cut = line.length <= length ? line : `${line.slice(0, length - 1)}…`;
  // Half of a character of two units is no text.
  return cut.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Whole, or to six digits; null of what is no finite number. */
export function numberOf(value: unknown): number | null {
  return rounded(value, DIGITS);
}

function rounded(value: unknown, digits: number): number | null {
  if (typeof value !== "number" || !Number.isFinite(value)) return null;
  return Number.isSafeInteger(value) ? value : Number(value.toPrecision(digits));
}

/**
 * What `value` is as JSON: functions, elements and what is too deep are named, what throws is left out.
 *
 * @param digits of numbers that are not whole.
 * @param length of a text.
 */
export function jsonOf(value: unknown, digits = DIGITS, length = MAX_WORDS): Json {
  let left = MAX_VALUES;
  const seen = new Set<object>();
  const inner = (now: unknown, depth: number): Json => {
    if (left-- <= 0) return "…";
    if (now === null || now === undefined) return null;
    if (typeof now === "boolean") return now;
    if (typeof now === "number") return rounded(now, digits) ?? String(now);
    if (typeof now === "string") return wordsOf(now, length);
    if (typeof now !== "object") return `[${typeof now}]`;
    if (seen.has(now)) return "[circular]";
    seen.add(now);
    try {
      if (isElement(now)) return wordsOf(`[${now.tagName.toLowerCase()}]`, MAX_NAME);
      if (depth === MAX_DEPTH) return Array.isArray(now) ? `[array of ${now.length}]` : "[object]";
      const all = listOf(now);
      if (all !== null) return all.map((one) => inner(one, depth + 1));
      const found: { [name: string]: Json } = {};
      for (const name of Object.keys(now).slice(0, MAX_ENTRIES))
        found[wordsOf(name, MAX_NAME)] = inner((now as Record<string, unknown>)[name], depth + 1);
      return found;
    } catch (error) {
      return `[threw ${wordsOf((error as Error | undefined)?.message, MAX_NAME)}]`;
    } finally {
      seen.delete(now);
    }
  };
  return inner(value, 0);
}

/** The first elements of arrays, typed arrays, sets and maps; null of anything else. */
function listOf(value: object): unknown[] | null {
  if (Array.isArray(value)) return Array.from(value.slice(0, MAX_ENTRIES));
  if (ArrayBuffer.isView(value) && "length" in value)
    return Array.from({ length: Math.min(Number(value.length), MAX_ENTRIES) }, (_, i) =>
      Number((value as unknown as ArrayLike<number>)[i]),
    );
  // `instanceof` is false for those of another window.
  if (!/^\[object (?:Set|Map)\]$/.test(Object.prototype.toString.call(value))) return null;
  const all: unknown[] = [];
  for (const one of value as Iterable<unknown>) {
    if (all.length === MAX_ENTRIES) break;
    all.push(one);
  }
  return all;
}

function isElement(value: object): value is Element {
  return typeof (value as Element).tagName === "string" && "nodeType" in value;
}

function asText(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "[no text]";
  }
}
