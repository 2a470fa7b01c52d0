/** One rollout worker: its protocol state, its policies and its games. It knows no secret: the game runs in the same thread. */

import {
  decodeToBrowser,
  type EvaluationResult,
  encodeForSend,
  type Lease,
  type Policy as PolicyMessage,
  ProtocolError,
  type RecordedEpisode,
  type RolloutClose,
  type Tensor,
  type WelcomeWorker,
} from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { type Effect, WorkerConnection } from "../connection/connection.ts";
import type { ServerSocket, SocketHandlers } from "../connection/socket.ts";
import { fitting } from "../episode/episode-tape.ts";
import { ConsoleRelay } from "../game/console-relay.ts";
import { type FailureReport, FatalGameError, gameFailed, NOWHERE, reportOf } from "../game/failures.ts";
import type { GameModule } from "../game/game-module.ts";
import { loadGame } from "../game/load-game.ts";
import type { RolloutToSupervisor } from "../host/worker-messages.ts";
import { EVALUATION_FRAMES, PageFrames } from "../page/page-frames.ts";
import type { SessionMaker } from "../policy/session-maker.ts";
import { ServedGames } from "../stepping/served-games.ts";
import { DeflateChoice } from "./deflate-choice.ts";
import { canDeflate } from "./deflating.ts";
import { evaluate } from "./evaluate.ts";
import { HeldPolicies } from "./held-policies.ts";
import { replay } from "./replay.ts";
import { RolloutLoop } from "./rollout-loop.ts";
import { Yielder } from "./yielding.ts";

const HEARTBEAT_MS = 250;
/** How often a worker that waits for the server looks again. */
const GATE_MS = 4;
/** How long a careful worker is careful: each turn costs it about 10 microseconds. */
const CAREFUL_MS = 60_000;

export interface RolloutWorkerOptions {
  runId: string;
  workerIndex: number;
  module: GameModule;
  sessions: Pick<SessionMaker, "create">;
  /** Say before each game's turn whose it is, for the first minute. */
  careful: boolean;
  /** Opens the socket. Its owner knows the token and sends the greeting. */
  openSocket(handlers: SocketHandlers): ServerSocket;
  /** Tells the supervisor. */
  post(message: RolloutToSupervisor): void;
}

/** Owned by the worker's entry; lives as long as the thread. */
export class RolloutWorker {
  readonly #options: RolloutWorkerOptions;
  readonly #connection: WorkerConnection;
  readonly #socket: ServerSocket;
  readonly #yielder = new Yielder();
  readonly #policies: HeldPolicies;
  readonly #voided = new Set<number>();
  /** Set in the first worker only, once the game is being loaded. */
  #console: ConsoleRelay | null = null;
  #isCareful: boolean;
  #isConsoleHeard = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #welcome: WelcomeWorker | null = null;
  #definition: GameDefinition | null = null;
  /** Frames of a page game: those for training, and those for episodes that must be exact. */
  #frames: { training: PageFrames; exact: PageFrames } | null = null;
  #loop: RolloutLoop | null = null;
  /** The seat's choice; null where the browser has no deflate. */
  #deflation: DeflateChoice | null = null;
  #served: ServedGames | null = null;
  /** Policies being made or released: the games wait for it, since the inference engine does one thing at a time. */
  #policyWork: Promise<void> = Promise.resolve();
  #playing: Promise<void> = Promise.resolve();
  /** Takes the answer of the program outside that was asked last; null: the lease is over. */
  #answered: (action: Tensor | null) => void = () => undefined;
  #started = 0;
  #steps = 0;
  #agentSteps = 0;
  #lastProgress = 0;
  #isOver = false;

  constructor(options: RolloutWorkerOptions) {
    this.#options = options;
    this.#policies = new HeldPolicies(options.sessions);
    this.#isCareful = options.careful;
    this.#connection = new WorkerConnection(options.runId, Math.random);
    this.#socket = options.openSocket({
      opened: () => this.#perform(this.#connection.opened()),
      received: (bytes) => this.#received(bytes),
      closed: (code, reason) => this.#perform(this.#connection.closed(code, reason)),
    });
  }

  start(): void {
    this.#started = performance.now();
    this.#socket.connect(0);
    this.#timer = setInterval(() => this.#tick(), HEARTBEAT_MS);
  }

  /** Says goodbye: its leases lapse at once. */
  stop(): void {
    if (this.#connection.isAdmitted) this.#perform([{ kind: "send", message: { type: "goodbye" } }]);
    this.#end(null);
  }

  /** Ends the worker with the report of something that is no game's fault. */
  crash(error: unknown): void {
    if (this.#isOver) return;
    this.#shutDown();
    const leaseId = this.#connection.current?.lease_id ?? null;
    this.#options.post({
      type: "crashed",
      report: reportOf(error, { ...NOWHERE, lease_id: leaseId }, "crash"),
    });
  }

  #received(bytes: Uint8Array): void {
    try {
      const message = decodeToBrowser(bytes);
      // Before it is its turn: the first group may be ahead, under the next lease (rule I2).
      if (message.type === "lease" && message.group_sizes.length > 0) this.#served?.open(message);
      if (message.type === "lease_void") this.#served?.close(message.lease_id);
      this.#perform(this.#connection.received(message));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#end(`the server violated the protocol: ${error.message}`);
    }
  }

  #perform(effects: readonly Effect[]): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case "send":
          this.#socket.send(encodeForSend(effect.message));
          break;
        case "send_frame":
          this.#socket.send(effect.bytes);
          break;
        case "connect":
          this.#socket.connect(effect.delayMs);
          break;
        case "take_seat":
          this.#takeSeat(effect.welcome);
          break;
        case "create_policy":
          this.#policyWork = this.#policyWork.then(() => this.#createPolicy(effect.policy));
          break;
        case "renew_policy":
          this.#policies.renew(effect.key);
          break;
        case "play":
          this.#playing = this.#playing
            .then(() => this.#play(effect.lease))
            .catch((error) => this.#broke(error));
          break;
        case "void":
          this.#voided.add(effect.leaseId);
          this.#answered(null);
          this.#loop?.voidLease(effect.leaseId);
          break;
        case "answered":
          this.#answered(effect.action);
          break;
        case "act":
          this.#served?.act(effect.act);
          break;
        case "reload":
          this.#shutDown();
          this.#options.post({ type: "reload", reason: effect.reason });
          break;
        case "end":
          this.#end(effect.error);
          break;
      }
    }
    this.#deflation?.waits(this.#connection.waitingBytes, performance.now());
  }

  /** Loads the game and makes what the seat needs, once what is being played has stopped. */
  #takeSeat(welcome: WelcomeWorker): void {
    const { instance_ids: instanceIds, seed } = welcome;
    this.#options.post({ type: "admitted", instanceIds, seed });
    this.#welcome = welcome;
    // A line of the worker's own is no line of its game, and stays in its browser.
    this.#deflation = canDeflate() ? new DeflateChoice((text) => console.info(text)) : null;
    if (this.#options.workerIndex === 0) this.#hearConsole(welcome);
    const game = this.#loadGame(welcome);
    this.#served = this.#servedGames(game, welcome);
    this.#playing = this.#playing
      .then(async () => {
        this.#definition = await game;
        this.#loop?.close();
        this.#openFrames(this.#definition);
        this.#loop = new RolloutLoop({
          definition: this.#frames?.training.definition ?? this.#definition,
          preloaded: this.#frames?.training ?? null,
          seat: welcome,
          yieldTurn: () => this.#yieldTurn(),
          now: () => performance.now(),
          emit: (frame) => this.#perform(this.#connection.blockFinished(frame)),
          failed: (report) => this.#gameFailed(report),
          recorded: (episode) => this.#recorded(episode),
          gate: () => this.#gate(),
          announce: this.#announce(),
          deflation: this.#deflation,
        });
      })
      .catch((error) => {
        this.#gameFailed(reportOf(error, NOWHERE, "load"));
        this.#end(`the game could not be loaded: ${error instanceof Error ? error.message : String(error)}`);
      });
  }

  #openFrames(definition: GameDefinition): void {
    this.#frames?.training.close();
    this.#frames?.exact.close();
    if (definition.page === undefined) return;
    const numGames = this.#welcome!.instance_ids.length;
    this.#frames = {
      training: new PageFrames(definition, { maxCopies: numGames }),
      exact: new PageFrames(definition, { maxCopies: EVALUATION_FRAMES, isFresh: true }),
    };
  }

  #loadGame(welcome: WelcomeWorker): Promise<GameDefinition> {
    const { module } = this.#options;
    if (module.reference.sha256 === welcome.game.sha256) return loadGame(module);
    return Promise.reject(new Error("the run's game is another one by now"));
  }

  /** Before the game is loaded: what it writes is handed on, the first copy's lines alone. */
  #hearConsole(welcome: WelcomeWorker): void {
    if (this.#console === null) {
      this.#console = new ConsoleRelay({
        module: welcome.game.url,
        now: () => performance.now(),
        send: (line) => {
          if (!this.#connection.isAdmitted) return;
          const message = { type: "game_log" as const, run_id: this.#options.runId, ...line };
          this.#perform([{ kind: "send", message }]);
        },
        heard: () => {
          // From now on lines are assigned to games; until a game writes, that is not needed.
          this.#isConsoleHeard = true;
          this.#announceTurns();
        },
      });
      this.#console.install();
    }
    this.#console.first = welcome.instance_ids[0];
  }

  #servedGames(game: Promise<GameDefinition>, seat: WelcomeWorker): ServedGames {
    const loading = game.then((definition) => ({
      definition,
      seat,
      now: () => performance.now(),
      failed: (report: FailureReport) => this.#gameFailed(report),
      announce: this.#announce(),
    }));
    return new ServedGames(loading, {
      send: (message) => this.#perform([{ kind: "send", message }]),
      broke: (error) => this.#broke(error),
    });
  }

  #announce(): ((instanceId: number) => void) | null {
    if (!this.#isCareful && !this.#isConsoleHeard) return null;
    return (instanceId) => {
      if (this.#isCareful) this.#options.post({ type: "turn", instanceId });
      if (this.#console !== null) this.#console.turn = instanceId;
    };
  }

  #announceTurns(): void {
    const announce = this.#announce();
    if (this.#loop !== null) this.#loop.announce = announce;
    if (this.#served !== null) this.#served.announce = announce;
  }

  async #createPolicy(message: PolicyMessage): Promise<void> {
    const started = performance.now();
    const welcome = this.#welcome;
    if (welcome === null || this.#isOver) return;
    try {
      await this.#policies.make(message, welcome, () => {
        if (this.#isCareful) this.#options.post({ type: "script_turn", player: message.policy_id });
      });
    } catch (error) {
      return this.crash(error);
    }
    this.#perform(this.#connection.policyReady(message, performance.now() - started));
    await this.#releaseOld();
  }

  #releaseOld(): Promise<void> {
    const connection = this.#connection;
    return this.#policies.releaseOld(connection.neededPolicies(), (key) => connection.policyReleased(key));
  }

  async #play(lease: Lease): Promise<void> {
    if (this.#isOver) return;
    this.#steps = 0;
    // The previous lease's steps would count for this one, and hide its progress (rule C3).
    if (this.#loop !== null) this.#loop.leaseSteps = 0;
    // Before the first tick: if that never returns, the supervisor must know which lease it was.
    this.#beat(lease.lease_id);
    await this.#policyWork;
    const closing = this.#voided.has(lease.lease_id) ? null : await this.#playLease(lease);
    if (this.#isOver) return;
    this.#voided.delete(lease.lease_id);
    this.#perform(this.#connection.leaseFinished(closing));
    // What only this lease needed goes before the next one's first step.
    this.#policyWork = this.#policyWork.then(() => this.#releaseOld());
    if (this.#connection.current === null) this.#beat(null);
  }

  async #playLease(lease: Lease): Promise<RolloutClose | EvaluationResult | null> {
    if (lease.group_sizes.length > 0) {
      await this.#served!.ended(lease.lease_id);
      return null;
    }
    if (lease.purpose === "replay") return this.#replay(lease);
    const policies = this.#policies.of(lease, this.#welcome!, this.#definition!, (question) => {
      const order = { run_id: lease.run_id, order_id: lease.lease_id };
      return new Promise((resolve) => {
        this.#answered = resolve;
        if (this.#isOver || this.#voided.has(lease.lease_id)) resolve(null);
        else this.#perform(this.#connection.ask({ type: "ask", ...order, ...question }));
      });
    });
    if (lease.purpose === "train" || lease.purpose === "warmup") return this.#loop!.play(lease, ...policies);
    return this.#muted(() =>
      evaluate(lease, policies, {
        definition: this.#frames?.exact.definition ?? this.#definition!,
        preloaded: this.#frames?.exact ?? null,
        stateSize: this.#welcome!.state_size,
        yieldTurn: () => this.#yieldTurn(),
        now: () => performance.now(),
        failed: (report) => this.#gameFailed(report),
        recorded: (episode) => this.#recorded(episode),
        isVoid: () => this.#voided.has(lease.lease_id),
        progressed: (steps) => {
          this.#steps = steps;
        },
      }),
    );
  }

  async #replay(lease: Lease): Promise<RolloutClose | null> {
    return this.#muted(() =>
      replay(lease, {
        definition: this.#frames?.exact.definition ?? this.#definition!,
        preloaded: this.#frames?.exact ?? null,
        seat: this.#welcome!,
        yieldTurn: () => this.#yieldTurn(),
        now: () => performance.now(),
        emit: (frame) => this.#perform(this.#connection.blockFinished(frame)),
        isVoid: () => this.#isOver || this.#voided.has(lease.lease_id),
        progressed: (steps) => {
          this.#steps = steps;
        },
      }),
    );
  }

  /** Plays games that are not those of training: what they write to the console is not handed on. */
  #muted<T>(play: () => Promise<T>): Promise<T> {
    const relay = this.#console;
    if (relay !== null) relay.isMuted = true;
    return play().finally(() => {
      if (relay !== null) relay.isMuted = false;
    });
  }

  async #yieldTurn(): Promise<void> {
    await this.#yielder.yield();
    await this.#policyWork;
  }

  /** Waits while the server is behind or away; a lease that was voided meanwhile waits no longer. */
  #gate(): Promise<void> | null {
    if (this.#mayPlayOn()) return null;
    return (async () => {
      while (!this.#mayPlayOn()) await new Promise((resolve) => setTimeout(resolve, GATE_MS));
    })();
  }

  #mayPlayOn(): boolean {
    const leaseId = this.#connection.current?.lease_id;
    const isVoid = leaseId === undefined || this.#voided.has(leaseId);
    return isVoid || this.#isOver || this.#connection.mayPlayOn();
  }

  #tick(): void {
    const lease = this.#connection.current;
    this.#beat(lease?.lease_id ?? null);
    const now = performance.now();
    if (this.#isCareful && now - this.#started > CAREFUL_MS) {
      this.#isCareful = false;
      this.#announceTurns();
    }
    const everyMs = (this.#welcome?.progress_seconds ?? 2) * 1000;
    if (lease === null || now - this.#lastProgress < everyMs) return;
    this.#lastProgress = now;
    this.#perform(this.#connection.progress(this.#stepsOf(lease)));
  }

  #beat(leaseId: number | null): void {
    const lease = this.#connection.current;
    const steps = lease === null ? 0 : this.#stepsOf(lease);
    this.#agentSteps = (this.#loop?.agentSteps ?? 0) + (this.#served?.agentSteps ?? 0);
    this.#options.post({ type: "heartbeat", leaseId, steps, agentSteps: this.#agentSteps });
  }

  #stepsOf(lease: Lease): number {
    if (lease.group_sizes.length > 0) return this.#served?.stepsOf(lease.lease_id) ?? 0;
    const isRollout = lease.purpose === "train" || lease.purpose === "warmup";
    return isRollout ? (this.#loop?.leaseSteps ?? 0) : this.#steps;
  }

  #recorded(episode: RecordedEpisode): void {
    const leaseId = this.#connection.current?.lease_id;
    if (!this.#connection.isAdmitted || leaseId === undefined) return;
    if (fitting(episode, this.#welcome!.max_frame_bytes) === null) return;
    const message = {
      type: "episode_recorded" as const,
      run_id: this.#options.runId,
      lease_id: leaseId,
      episode,
    };
    this.#perform([{ kind: "send", message }]);
  }

  #gameFailed(report: FailureReport): void {
    const { runId, workerIndex } = this.#options;
    this.#perform(
      this.#connection.gameFailed({
        ...gameFailed(runId, workerIndex, report),
        recorded: fitting(report.recorded, this.#welcome?.max_frame_bytes ?? 0),
      }),
    );
  }

  #broke(error: unknown): void {
    if (this.#isOver) return;
    if (error instanceof FatalGameError) {
      // The supervisor tells the server, which knows when too many workers have ended like this.
      this.#shutDown();
      this.#options.post({ type: "crashed", report: error.report });
    } else this.crash(error);
  }

  #end(error: string | null): void {
    if (this.#isOver) return;
    this.#shutDown();
    this.#options.post({ type: "ended", error });
  }

  #shutDown(): void {
    this.#isOver = true;
    this.#answered(null);
    clearInterval(this.#timer);
    const leaseId = this.#connection.current?.lease_id;
    if (leaseId !== undefined) this.#loop?.voidLease(leaseId);
    this.#socket.close();
    this.#yielder.close();
  }
}
