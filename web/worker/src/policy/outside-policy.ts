/** A player that is a program outside of the browser, which the server asks. */

import { type Ask, checkTensor, float32View, int32View, type Tensor, tensorOf } from "@attract/schema";
import type { BoxView, GameDefinition, ObservationView } from "attract/contract";
import { actionMaskSize, isScalarAction, leafLayout, numActionComponents } from "attract/spaces";
import { ObservationBatch } from "../game/observation-batch.ts";
import { observationOf } from "../stepping/step-group.ts";
import { UntrainedPolicy } from "./policy.ts";

/** Sends a question; null: nobody waits for its answer any more. */
export type AskOutside = (
  question: Pick<Ask, "policy_id" | "agent" | "observation" | "action_mask">,
) => Promise<Tensor | null>;

/** Owned by one rollout worker. */
export class OutsidePolicy extends UntrainedPolicy {
  readonly #asked: AskedSlots;

  /** @param policyId `outside:` and the program's name. @param sizes as `UntrainedPolicy` has them. */
  constructor(
    policyId: string,
    definition: GameDefinition,
    sizes: { rows: number; stateSize: number },
    ask: AskOutside,
  ) {
    super(policyId, 0, sizes.rows, sizes.stateSize);
    this.#asked = new AskedSlots(policyId, definition, sizes.rows, ask);
  }

  ask(batch: ObservationBatch, slots: readonly number[]): Promise<void> {
    return this.#asked.ask(batch.views, batch.maskViews, slots);
  }

  /** The action of slot `slot`, which was asked for, as actions travel. */
  decide(_batch: ObservationBatch, slot: number): ArrayLike<number> {
    return this.#asked.action(slot);
  }
}

/** What a program outside decided for some slots of many. */
export class AskedSlots {
  readonly #policyId: string;
  readonly #definition: GameDefinition;
  readonly #ask: AskOutside;
  #staging: ObservationBatch | null = null;
  readonly #numComponents: number;
  /** [slots, components] as actions travel. */
  readonly #actions: Float64Array;

  constructor(policyId: string, definition: GameDefinition, numSlots: number, ask: AskOutside) {
    this.#policyId = policyId;
    this.#definition = definition;
    this.#ask = ask;
    this.#numComponents = numActionComponents(definition.action);
    this.#actions = new Float64Array(numSlots * this.#numComponents);
  }

  /**
   * Asks what it does for these slots; they keep what they had where nobody answers.
   *
   * @param views what each slot sees. @param masks what each may do. @throws ProtocolError: the answer does not fit.
   */
  async ask(
    views: readonly ObservationView[],
    masks: readonly Uint8Array[],
    slots: readonly number[],
  ): Promise<void> {
    const { action: space, actionMask, numAgents = 1, observation } = this.#definition;
    const maskSize = actionMask === true ? actionMaskSize(space) : 0;
    this.#staging ??= new ObservationBatch(observation, views.length, { maskSize });
    const staging = this.#staging;
    for (const [row, slot] of slots.entries()) {
      copyView(views[slot], staging.views[row]);
      if (maskSize > 0) staging.maskViews[row].set(masks[slot]);
    }
    const rows = slots.length;
    const answer = await this.#ask({
      policy_id: this.#policyId,
      agent: slots.map((slot) => slot % numAgents),
      observation: observationOf(staging, rows),
      action_mask:
        maskSize > 0 ? tensorOf(staging.masks.subarray(0, rows * maskSize), [rows, maskSize]) : null,
    });
    if (answer === null) return;
    const size = this.#numComponents;
    const isReal = leafLayout(space).dtype === "float32";
    const shape = isScalarAction(space) ? [rows] : [rows, size];
    checkTensor(answer, "answer.action", isReal ? "float32" : "int32", shape);
    const given = isReal ? float32View(answer) : int32View(answer);
    for (const [row, slot] of slots.entries())
      this.#actions.set(given.subarray(row * size, (row + 1) * size), slot * size);
  }

  /** Of slot `slot`, from its last answer. */
  action(slot: number): ArrayLike<number> {
    return this.#actions.subarray(slot * this.#numComponents, (slot + 1) * this.#numComponents);
  }
}

function copyView(from: ObservationView, to: ObservationView): void {
  if (ArrayBuffer.isView(from)) (to as BoxView).set(from as BoxView);
  else
    for (const key of Object.keys(from)) copyView(from[key] as BoxView, (to as typeof from)[key] as BoxView);
}
