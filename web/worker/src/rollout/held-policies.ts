/** The policies that one rollout worker holds: versions of networks, and scripts. */

import type { Lease, Policy as PolicyMessage, WelcomeWorker } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { policyKey } from "../connection/connection.ts";
import { type AskOutside, OutsidePolicy } from "../policy/outside-policy.ts";
import { type ModelPolicy, type Policy, RandomPolicy } from "../policy/policy.ts";
import { loadScript, ScriptPolicy } from "../policy/script-policy.ts";
import type { SessionMaker } from "../policy/session-maker.ts";
import { MAX_EVALUATION_GAMES } from "./evaluate.ts";

/** Versions of one policy that are kept. */
const MAX_VERSIONS = 2;
/** So many that came after a newer one, as opponents do, are kept besides, up to so many bytes of models. */
const MAX_OPPONENTS = 8;
const MAX_OPPONENT_BYTES = 64 * 1024 * 1024;

/** Owned by the worker, which makes and releases one at a time. */
export class HeldPolicies {
  readonly #maker: Pick<SessionMaker, "create">;
  /** By key, in the order of their arrival. */
  readonly #held = new Map<string, ModelPolicy>();
  /** Bytes of the models that came after a newer version of their policy, by key. */
  readonly #opponents = new Map<string, number>();

  constructor(maker: Pick<SessionMaker, "create">) {
    this.#maker = maker;
  }

  /** @param turn called before each decision of a script. Raises Error for what cannot play, saying why. */
  async make(message: PolicyMessage, welcome: WelcomeWorker, turn: () => void): Promise<void> {
    const { policy_id: policyId, policy_version: policyVersion, onnx, script } = message;
    const { description, instance_ids: instanceIds, state_size: stateSize } = welcome;
    const maxBatch = instanceIds.length * description.num_agents;
    const made =
      script === ""
        ? await this.#maker.create(onnx, description, { policyId, policyVersion, stateSize, maxBatch })
        : new ScriptPolicy(
            policyId,
            await loadScript(policyId, script),
            description,
            { rows: rowsOf(welcome), stateSize },
            turn,
          );
    const key = policyKey(policyId, policyVersion);
    const isOld = [...this.#held.values()].some(
      (other) => other.policyId === policyId && other.policyVersion > policyVersion,
    );
    if (isOld) this.#opponents.set(key, onnx.byteLength);
    await this.#held.get(key)?.release();
    this.#held.delete(key);
    this.#held.set(key, made);
  }

  /** It came again, and stays as if it had come now. */
  renew(key: string): void {
    const policy = this.#held.get(key);
    if (policy === undefined) return;
    this.#held.delete(key);
    this.#held.set(key, policy);
  }

  /**
   * Keeps the newest versions of each policy, some opponents, and what is needed; gives up the others.
   *
   * @param needed keys of those that current leases name. @param released told of each that is given up.
   */
  async releaseOld(needed: ReadonlySet<string>, released: (key: string) => void): Promise<void> {
    const numKept = new Map<string, number>();
    let [numOpponents, numBytes] = [0, 0];
    // The newest of a policy is never given up: it is acknowledged, and the lease that names it may be on its way.
    for (const [key, policy] of [...this.#held].reverse()) {
      const size = this.#opponents.get(key);
      const kept = numKept.get(policy.policyId) ?? 0;
      if (size !== undefined) {
        numOpponents++;
        numBytes += size;
        if (needed.has(key) || (numOpponents <= MAX_OPPONENTS && numBytes <= MAX_OPPONENT_BYTES)) continue;
      } else if (kept < MAX_VERSIONS || needed.has(key)) {
        numKept.set(policy.policyId, kept + 1);
        continue;
      }
      this.#opponents.delete(key);
      this.#held.delete(key);
      released(key);
      await policy.release();
    }
  }

  /**
   * One per seat, the same object where seats share one. Raises Error for a policy that was never sent or could not be made.
   *
   * @param ask of programs outside.
   */
  of(lease: Lease, welcome: WelcomeWorker, definition: GameDefinition, ask: AskOutside): Policy[] {
    const made = new Map<string, Policy>();
    return lease.seats.map(({ policy_id: policyId, policy_version: policyVersion, script }) => {
      const key = policyKey(policyId, policyVersion);
      if (script !== null) {
        const sizes = { rows: rowsOf(welcome), stateSize: welcome.state_size };
        const policy =
          made.get(key) ??
          (script === "random"
            ? new RandomPolicy(policyId, policyVersion, sizes.rows, sizes.stateSize)
            : new OutsidePolicy(policyId, definition, sizes, ask));
        made.set(key, policy);
        return policy;
      }
      const held = this.#held.get(key);
      if (held === undefined) throw new Error(`lease ${lease.lease_id} needs ${key}, which is not here`);
      return held;
    });
  }
}

/** Rows of what has none of its own: a lease's or an evaluation's, whichever are more. */
function rowsOf({ description, instance_ids: instanceIds }: WelcomeWorker): number {
  return Math.max(instanceIds.length, MAX_EVALUATION_GAMES) * description.num_agents;
}
