/** What each player's episodes came to, as a list on the page. */

const LAST = 20;

/** Owns the items of one list. */
export class Scores {
  readonly #list: HTMLElement;
  readonly #items = new Map<string, { item: HTMLElement; returns: number[][]; episodes: number }>();

  constructor(list: HTMLElement) {
    this.#list = list;
  }

  /** An episode of `name` is over, with a return for each agent. */
  add(name: string, returns: readonly number[]): void {
    let entry = this.#items.get(name);
    if (entry === undefined) {
      entry = { item: document.createElement("li"), returns: [], episodes: 0 };
      this.#items.set(name, entry);
      this.#list.append(entry.item);
    }
    entry.episodes++;
    entry.returns = [...entry.returns, [...returns]].slice(-LAST);
    entry.item.textContent = scoreText(name, entry.returns, entry.episodes);
  }
}

/** "The agent: 4.0; mean of 3 episodes 3.5". `returns`: those of the last episodes; `episodes`: how many were played in all. */
export function scoreText(name: string, returns: readonly (readonly number[])[], episodes: number): string {
  const last = returns[returns.length - 1].map(scoreOf).join(" : ");
  if (returns.length === 1) return `${name}: ${last}`;
  const means = returns[0].map(
    (_, agent) => returns.reduce((sum, one) => sum + one[agent], 0) / returns.length,
  );
  const which = episodes > returns.length ? `the last ${returns.length}` : `${returns.length}`;
  return `${name}: ${last}; mean of ${which} episodes ${means.map(scoreOf).join(" : ")}`;
}

function scoreOf(value: number): string {
  return value.toFixed(1);
}
