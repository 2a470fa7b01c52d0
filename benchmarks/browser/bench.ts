/** Times the rollout loop as a worker plays leases, and its bare parts, on the same game, policy and number of instances. */

import type { Lease } from "@attract/schema";
import { definitionOf } from "@attract/worker/game/load-game";
import { ObservationBatch } from "@attract/worker/game/observation-batch";
import { createPolicySession, type PolicySession } from "@attract/worker/policy/policy-session";
import { RolloutLoop } from "@attract/worker/rollout/rollout-loop";
import { Yielder } from "@attract/worker/rollout/yielding";
import type { GameDefinition } from "attract/contract";
import { describe, type GameDescription } from "attract/description";
import { RandomPlayer } from "attract/random-play";
import { BareInference } from "./bare-inference.ts";
import { BareTicks } from "./bare-ticks.ts";
import { type Measured, type Part, type Setup, WIDE } from "./messages.ts";
import { Player } from "./player.ts";
import wideGame from "./wide-game.ts";

/** Runs of a bare part between two looks at the clock. */
const RUNS_PER_TURN = 16;
/** Actions that the bare games draw from. */
const NUM_ACTIONS = 1021;

/** The definition of `game`, see `Setup.game`. Raises what loading it raises. */
export async function gameOf(game: string): Promise<GameDefinition> {
  return game === WIDE ? wideGame : definitionOf(await import(/* @vite-ignore */ game), "bench");
}

/** What policy is needed for `game`. */
export async function describeGame(game: string): Promise<GameDescription> {
  return describe(await gameOf(game));
}

/** Owned by one benchmark worker; one `measure` at a time. */
export class Bench {
  readonly #loop: RolloutLoop;
  readonly #session: PolicySession;
  readonly #inference: BareInference;
  readonly #ticks: BareTicks;
  readonly #player: Player | null;
  readonly #yielder: Yielder;
  readonly #numSegments: number;
  #leaseId = 0;
  #bytes = 0;

  private constructor(
    definition: GameDefinition,
    setup: Setup,
    session: PolicySession,
    inference: BareInference,
    bareBatch: ObservationBatch,
    shipped: Player | null,
  ) {
    this.#session = session;
    this.#inference = inference;
    this.#player = shipped;
    const player = new RandomPlayer(definition.action, 1);
    const actions = Array.from({ length: NUM_ACTIONS }, () => player.act(new Uint8Array(0)));
    this.#ticks = new BareTicks(definition, bareBatch.views, actions);
    this.#numSegments = setup.numSegments;
    const yielder = new Yielder();
    this.#yielder = yielder;
    this.#loop = new RolloutLoop({
      definition,
      seat: {
        run_id: "bench",
        instance_ids: Array.from({ length: setup.numInstances }, (_, i) => i),
        horizon: setup.horizon,
        max_frame_bytes: setup.maxFrameBytes,
        state_size: 0,
      },
      now: () => performance.now(),
      yieldTurn: () => yielder.yield(),
      gate: () => null,
      announce: null,
      emit: (frame) => {
        this.#bytes += frame.bytes.byteLength;
      },
      failed: (report) => {
        throw new Error(`the game failed: ${report.text}`);
      },
    });
  }

  /** Raises what the game or the model raises. */
  static async create(setup: Setup): Promise<Bench> {
    const definition = await gameOf(setup.game);
    const onnx = Uint8Array.from(atob(setup.onnx), (character) => character.charCodeAt(0));
    const session = await createPolicySession(onnx, describe(definition), {
      maxBatch: setup.numInstances,
    });
    const batch = new ObservationBatch(definition.observation, setup.numInstances);
    const inference = await BareInference.create(onnx, batch);
    const shipped =
      setup.document === null ? null : new Player({ document: setup.document, model: onnx }, batch);
    return new Bench(definition, setup, session, inference, batch, shipped);
  }

  /**
   * Does `part` again and again for `seconds`: whole leases of the rollout loop, whose frames are encoded and sent nowhere;
   * runs of the policy alone; decisions of the player that ships; ticks of the games alone.
   */
  async measure(part: Part, seconds: number): Promise<Measured> {
    const bytes = this.#bytes;
    const started = performance.now();
    let steps = 0;
    let elapsedMs = 0;
    while (elapsedMs < 1000 * seconds) {
      steps += await this.#turn(part);
      elapsedMs = performance.now() - started;
    }
    return { steps, seconds: elapsedMs / 1000, bytes: this.#bytes - bytes };
  }

  async release(): Promise<void> {
    this.#yielder.close();
    await this.#session.release();
    await this.#inference.release();
  }

  async #turn(part: Part): Promise<number> {
    if (part === "rollout") {
      const before = this.#loop.agentSteps;
      await this.#loop.play(leaseOf(this.#leaseId++, this.#numSegments), this.#session);
      return this.#loop.agentSteps - before;
    }
    let steps = 0;
    for (let run = 0; run < RUNS_PER_TURN; run++) {
      if (part === "tick") steps += this.#ticks.run();
      else if (part === "inference") steps += await this.#inference.run();
      else if (this.#player !== null) steps += this.#player.run();
      else throw new Error("the part player expects a policy.json");
    }
    return steps;
  }
}

function leaseOf(leaseId: number, numSegments: number): Lease {
  return {
    type: "lease",
    run_id: "bench",
    lease_id: leaseId,
    purpose: "train",
    seats: [{ policy_id: "main", policy_version: 0, script: null, deterministic: false, learns: true }],
    game_sha256: "0".repeat(64),
    seed: { low: 11, high: 22 },
    num_segments: numSegments,
    episodes: [],
    max_episode_steps: null,
    desync_steps: 0,
    parameters: {},
    lesson_id: null,
    group_sizes: [],
    replays: [],
    tells_terminal: false,
    record: "none",
  };
}
