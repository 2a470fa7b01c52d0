/** Everything that crosses the wire, as types, validators and a codec. */

import type { EpisodeResult, GameDescription, Lease } from "./messages.gen.ts";

export type * from "./api.gen.ts";
export * as closeCodes from "./close-codes.gen.ts";
export * from "./codec.ts";
export type * from "./messages.gen.ts";
export * from "./step-numbers.gen.ts";

export type ObservationSpace = GameDescription["observation"];
export type ActionSpace = GameDescription["action"];
export type Purpose = Lease["purpose"];
export type EndReason = EpisodeResult["end_reason"];

/** Version of the wire protocol, the first thing a `hello` says. */
export { CONTRACT_VERSION, PROTOCOL_VERSION } from "./versions.gen.ts";
