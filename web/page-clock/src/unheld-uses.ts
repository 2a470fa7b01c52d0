/** What a page uses that its clock does not control, for people and for code. */

/**
 * `file`: a part of the page that is missing. `script`: one of another server that did not come. `other`: everything
 * else, such as sockets, workers and requests to a server.
 */
export type UnheldKind = "file" | "script" | "other";

/** One use: the predicate of a sentence, with the address that it is about where there is one. */
interface Use {
  readonly kind: UnheldKind;
  readonly does: string;
  readonly address: string | null;
  readonly but: string;
}

const MAX_ADDRESSES = 3;

/** Every use once, in the order in which they came. Iterates over predicates of sentences, such as "shows a video, ...". */
export class UnheldUses implements Iterable<string> {
  readonly #uses = new Map<string, Use>();

  get size(): number {
    return this.#uses.size;
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#uses.keys();
  }

  add(does: string): void {
    this.#keep({ kind: "other", does, address: null, but: "" });
  }

  /** @param but a clause about the address, "which ...". */
  addAddress(kind: UnheldKind, does: string, address: string, but: string): void {
    this.#keep({ kind, does, address, but });
  }

  addAll(others: UnheldUses): void {
    for (const use of others.all) this.#keep(use);
  }

  /** Public, since a page's clock is another bundle than what reads it: its private members are of another class. */
  get all(): readonly Use[] {
    return [...this.#uses.values()];
  }

  /** Those of one kind. @param from how many uses, of any kind, are left out at the beginning. */
  of(kind: UnheldKind, from = 0): string[] {
    return [...this.#uses]
      .slice(from)
      .filter(([, use]) => use.kind === kind)
      .map(([text]) => text);
  }

  /** All, those that differ in their address alone as one. */
  grouped(): string[] {
    const groups = new Map<string, Use[]>();
    for (const use of this.#uses.values()) {
      const key = use.address === null ? use.does : `${use.does}\n${use.but}`;
      groups.set(key, [...(groups.get(key) ?? []), use]);
    }
    return [...groups.values()].map((uses) => {
      if (uses.length === 1) return textOf(uses[0]);
      // Answers come in any order.
      const addresses = uses
        .map(({ address }) => address)
        .sort()
        .slice(0, MAX_ADDRESSES);
      const more = uses.length > MAX_ADDRESSES ? ` and ${uses.length - MAX_ADDRESSES} more` : "";
      const plural = uses[0].but.replace("which is ", "which are ").replace(/\bit\b(?! does)/g, "them");
      return `${uses[0].does} ${addresses.join(", ")}${more}, ${plural}`;
    });
  }

  #keep(use: Use): void {
    const text = textOf(use);
    if (!this.#uses.has(text)) this.#uses.set(text, use);
  }
}

function textOf({ does, address, but }: Use): string {
  return address === null ? does : `${does} ${address}, ${but}`;
}
