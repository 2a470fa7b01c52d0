/** Numbers as pages write them for people: separators of thousands, decimal commas, digits of any script, `1.2K`. */

import type { PageWindow } from "../page-adapter.ts";

/** Separate thousands in any language: apostrophes, and the spaces that `toLocaleString` writes. */
const GROUPS = "'’\u00a0\u202f\u2009٬";
const TIMES: Readonly<Record<string, number>> = { k: 1e3, K: 1e3, M: 1e6, B: 1e9, T: 1e12 };
/** A thousand in some languages and one in others. */
const AMBIGUOUS = /^[1-9]\d{0,2}\.\d{3}$/;

/** A text with "#" in the place of each number, and the numbers in their order. */
export interface Read {
  readonly pattern: string;
  readonly numbers: readonly number[];
}

/**
 * Reads one page. What `1.000` means is decided by what the same place has shown: never thousands after `0.75` or
 * `1.5`, thousands after `750`; and before that by the language of the page.
 */
export class Numerals {
  readonly #number: RegExp;
  readonly #isPointGroup: boolean;
  /** Whether a place has shown decimals, or no more than whole numbers. */
  readonly #hasDecimals = new Map<string, boolean>();

  /** @param language as in `lang`; English where there is none, or none that is known. */
  constructor(language: string) {
    const parts = formatOf(language).formatToParts(1_234_567.5);
    const [group, decimal] = ["group", "decimal"].map(
      (type) => parts.find((one) => one.type === type)?.value,
    );
    const own = /\s/.test(group ?? "") ? " " : group;
    const groups = [...GROUPS, ",", own ?? ","].filter((one) => one !== decimal).join("");
    this.#isPointGroup = group === ".";
    this.#number = new RegExp(
      // A minus is a sign where nothing is taken from: not in `3-4`.
      `(?<sign>(?<=^|[\\s:=(])[-−])?(?<whole>${[
        `(?!0)\\d{1,3}(?<by>[${groups}])\\d{3}(?:\\k<by>\\d{3})*(?!\\d)`,
        "(?!0)\\d{1,3}(?:\\.\\d{3}){2,}(?!\\d)",
        // As in India.
        "(?!0)\\d{1,2}(?:,\\d\\d)+,\\d{3}(?!\\d)",
        "\\d+",
      ].join("|")})(?:[${decimal === "," ? ".,٫" : ".٫"}](?<part>\\d+))?(?<times>[kKMBT](?![\\p{L}\\d]))?`,
      "gu",
    );
  }

  read(text: string): Read {
    const ascii = text.replace(/(?!\d)\p{Nd}/gu, digitOf);
    const pattern = ascii.replace(this.#number, "#").trim();
    const numbers = [...ascii.matchAll(this.#number)].map((match, i) =>
      this.#valueOf(match, `${pattern} ${i}`),
    );
    return { pattern, numbers };
  }

  /** @param place the same for what a page shows there at other times. */
  #valueOf({ 0: text, groups = {} }: RegExpMatchArray, place: string): number {
    const { sign, whole, part, times } = groups as Record<string, string | undefined>;
    const isAmbiguous = AMBIGUOUS.test(text.replace(/^[-−]/, ""));
    const hasDecimals = this.#hasDecimals.get(place);
    if (!isAmbiguous && times === undefined)
      this.#hasDecimals.set(place, hasDecimals === true || part !== undefined);
    const isGrouped = isAmbiguous && (hasDecimals === undefined ? this.#isPointGroup : !hasDecimals);
    const digits = isAmbiguous ? text.replace(/[-−]/, "") : `${whole?.replace(/\D/g, "")}.${part ?? 0}`;
    const value = Number(isGrouped ? digits.replace(".", "") : digits);
    return (sign === undefined ? value : -value) * (times === undefined ? 1 : TIMES[times]);
  }
}

const known = new WeakMap<object, Numerals>();

/** Those of a page; its language is read the first time. */
export function numeralsOf(window: PageWindow): Numerals {
  const numerals = known.get(window) ?? new Numerals(String(window.document.documentElement?.lang ?? ""));
  known.set(window, numerals);
  return numerals;
}

/** The first number that an element shows; undefined where there is none. */
export function numberIn(element: Element | null | undefined): number | undefined {
  const window = element?.ownerDocument.defaultView;
  return window == null ? undefined : numeralsOf(window).read(element?.textContent ?? "").numbers[0];
}

function formatOf(language: string): Intl.NumberFormat {
  try {
    return new Intl.NumberFormat(language || "en");
  } catch {
    return new Intl.NumberFormat("en");
  }
}

/** Digits of a script follow one another from its zero on. */
function digitOf(digit: string): string {
  let zero = digit.codePointAt(0) as number;
  const code = zero;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return String((code - zero) % 10);
}
