/** Plays a worker's training games as one batch under a lease and hands out finished blocks (rules T1-T4, E1-E9, S3, S4, C5). */

import type { Lease, RolloutClose } from "@attract/schema";
import { EpisodePicker } from "../episode/episode-picker.ts";
import { FailureLimit } from "../game/failures.ts";
import { type Ending, GameRunner, startsAhead } from "../game/game-runner.ts";
import type { ObservationBatch } from "../game/observation-batch.ts";
import type { Policy } from "../policy/policy.ts";
import { type BlockFrame, BlockWriter } from "./block-writer.ts";
import type { DeflateChoice } from "./deflate-choice.ts";
import type { LoopOptions, Script } from "./loop-options.ts";
import { OutgoingBlocks } from "./outgoing-blocks.ts";
import { PlayClock } from "./play-clock.ts";
import { SegmentRecorder } from "./recorder.ts";
import { Seats } from "./seats.ts";

/** Owned by one rollout worker. Its own code allocates nothing per step. */
export class RolloutLoop {
  readonly batch: ObservationBatch;
  /** Steps per slot played under the current lease. */
  leaseSteps = 0;
  /** All agent steps played, for the display. */
  agentSteps = 0;
  readonly #options: LoopOptions;
  readonly #numAgents: number;
  readonly #seats: Seats;
  readonly #games: GameRunner;
  readonly #recorder: SegmentRecorder;
  readonly #writer: BlockWriter;
  readonly #clock: PlayClock;
  /** Null where there is nothing to deflate. */
  readonly #deflation: DeflateChoice | null;
  readonly #script: Script | null;
  /** Whether each start and each step of its games is waited for. */
  readonly #hasTurns: boolean;
  /** Whether each start is: of those, and where a page is loaded for each episode. */
  readonly #startsAhead: boolean;
  /** A game whose next episode is to be started before the others go on. */
  #due: { readonly i: number; readonly ending: Ending } | null = null;
  /** Next step of the script. */
  #scripted = 0;
  #lease: Lease | null = null;
  #outgoing: OutgoingBlocks | null = null;
  #picker: EpisodePicker | null = null;
  /** Every slot's own step counter (S2). */
  #step = 0;
  #isVoid = false;

  constructor(options: LoopOptions) {
    const { definition, seat } = options;
    const { instance_ids: instanceIds, state_size: stateSize } = seat;
    this.#options = options;
    this.#script = options.script ?? null;
    this.#hasTurns = definition.page?.turns ?? false;
    this.#startsAhead = startsAhead(definition);
    this.#seats = new Seats(definition, instanceIds.length, stateSize);
    const { batch, numAgents, sampler } = this.#seats;
    this.batch = batch;
    this.#numAgents = numAgents;
    this.#games = new GameRunner({
      definition,
      instanceIds,
      memory: (i) => this.#seats.memory(i),
      sampler,
      failures: new FailureLimit(options.failed, () => this.agentSteps),
      announce: options.announce,
    });
    this.#recorder = new SegmentRecorder(definition.observation, {
      horizon: seat.horizon,
      slotIds: instanceIds.flatMap((id) => Array.from({ length: numAgents }, (_, a) => id * numAgents + a)),
      action: sampler,
      maskSize: batch.maskSize,
      stateSize,
    });
    // What the server knows of the game, which may be of an earlier build than its module's.
    const stacks = seat.description?.picture_stacks;
    this.#writer = new BlockWriter(this.#recorder, batch, seat.max_frame_bytes, seat.run_id, stacks);
    this.#deflation = this.#writer.pictures.length > 0 ? (options.deflation ?? null) : null;
    this.#clock = new PlayClock(options.now, options.yieldTurn);
  }

  /** See `LoopOptions`; may be set to null at any time. */
  set announce(announce: LoopOptions["announce"]) {
    this.#games.announce = announce;
  }

  /** Its copies are not needed any more. */
  close(): void {
    this.#games.clearAll();
  }

  /** Drops what is left of this lease; its games stay where they are (rule E5). */
  voidLease(leaseId: number): void {
    if (this.#lease?.lease_id === leaseId) this.#isVoid = true;
  }

  /**
   * Plays `lease` to its end and returns its close, or null if it was voided. Purpose `train` or `warmup`.
   *
   * @param policies one per seat, the same object for seats that share one; or one for all.
   * @throws FatalGameError when the game fails again and again; Error for seats that do not fit the game; whatever a policy throws.
   */
  async play(lease: Lease, ...policies: Policy[]): Promise<RolloutClose | null> {
    const { controllers } = this.#seats;
    this.#seats.assign(lease, policies);
    const firstBlock = this.#script?.firstBlock ?? 0;
    const outgoing = new OutgoingBlocks(lease, controllers.groups, this.#numAgents, firstBlock);
    this.#clock.begin();
    this.#lease = lease;
    this.#outgoing = outgoing;
    const { recorded } = this.#options;
    this.#picker =
      lease.record === "none" || recorded === undefined ? null : new EpisodePicker(lease.record, recorded);
    this.#isVoid = false;
    this.leaseSteps = 0;
    this.#games.open(lease);
    await this.#startGames();
    await controllers.run();
    if (this.#script !== null) await this.#playBefore(this.#script);
    const firstSegment = this.#script?.segmentIndex ?? 0;
    for (let segment = 0; segment < lease.num_segments && !this.#isVoid; segment++) {
      const began = this.#options.now();
      await this.#playSegment();
      if (this.#isVoid) break;
      const { emit } = this.#options;
      if (this.#deflation === null) outgoing.write(this.#writer, firstSegment + segment, emit);
      else await this.#sendDeflated(this.#deflation, outgoing, firstSegment + segment, began);
      const gate = this.#options.gate();
      if (gate !== null) await gate;
    }
    return this.#end(lease, outgoing);
  }

  /** Many copies of a large game may take seconds to make: the worker must be heard meanwhile. */
  async #startGames(): Promise<void> {
    for (let i = 0; i < this.#games.games.length; i++) {
      if (this.#games.games[i] !== null) continue;
      const episode = this.#script?.order.episode ?? 0;
      if (this.#startsAhead) await this.#games.startAhead(i, episode, () => this.#preload());
      else {
        await this.#preload();
        this.#games.start(i, episode);
      }
      this.#bind(i);
      if (this.#clock.isTurnDue()) await this.#clock.yield();
    }
  }

  /** Resolves once a copy can begin at once. */
  async #preload(): Promise<void> {
    const waiting = this.#options.preloaded?.preload() ?? null;
    if (waiting !== null) await waiting;
  }

  /** Steps the one game of `script` to where its segment begins; what comes of it is not kept. */
  async #playBefore({ order }: Script): Promise<void> {
    // The episodes that begin from now on do so under the terms of the lease that the segment was played for.
    this.#games.open({ ...this.#lease!, ...order.terms });
    this.#recorder.begin(0, this.batch);
    while (this.#scripted < order.num_before && !this.#isVoid) {
      this.#decide(0);
      await this.#preload();
      if (this.#hasTurns) await this.#stepGamesInTurns(0);
      else if (this.#stepGames(0, 0) >= 0) await this.#startDue();
      this.leaseSteps++;
      if (this.#clock.isTurnDue()) await this.#clock.yield();
    }
    this.#step = order.first_step;
  }

  /** Ends with the observations after the last step decided on: their values are the segment's bootstrap values. */
  async #playSegment(): Promise<void> {
    const { controllers, values } = this.#seats;
    const { horizon, finals } = this.#recorder;
    this.#recorder.begin(this.#step, this.batch);
    for (let t = 0; t < horizon && !this.#isVoid; t++) {
      if (t > 0) {
        await controllers.run();
        if (this.#clock.isTurnDueAfterPolicies()) await this.#clock.yield();
      }
      const thinking = this.#seats.think(this.#games.games);
      if (thinking !== null) {
        await thinking;
        if (this.#isVoid) return;
      }
      this.#decide(t);
      if (this.#hasTurns) await this.#stepGamesInTurns(t);
      else
        for (let next = this.#stepGames(t, 0); next >= 0; next = this.#stepGames(t, next)) {
          if (this.#due !== null) await this.#startDue();
          else {
            await this.#clock.yield();
            await this.#preload();
          }
        }
      this.#step++;
      this.leaseSteps++;
    }
    if (this.#isVoid) return;
    if (finals.count > 0) {
      for (let g = 0; g < controllers.groups.length; g++)
        await finals.evaluate(controllers.groups[g].policy, g, controllers.owners);
    }
    // With its outputs, the next segment's first decision is made.
    await controllers.run();
    if (this.#clock.isTurnDueAfterPolicies()) await this.#clock.yield();
    controllers.readValues(values);
    this.#recorder.setBootstrapValues(values);
  }

  /** The games wait meanwhile: it is the same thread that deflates. */
  async #sendDeflated(
    choice: DeflateChoice,
    outgoing: OutgoingBlocks,
    segmentIndex: number,
    began: number,
  ): Promise<void> {
    const { emit, now } = this.#options;
    const playMs = now() - began;
    let bytes = 0;
    const counted = (frame: BlockFrame): void => {
      bytes += frame.bytes.byteLength;
      emit(frame);
    };
    if (choice.isOn || choice.wantsTrial)
      await outgoing.writeDeflated(this.#writer, segmentIndex, counted, choice, now);
    else outgoing.write(this.#writer, segmentIndex, counted);
    choice.played(playMs, bytes);
  }

  #end(lease: Lease, outgoing: OutgoingBlocks): RolloutClose | null {
    const times = this.#clock.end();
    this.#picker?.finish();
    this.#lease = null;
    if (lease.purpose === "warmup") {
      // The warm-up is not part of training: its games begin again with episode 0 at the next lease.
      this.#games.clearAll();
      this.#step = 0;
      this.batch.states.fill(0);
    }
    return this.#isVoid ? null : { ...outgoing.close(this.#recorder), ...times };
  }

  #decide(t: number): void {
    const seats = this.#seats;
    this.#recorder.recordObservations(t, this.batch);
    if (this.#script === null) seats.decide(this.#games.games);
    else seats.repeat(this.#script.actions, this.#scripted++, this.#games.games[0]!);
    this.#recorder.recordDecisions(t, seats.sampler, seats.values);
  }

  /**
   * Steps the games from instance `from` on. Returns -1 when all have been, else the instance to go on with after a yield, and
   * once a preloaded copy is there if the games need one, or once the game that is due has been started: a promise for each step
   * would be most of what the loop allocates.
   */
  #stepGames(t: number, from: number): number {
    const preloaded = this.#options.preloaded ?? null;
    const numInstances = this.#games.games.length;
    this.#clock.beginGames();
    for (let start = from; start < numInstances; ) {
      const end = Math.min(start + this.#clock.chunk, numInstances);
      let i = start;
      for (; i < end && (preloaded === null || preloaded.preload() === null); i++) {
        const ending = this.#stepGame(t, i);
        if (ending === null) continue;
        if (this.#startsAhead) {
          this.#due = { i, ending };
          return i + 1;
        }
        this.#games.startNext(i, ending);
        this.#bind(i);
      }
      if (i < end) return i;
      if (this.#clock.isTurnDueAfterGames() && end < numInstances) return end;
      start = end;
    }
    return -1;
  }

  async #startDue(): Promise<void> {
    if (this.#due === null) return;
    const { i, ending } = this.#due;
    this.#due = null;
    await this.#games.startNextAhead(i, ending, () => this.#preload());
    this.#bind(i);
  }

  /** As `#stepGames`, of games that need turns of the event loop: one after the other. */
  async #stepGamesInTurns(t: number): Promise<void> {
    this.#clock.beginGames();
    for (let i = 0; i < this.#games.games.length; i++) {
      const action = this.#seats.action(i);
      await this.#games.stepAhead(i, action);
      const ending = this.#stepGame(t, i);
      if (ending === null) continue;
      await this.#games.startNextAhead(i, ending, () => this.#preload());
      this.#bind(i);
    }
    if (this.#clock.isTurnDueAfterGames()) await this.#clock.yield();
  }

  /** Why the episode is over now, and the next one is to begin; null while it goes on. */
  #stepGame(t: number, i: number): Ending | null {
    const ending = this.#games.step(i, this.#seats.action(i));
    if (ending === "failed") {
      this.#recordFailure(t, i);
      return ending;
    }
    for (let agent = 0; agent < this.#numAgents; agent++) this.agentSteps += this.#takeIn(t, i, agent);
    if (ending !== null) this.#recordEpisode(i, ending, t);
    return ending;
  }

  /** What the step brought to one agent; returns 1 if it took part. */
  #takeIn(t: number, i: number, agent: number): number {
    const game = this.#games.games[i]!;
    const slot = i * this.#numAgents + agent;
    this.#recorder.recordOutcome(t, slot, game, agent);
    if (game.valid[agent] === 0) return 0;
    this.#seats.advance(slot);
    const isTruncated = game.truncated[agent] === 1;
    if (isTruncated) this.#recorder.recordFinal(t, slot, this.batch);
    if (isTruncated || game.terminated[agent] === 1) this.#seats.forget(slot);
    return 1;
  }

  /** Records a step in which the game failed: it counts for no agent, and another copy continues. */
  #recordFailure(t: number, i: number): void {
    const first = i * this.#numAgents;
    for (let slot = first; slot < first + this.#numAgents; slot++) {
      this.#recorder.recordFailure(t, slot, this.batch.states);
      this.#seats.forget(slot);
    }
    // Its last good step, if that is of this segment.
    if (t > 0 && this.#games.games[i]!.episodeSteps > 0) this.#recordEpisode(i, "failed", t - 1);
  }

  /** Its result travels in the block of its first agent whose segments are sent. */
  #recordEpisode(i: number, ending: Ending, t: number): void {
    const column = i * this.#numAgents + this.#outgoing!.reportingAgent(i);
    const result = this.#games.result(i, ending, t);
    this.#recorder.recordEpisode(column, result);
    // A cut episode says nothing of the policy (rule E1).
    if (ending !== "cut") this.#picker?.offer(result.returns, () => this.#games.recorded(i, ending));
  }

  /** Binds the agents of instance `i` to the action streams of the episode that begins. */
  #bind(i: number): void {
    const { instanceId, episode } = this.#games.games[i]!;
    this.#seats.setEpisode(i, this.#lease!.seed, instanceId, episode);
  }
}
