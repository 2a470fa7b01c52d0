/** What `attract.config.ts` may say. Commands and tests of a game read it: it is data, and nothing of it is run. */

import type { CrowdName, DeviceName, OracleThresholds } from "./config.gen.ts";

/** `off`: not judged; `warn`: reported, and no failure; `error`, the default: the build fails. */
export type Level = "off" | "warn" | "error";
type Rule<Thresholds> = Level | readonly [level: Level, thresholds?: Thresholds];
export type Rules = {
  readonly [Oracle in keyof OracleThresholds]?: Rule<OracleThresholds[Oracle]>;
} & { readonly [Finding in `changed:${string}` | `unreached:${string}`]?: Level };

/** Paths are relative to the file, and stay in its project. Flags of a command win. */
export interface AttractConfig {
  /** The built page: a folder, an .html file, or an address on this machine. */
  readonly page?: string;
  /** The page's adapter; without it the one beside the page, if there is one. */
  readonly adapter?: string;
  /** A game module, in place of a page. */
  readonly game?: string;
  /** A page is played on each in turn. */
  readonly devices?: readonly DeviceName[];
  /** By oracle, or by finding: `changed:return`. */
  readonly rules?: Rules;
  /** Who of the crowd plays beside `idle`; without it all do. */
  readonly players?: readonly CrowdName[];
  /** How long it may play, on each device. */
  readonly seconds?: number;
  readonly seed?: number;
  readonly baseline?: string;
  /** A run id, `latest`, or a folder that `attract export` wrote. */
  readonly policy?: string;
  readonly out?: string;
  readonly junit?: string;
  readonly html?: string;
}
