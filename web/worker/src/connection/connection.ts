/** The worker's side of the protocol as a state machine: no socket, no clock, no game. */

import type {
  Act,
  Ask,
  BlockAck,
  EvaluationResult,
  GameFailed,
  Lease,
  Policy,
  RolloutClose,
  Tensor,
  ToBrowser,
  WelcomeWorker,
} from "@attract/schema";
import type { BlockFrame } from "../rollout/block-writer.ts";
import { Outbox } from "./outbox.ts";
import { type ConnectEffect, type SendEffect, ServerLink } from "./server-link.ts";

/** Finished segments that may wait for a server that is away; then the games wait too. */
export const MAX_SEGMENTS_AWAY = 2;
/** Bytes that may be unacknowledged before the games wait. */
export const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** More than can be between the server and the worker at any time. */
const MAX_LEASE_IDS = 16;

/** What the shell must do, in order. */
export type Effect =
  | SendEffect
  | { kind: "send_frame"; bytes: Uint8Array<ArrayBuffer> }
  | ConnectEffect
  /** Create new games and a new recorder: the worker was not admitted before, or to another seat. */
  | { kind: "take_seat"; welcome: WelcomeWorker }
  | { kind: "create_policy"; policy: Policy }
  /** It came again: it counts as the newest that came. */
  | { kind: "renew_policy"; key: string }
  | { kind: "play"; lease: Lease }
  | { kind: "void"; leaseId: number }
  /** Central inference: step a group of the games, or say what they see. */
  | { kind: "act"; act: Act }
  /** The program outside that was asked answers. */
  | { kind: "answered"; action: Tensor }
  /** The page is of another build than the server. */
  | { kind: "reload"; reason: string }
  /** Nothing more to do; `error` is null when that is as it should be. */
  | { kind: "end"; error: string | null };

type Closing = RolloutClose | EvaluationResult;

/** Owned by the shell of one rollout worker; every method returns what to do next. */
export class WorkerConnection {
  readonly #link: ServerLink;
  readonly #runId: string;
  readonly #outbox = new Outbox();
  readonly #policies = new Set<string>();
  #welcome: WelcomeWorker | null = null;
  #last: Lease | null = null;
  #current: Lease | null = null;
  /** The server sends one ahead; more would be kept too. */
  #queued: Lease[] = [];
  /** Ids of the newest leases: one that is sent again after a reconnect must not be played twice. */
  #leaseIds: number[] = [];
  /** What is asked of a program outside, which may be lost with its socket. */
  #ask: Ask | null = null;
  /** The close of the newest finished lease, which may have been lost with its socket. */
  #lastClosing: Closing | null = null;

  /** @param runId of the run that the socket's owner sends the greeting for. @param random uniform in [0, 1) */
  constructor(runId: string, random: () => number) {
    this.#runId = runId;
    this.#link = new ServerLink(null, random);
  }

  get isAdmitted(): boolean {
    return this.#link.isWelcome;
  }

  /** The lease being played. */
  get current(): Lease | null {
    return this.#current;
  }

  /** Bytes of blocks that are not acknowledged. */
  get waitingBytes(): number {
    return this.#outbox.bytes;
  }

  /** Whether the games may continue. */
  mayPlayOn(): boolean {
    if (this.#link.isEnded) return true;
    if (!this.isAdmitted) return this.#outbox.numSegments < MAX_SEGMENTS_AWAY;
    return this.#outbox.bytes <= MAX_WAITING_BYTES;
  }

  /**
   * Policy versions that the last lease, the current or a queued one names, as `policyKey` writes them: what the last one named
   * is not sent again for the next.
   */
  neededPolicies(): Set<string> {
    const keys = new Set<string>();
    for (const lease of [this.#last, this.#current, ...this.#queued]) {
      for (const seat of lease?.seats ?? []) keys.add(policyKey(seat.policy_id, seat.policy_version));
    }
    return keys;
  }

  opened(): Effect[] {
    return this.#link.opened();
  }

  closed(code: number, reason: string): Effect[] {
    const closed = this.#link.closed(code, reason);
    if (closed === null) return [];
    switch (closed.next) {
      case "reconnect":
        return [this.#link.reconnect()];
      case "reload":
        this.#link.end();
        return [{ kind: "reload", reason: closed.why }];
      case "run_over":
        return this.#end(null);
      case "give_up":
        return this.#end(closed.why);
    }
  }

  received(message: ToBrowser): Effect[] {
    if (message.type === "refused") {
      this.#link.refused(message);
      return [];
    }
    // What a host is told.
    if (!("run_id" in message) || message.type === "assignment") return [];
    if (message.run_id !== this.#runId) return [];
    switch (message.type) {
      case "welcome_worker":
        return this.#seat(message);
      case "policy":
        return this.#policy(message);
      case "lease":
        return this.#lease(message);
      case "answer":
        if (this.#ask?.order_id !== message.order_id) return [];
        this.#ask = null;
        return [{ kind: "answered", action: message.action }];
      case "act":
        return [{ kind: "act", act: message }];
      case "block_ack":
        return this.#acknowledged(message);
      case "lease_void":
        return this.#void(message.lease_id);
      case "run_ended":
        return this.#end(null);
    }
  }

  /** A session of `policy` is there. */
  policyReady(policy: Policy, createMs: number): Effect[] {
    this.#policies.add(policyKey(policy.policy_id, policy.policy_version));
    return this.#policyAck(policy, createMs);
  }

  policyReleased(key: string): void {
    this.#policies.delete(key);
  }

  blockFinished(frame: BlockFrame): Effect[] {
    if (this.#current?.lease_id !== frame.leaseId) return [];
    this.#outbox.add(frame);
    return this.isAdmitted ? [{ kind: "send_frame", bytes: frame.bytes }] : [];
  }

  /** The lease was played to its end, or given up (`closing` null). Starts the queued one. */
  leaseFinished(closing: Closing | null): Effect[] {
    const effects: Effect[] = [];
    if (closing !== null) {
      this.#lastClosing = closing;
      if (this.isAdmitted) effects.push({ kind: "send", message: closing });
    }
    this.#last = this.#current;
    this.#current = this.#queued.shift() ?? null;
    if (this.#current !== null) effects.push({ kind: "play", lease: this.#current });
    return effects;
  }

  /** Asks a program outside, for the current lease. */
  ask(ask: Ask): Effect[] {
    this.#ask = ask;
    return this.isAdmitted ? [{ kind: "send", message: ask }] : [];
  }

  gameFailed(report: GameFailed): Effect[] {
    return this.#link.report(report);
  }

  /** Tells the server that the lease is being played, so that it does not lapse (rule C3). */
  progress(steps: number): Effect[] {
    if (!this.isAdmitted || this.#current === null) return [];
    const { run_id, lease_id } = this.#current;
    return [{ kind: "send", message: { type: "progress", run_id, lease_id, steps } }];
  }

  #seat(welcome: WelcomeWorker): Effect[] {
    const kept = this.#link.welcomed();
    const effects: Effect[] = [];
    const isSame = this.#welcome !== null && isSameSeat(this.#welcome, welcome);
    this.#welcome = welcome;
    if (!isSame) {
      if (this.#current !== null) effects.push({ kind: "void", leaseId: this.#current.lease_id });
      this.#queued = [];
      this.#ask = null;
      this.#leaseIds = [];
      // A run that went back makes other policies under the same numbers.
      this.#policies.clear();
      this.#lastClosing = null;
      this.#outbox.clear();
      effects.push({ kind: "take_seat", welcome });
    }
    effects.push(...kept);
    for (const { bytes } of this.#outbox.resend()) effects.push({ kind: "send_frame", bytes });
    if (this.#ask !== null) effects.push({ kind: "send", message: this.#ask });
    if (this.#lastClosing !== null) effects.push({ kind: "send", message: this.#lastClosing });
    return effects;
  }

  #policy(policy: Policy): Effect[] {
    const key = policyKey(policy.policy_id, policy.policy_version);
    const isHere = this.#policies.has(key);
    if (!isHere) return [{ kind: "create_policy", policy }];
    return [{ kind: "renew_policy", key }, ...this.#policyAck(policy, 0)];
  }

  #policyAck(policy: Policy, createMs: number): Effect[] {
    if (!this.isAdmitted) return [];
    const { run_id, policy_id, policy_version } = policy;
    const message = {
      type: "policy_ack" as const,
      run_id,
      policy_id,
      policy_version,
      create_ms: createMs,
    };
    return [{ kind: "send", message }];
  }

  #lease(lease: Lease): Effect[] {
    if (this.#leaseIds.includes(lease.lease_id)) return [];
    this.#leaseIds = [...this.#leaseIds.slice(1 - MAX_LEASE_IDS), lease.lease_id];
    if (this.#current === null) {
      this.#current = lease;
      return [{ kind: "play", lease }];
    }
    this.#queued.push(lease);
    return [];
  }

  #acknowledged(ack: BlockAck): Effect[] {
    const wasSentOnce = this.#outbox.acknowledge(ack.lease_id, ack.block_index);
    // A refusal is of the lease (C1): it is spent or lapsed. A block that was sent twice may be refused for that alone.
    return !ack.accepted && wasSentOnce === true ? this.#void(ack.lease_id) : [];
  }

  #void(leaseId: number): Effect[] {
    this.#outbox.drop(leaseId);
    if (this.#ask?.order_id === leaseId) this.#ask = null;
    if (this.#lastClosing?.lease_id === leaseId) this.#lastClosing = null;
    this.#queued = this.#queued.filter((lease) => lease.lease_id !== leaseId);
    return this.#current?.lease_id === leaseId ? [{ kind: "void", leaseId }] : [];
  }

  #end(error: string | null): Effect[] {
    this.#link.end();
    return [{ kind: "end", error }];
  }
}

export function policyKey(policyId: string, policyVersion: number): string {
  return `${policyId}@${policyVersion}`;
}

function isSameSeat(a: WelcomeWorker, b: WelcomeWorker): boolean {
  return (
    a.horizon === b.horizon &&
    a.seed.low === b.seed.low &&
    a.seed.high === b.seed.high &&
    a.game.sha256 === b.game.sha256 &&
    a.instance_ids.length === b.instance_ids.length &&
    a.instance_ids.every((id, i) => id === b.instance_ids[i])
  );
}
