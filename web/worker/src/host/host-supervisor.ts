/** Runs a host: holds its control connection, starts its rollout workers, ends the silent ones, never plays itself. */

import {
  type Assignment,
  decodeToBrowser,
  encodeForSend,
  type GameReference,
  type Hello,
  PROTOCOL_VERSION,
  ProtocolError,
} from "@attract/schema";
import { ServerWatch } from "../connection/server-watch.ts";
import { Socket, socketUrl } from "../connection/socket.ts";
import { SocketRelay } from "../connection/socket-relay.ts";
import { type FailureReport, gameFailed } from "../game/failures.ts";
import type { GameThread } from "../game/game-thread.ts";
import { GameChecker } from "./game-checker.ts";
import { GameDescriber } from "./game-describer.ts";
import { HostConnection, type HostEffect } from "./host-connection.ts";
import { maxThreads } from "./page-origin.ts";
import { BusyWatch, busyText } from "./slowdown.ts";
import { RestartLimit, SLEEP_MS, Vitals } from "./vitals.ts";
import type {
  HostIdentity,
  HostStatus,
  RelayToRollout,
  RolloutToSupervisor,
  SupervisorToPage,
  SupervisorToRollout,
} from "./worker-messages.ts";
import { hangReport, scriptFailure, stillbornReport, type Watched } from "./worker-reports.ts";

const CHECK_MS = 250;
/** Time for a stopping worker to close its connection. */
const GOODBYE_MS = 500;

export interface SupervisorOptions {
  identity: HostIdentity;
  maxWorkers: number;
  post(message: SupervisorToPage): void;
  /** A new thread in the sandbox that plays or describes this game. */
  createWorker(game: GameReference): GameThread;
  /** A new thread in the sandbox that checks this game. */
  createCheckWorker(game: GameReference): GameThread;
  /** The inference engine's WebAssembly; loaded once. */
  fetchEngine(): Promise<Blob>;
  /** 32 unguessable hex digits. */
  randomKey(): string;
  /** Default: `slowdown`. */
  measureSlowdown?(): number;
  /** Whether the server answers; takes its time when it does not. */
  isServerThere(): Promise<boolean>;
}

interface Running extends Watched {
  worker: GameThread;
  /** Its websocket. */
  relay: SocketRelay;
}

type Run = Assignment & { run_id: string; game: NonNullable<Assignment["game"]> };

/** Owned by the supervisor's entry; lives as long as the thread. */
export class HostSupervisor {
  readonly #options: SupervisorOptions;
  readonly #connection: HostConnection;
  readonly #socket: Socket;
  readonly #running = new Map<number, Running>();
  readonly #restarts = new RestartLimit();
  /** Workers that are not started again under this assignment. */
  readonly #givenUp = new Set<number>();
  /** Workers whose predecessor hung: the next one says whose turn it is. */
  readonly #hung = new Set<number>();
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #serverWatch: ServerWatch;
  #maxWorkers: number;
  #run: Run | null = null;
  #isDescribed = false;
  readonly #describer: GameDescriber;
  readonly #checker: GameChecker;
  readonly #busy: BusyWatch;
  #hidden = false;
  #lastCheck: number;
  #reported = "";
  #tier: HostStatus["tier"] = null;
  #error: string | null = null;
  #ended = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#maxWorkers = options.maxWorkers;
    this.#describer = new GameDescriber(options.createWorker);
    this.#busy = new BusyWatch(options.measureSlowdown);
    this.#checker = new GameChecker(options.createCheckWorker, this.#busy);
    const { identity } = options;
    const hello = this.#hello({ role: "host", max_workers: options.maxWorkers });
    this.#connection = new HostConnection(hello, Math.random);
    this.#socket = new Socket(socketUrl(identity.base), {
      opened: () => this.#perform(this.#connection.opened()),
      received: (bytes) => this.#received(bytes),
      closed: (code, reason) => {
        this.#perform(this.#connection.closed(code, reason));
        this.#postStatus();
      },
    });
    this.#socket.connect(0);
    this.#lastCheck = performance.now();
    this.#serverWatch = new ServerWatch(this.#lastCheck);
    this.#timer = setInterval(() => this.#check(performance.now()), CHECK_MS);
  }

  setMaxWorkers(maxWorkers: number): void {
    this.#maxWorkers = maxWorkers;
    this.#settle();
  }

  setHidden(hidden: boolean): void {
    this.#hidden = hidden;
    this.#report();
  }

  /** Says goodbye and ends every worker. */
  stop(): void {
    this.#perform([{ kind: "send", message: { type: "goodbye" } }]);
    this.#finish(null);
    setTimeout(() => this.#options.post({ type: "stopped" }), GOODBYE_MS);
  }

  #hello(fields: Pick<Hello, "role"> & Partial<Hello>): Hello {
    const { identity } = this.#options;
    return {
      type: "hello",
      protocol_version: PROTOCOL_VERSION,
      build: identity.build,
      token: identity.token,
      host_id: identity.hostId,
      worker_index: null,
      worker_key: null,
      max_workers: null,
      run_id: null,
      device: { user_agent: identity.userAgent, hardware_concurrency: identity.hardwareConcurrency },
      ...fields,
    };
  }

  #received(bytes: Uint8Array): void {
    this.#serverHeard();
    try {
      this.#perform(this.#connection.received(decodeToBrowser(bytes)));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#finish(`the server violated the protocol: ${error.message}`);
    }
  }

  #perform(effects: readonly HostEffect[]): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case "send":
          this.#socket.send(encodeForSend(effect.message));
          break;
        case "connect":
          this.#socket.connect(effect.delayMs);
          break;
        case "welcomed":
          this.#tier = effect.tier;
          this.#error = null;
          this.#postStatus();
          break;
        case "assign":
          this.#assign(effect.assignment as Run);
          break;
        case "check":
          this.#checker.begin(effect.order, performance.now(), (message) =>
            this.#perform([{ kind: "send", message }]),
          );
          break;
        case "answered":
          this.#checker.answer(effect.answer);
          break;
        case "idle":
          this.#leaveRun();
          break;
        case "reload":
          this.#finish(effect.reason);
          this.#options.post({ type: "reload", reason: effect.reason });
          break;
        case "end":
          this.#finish(effect.error);
          break;
      }
    }
  }

  #assign(run: Run): void {
    const isOther = this.#run?.run_id !== run.run_id || this.#run.game.sha256 !== run.game.sha256;
    if (isOther) this.#leaveRun();
    this.#run = run;
    if (run.describe) {
      // Asked again, for example after a restart of the server: described again.
      this.#isDescribed = false;
      this.#describe(run);
    } else {
      this.#isDescribed = true;
    }
    this.#settle();
  }

  #leaveRun(): void {
    this.#describer.end();
    for (const index of [...this.#running.keys()]) this.#endWorker(index, true);
    this.#run = null;
    this.#givenUp.clear();
    this.#hung.clear();
    this.#restarts.clear();
    this.#report();
  }

  #describe(run: Run): void {
    const { run_id, game } = run;
    this.#describer.begin(game, performance.now(), {
      described: (description) => {
        this.#isDescribed = true;
        const message = { type: "game_described" as const, run_id, sha256: game.sha256, description };
        this.#perform([{ kind: "send", message }]);
        this.#settle();
      },
      failed: (report) => this.#gameFailed(run_id, null, report),
    });
  }

  /** Starts and ends workers until as many run as are wanted. */
  #settle(): void {
    const run = this.#run;
    const wanted = run === null || !this.#isDescribed ? 0 : this.#numWanted(run);
    for (const index of [...this.#running.keys()]) if (index >= wanted) this.#endWorker(index, true);
    for (let index = 0; index < wanted; index++) {
      if (!this.#running.has(index) && !this.#givenUp.has(index))
        this.#startWorker(run!, index, this.#hung.has(index));
    }
    this.#report();
  }

  #numWanted({ num_workers, game }: Run): number {
    return Math.min(num_workers, this.#maxWorkers, maxThreads(new URL(this.#options.identity.base), game));
  }

  #startWorker(run: Run, index: number, careful: boolean): void {
    const worker = this.#options.createWorker(run.game);
    const hello = this.#hello({
      role: "worker",
      worker_index: index,
      worker_key: this.#options.randomKey(),
      run_id: run.run_id,
    });
    const post = (message: RelayToRollout, transfer: Transferable[]): void => {
      if (message.type === "received") this.#serverHeard();
      worker.postMessage(message, transfer);
    };
    const running: Running = {
      worker,
      relay: new SocketRelay(socketUrl(this.#options.identity.base), hello, post),
      vitals: new Vitals(performance.now()),
      instanceIds: [],
      turn: null,
      player: null,
      seed: null,
    };
    this.#running.set(index, running);
    worker.onmessage = (event: MessageEvent<RolloutToSupervisor>) => {
      if (this.#running.get(index) === running) this.#hear(run, index, running, event.data);
    };
    worker.onerror = (event) => {
      if (this.#running.get(index) === running)
        this.#broke(run, index, scriptFailure(event.message, "crash"));
    };
    const order: SupervisorToRollout = {
      type: "start",
      runId: run.run_id,
      workerIndex: index,
      careful,
    };
    worker.postMessage(order);
  }

  /** A game can say anything in its worker's name: what no worker says ends the worker, never the host. */
  #hear(run: Run, index: number, running: Running, message: RolloutToSupervisor): void {
    try {
      this.#heard(run, index, running, message);
    } catch (error) {
      const text = `the worker sent an invalid message: ${error instanceof Error ? error.message : error}`;
      if (this.#running.get(index) === running) this.#broke(run, index, scriptFailure(text, "crash"));
    }
  }

  #heard(run: Run, index: number, running: Running, message: RolloutToSupervisor): void {
    running.vitals.spoke();
    switch (message.type) {
      case "connect":
      case "send":
      case "disconnect":
        running.relay.heard(message, performance.now());
        break;
      case "heartbeat":
        running.vitals.heard(message, performance.now());
        break;
      case "turn":
        running.turn = message.instanceId;
        running.player = null;
        break;
      case "script_turn":
        running.player = message.player;
        break;
      case "admitted":
        running.instanceIds = message.instanceIds;
        running.seed = message.seed;
        break;
      case "engine_needed":
        this.#options.fetchEngine().then(
          (engine) => running.worker.postMessage({ type: "engine", engine } satisfies SupervisorToRollout),
          (error: unknown) => {
            const text = `the inference engine could not be loaded: ${error instanceof Error ? error.message : error}`;
            if (this.#running.get(index) === running) this.#broke(run, index, scriptFailure(text, "crash"));
          },
        );
        break;
      case "crashed":
        this.#broke(run, index, message.report);
        break;
      case "reload":
        this.#options.post({ type: "reload", reason: message.reason });
        break;
      case "ended":
        if (message.error !== null) this.#error = `worker ${index}: ${message.error}`;
        this.#givenUp.add(index);
        this.#endWorker(index, false);
        this.#report();
        break;
    }
  }

  /** Reports a worker that crashed or hung and starts another in its place, unless that happened too often. */
  #broke(run: Run, index: number, report: FailureReport): void {
    this.#endWorker(index, false);
    const isLost = !this.#restarts.mayRestart(index, performance.now());
    if (report.kind === "hang") this.#hung.add(index);
    else this.#hung.delete(index);
    if (isLost) this.#givenUp.add(index);
    this.#gameFailed(run.run_id, index, { ...report, worker_lost: isLost });
    this.#settle();
  }

  #endWorker(index: number, isOrdered: boolean): void {
    const running = this.#running.get(index);
    if (running === undefined) return;
    this.#running.delete(index);
    const { worker, relay } = running;
    const end = (): void => {
      relay.close();
      worker.terminate();
    };
    if (!isOrdered) {
      end();
      return;
    }
    worker.onmessage = ({ data }: MessageEvent<RolloutToSupervisor>) => {
      // Its good-bye goes out; nothing else of it matters any more.
      if (data?.type === "send") relay.heard(data, performance.now());
      else if (data?.type === "ended") end();
    };
    worker.postMessage({ type: "stop" } satisfies SupervisorToRollout);
    setTimeout(end, GOODBYE_MS);
  }

  #check(now: number): void {
    const wasAsleep = now - this.#lastCheck > SLEEP_MS;
    this.#lastCheck = now;
    this.#checker.check(now);
    if (this.#serverWatch.takeQuestion(now)) {
      void this.#options.isServerThere().then((isThere) => isThere && !this.#ended && this.#serverHeard());
      this.#postStatus();
    }
    const run = this.#run;
    if (run === null) return;
    for (const [index, running] of [...this.#running]) {
      if (wasAsleep) running.vitals.forgive(now);
      const limitMs = run.silence_seconds * 1000;
      if (!running.vitals.isStillborn(now, 1) && !running.vitals.isSilent(now, limitMs)) continue;
      const factor = this.#busy.factor(now);
      if (running.vitals.isStillborn(now, factor)) this.#broke(run, index, stillbornReport());
      else if (running.vitals.isSilent(now, limitMs * factor))
        this.#broke(run, index, hangReport(running, run.silence_seconds * factor, busyText(factor)));
    }
    this.#describer.check(now);
    this.#postStatus();
  }

  /** After a long absence of the server old connections may be dead, and the next attempt far away. */
  #serverHeard(): void {
    if (!this.#serverWatch.heard(performance.now())) return;
    this.#socket.renew();
    for (const { relay } of this.#running.values()) relay.renew();
  }

  #gameFailed(runId: string, workerIndex: number | null, report: FailureReport): void {
    const isLost = report.worker_lost === true;
    this.#error = isLost ? `worker ${workerIndex} is not restarted; last: ${report.text}` : report.text;
    this.#perform(this.#connection.gameFailed(gameFailed(runId, workerIndex, report)));
    this.#postStatus();
  }

  /** Tells the server how many workers run, when that has changed. */
  #report(): void {
    const runId = this.#run?.run_id ?? null;
    const numWorkers = this.#running.size;
    const news = `${runId}/${numWorkers}/${this.#hidden}`;
    if (news !== this.#reported) {
      this.#reported = news;
      const message = {
        type: "host_status" as const,
        run_id: runId,
        num_workers: numWorkers,
        hidden: this.#hidden,
      };
      this.#perform(this.#connection.status(message));
    }
    this.#postStatus();
  }

  #postStatus(): void {
    const workers = [...this.#running]
      .sort(([a], [b]) => a - b)
      .map(([index, { vitals }]) => ({
        index,
        leaseId: vitals.leaseId,
        stepsPerSecond: vitals.stepsPerSecond,
      }));
    const now = performance.now();
    const isAway = this.#serverWatch.isAway(now);
    const silence = `the server has not answered for ${this.#serverWatch.silentSeconds(now)} s; trying again`;
    const status: HostStatus = {
      connected: this.#connection.isConnected && !isAway,
      tier: this.#tier,
      runId: this.#run?.run_id ?? null,
      game: this.#run?.game.name ?? null,
      numWorkers: workers.length,
      workers,
      stepsPerSecond: workers.reduce((sum, worker) => sum + worker.stepsPerSecond, 0),
      error: isAway && !this.#ended ? silence : this.#error,
      ended: this.#ended,
    };
    this.#options.post({ type: "status", status });
  }

  #finish(error: string | null): void {
    if (error !== null) this.#error = error;
    this.#ended = true;
    this.#checker.end();
    this.#leaveRun();
    clearInterval(this.#timer);
    this.#socket.close();
  }
}
