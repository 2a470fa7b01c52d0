/** Looks for NaN in what a game reports in `info` beside its metrics, which the SDK does not check. */

import type { Game, GameDefinition } from "attract/contract";

/** Owned by one playtest; watches one copy at a time. */
export class InfoWatch {
  /** The first number that was NaN since `begin`; null: none was. */
  name: string | null = null;
  readonly #metrics: Readonly<Record<string, unknown>>;
  #game: Game | null = null;
  /** The copy's own `update`, where it has one beside that of its class. */
  #own: PropertyDescriptor | undefined;

  constructor({ metrics = {} }: Pick<GameDefinition, "metrics">) {
    this.#metrics = metrics;
  }

  /** Watches `game` from now on. One that is frozen is not watched. */
  begin(game: Game): void {
    this.end();
    this.name = null;
    const { update } = game;
    const watched: Game["update"] = (deltaTime, action, out) => {
      const result = update.call(game, deltaTime, action, out);
      const info: unknown = result?.info;
      if (typeof info === "object" && info !== null) this.#look(info as Record<string, unknown>);
      return result;
    };
    const own = Object.getOwnPropertyDescriptor(game, "update");
    if (!Reflect.defineProperty(game, "update", { value: watched, configurable: true, writable: true }))
      return;
    this.#game = game;
    this.#own = own;
  }

  /** Give the game its `update` back: reports of a failure show its source. */
  end(): void {
    if (this.#game === null) return;
    if (this.#own === undefined) Reflect.deleteProperty(this.#game, "update");
    else Reflect.defineProperty(this.#game, "update", this.#own);
    this.#game = null;
  }

  #look(info: Record<string, unknown>): void {
    if (this.name !== null) return;
    for (const name in info)
      if (Number.isNaN(info[name]) && !Object.hasOwn(this.#metrics, name)) this.name = name;
  }
}
