/** A thread of the sandbox that shows its game: plays one copy in its own time and gives the page its pictures, or is seen itself. */

import type { EpisodeSeat, GameDescription, RecordedEpisode } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import { resolveAction, ticksPerStep } from "attract/define-game";
import { describe } from "attract/description";
import type { Instance } from "attract/instance";
import { createKeyboard, type Keyboard } from "attract/page/keyboard";
import { beside, type Choice, type Controller, createPlayer, drawGame, type Player } from "attract/page/play";
import { ParameterSampler } from "attract/parameters";
import { drawActions, RandomPlayer } from "attract/random-play";
import { mixedParts } from "attract/spaces/mixed";
import { EpisodePlayer } from "../episode/episode-player.ts";
import { EpisodeScript } from "../episode/episode-script.ts";
import { EpisodeTape, seatOf } from "../episode/episode-tape.ts";
import type { GameModule } from "../game/game-module.ts";
import { loadGame } from "../game/load-game.ts";
import { PageFrames } from "../page/page-frames.ts";
import { createPlayerSession, MAX_WORK } from "../policy/player-session.ts";
import type { ModelPolicy } from "../policy/policy.ts";
import { PolicyActor } from "../policy/policy-actor.ts";
import { createPolicySession, startInferenceEngine } from "../policy/policy-session.ts";
import { Yielder } from "../rollout/yielding.ts";
import { recordedActions, throughUnitBox } from "./hand-actions.ts";
import { KeyRelay } from "./key-relay.ts";
import { pointerKeys, pointerPlaces } from "./pointer-keys.ts";
import type { PageToStage, StagePlayer, StageToPage } from "./stage-messages.ts";
import { StageScreen } from "./stage-screen.ts";

type Open = Extract<PageToStage, { type: "open" }>;
type Frame = Extract<PageToStage, { type: "frame" }>;
type NewPolicy = Extract<PageToStage, { type: "policy" }>;

/** Owned by the thread. */
class Stage {
  readonly #post: (message: StageToPage, transfer?: Transferable[]) => void;
  readonly #description: GameDescription;
  /** Null where a recorded episode is played. */
  readonly #player: Player | null;
  readonly #replay: EpisodePlayer | null;
  /** Frames of a page game, which is shown as it is, in this thread's own document. */
  readonly #pages: PageFrames | null;
  readonly #screen = new StageScreen();
  readonly #keys = new KeyRelay();
  readonly #stepTicks: number;
  readonly #seed: number;
  /** The agent that a person plays. */
  readonly #seat: number;
  /** Set on a stage that is played by hand. */
  readonly #tape: EpisodeTape | null;
  #sampler: ParameterSampler;
  #sessions: ModelPolicy[] = [];
  #hasEngine = false;
  #actor: PolicyActor | null = null;
  /** The version that it plays; null: none was sent. */
  #version: number | null = null;
  /** What the player does with the next frame. */
  #onFrame: ((now: number) => void) | null = null;
  /** Where the person's pointer is in the page; null: nowhere yet. */
  #aim: readonly [x: number, y: number] | null = null;
  /** A person's keys play where a policy would. */
  #isByHand = false;
  /** The policy has not seen what happened since its last decision. */
  #hasMissed = false;
  /** The game has not moved, but is to be drawn. */
  #isStale = true;

  constructor(
    { definition, pages, script }: Shown,
    open: Open,
    post: (message: StageToPage, t?: Transferable[]) => void,
  ) {
    this.#post = post;
    this.#pages = pages;
    this.#description = describe(definition);
    const { tickSeconds, secondsPerStep = tickSeconds } = definition;
    this.#stepTicks = ticksPerStep(tickSeconds, secondsPerStep);
    this.#sampler = new ParameterSampler(open.parameters);
    this.#tape = open.player === "keys" ? new EpisodeTape(definition) : null;
    this.#seed = open.seed;
    this.#seat = open.seat;
    this.#replay = script === null ? null : this.#createReplay(definition, script);
    this.#player = script === null ? this.#createPlayer(definition, open) : null;
    const { page } = definition;
    post({
      type: "opened",
      description: this.#description,
      reset: page?.reset ?? null,
      pointers: page === undefined ? null : pointerPlaces(page),
    });
  }

  heard(message: PageToStage): void {
    switch (message.type) {
      case "frame":
        this.#frame(message);
        break;
      case "go":
        this.#replay?.go(message.seconds);
        break;
      case "start":
        this.#player?.start();
        break;
      case "stop":
        this.#player?.stop();
        break;
      case "again":
        this.#player?.instance.cut();
        break;
      case "speed":
        if (this.#player !== null) this.#player.speed = message.speed;
        break;
      case "parameters":
        this.#sampler = new ParameterSampler(message.parameters);
        break;
      case "press":
        this.#keys.press(message.code);
        break;
      case "release":
        this.#keys.release(message.code);
        break;
      case "release_all":
        this.#keys.releaseAll();
        break;
      case "aim":
        this.#aim = [message.x, message.y];
        break;
      case "hands":
        this.#keys.releaseAll();
        this.#isByHand = message.arePlaying;
        break;
      case "policy":
        void this.#setPolicy(message);
        break;
    }
  }

  get #instance(): Instance {
    return (this.#replay ?? (this.#player as Player)).instance;
  }

  #createPlayer(definition: GameDefinition, open: Open): Player {
    const tape = this.#tape;
    const isWatched = open.player === "policy";
    return createPlayer({
      definition,
      canvas: this.#screen.canvas,
      controller: this.#controller(definition, open),
      seed: open.seed,
      parameters: (episode) => {
        const drawn = this.#sampler.sample(open.seed, 0, episode, 0);
        tape?.begin(drawn);
        return drawn;
      },
      onChoice: (choice, instance) => {
        if (tape !== null) this.#record(tape, choice, instance);
        if (isWatched) this.#postDecision(choice, !this.#isByHand);
      },
      // Chance plays on by itself; else the page says when the next episode begins.
      onEpisodeEnd: open.player === "chance" ? undefined : (instance) => this.#episodeEnded(instance),
      onError: (error) => this.#failed(error, true),
      onDrawError: isWatched ? (error) => this.#failed(error, false) : undefined,
      requestFrame: (callback) => {
        this.#onFrame = callback;
        return 1;
      },
      cancelFrame: () => {
        this.#onFrame = null;
      },
    });
  }

  #createReplay(definition: GameDefinition, script: EpisodeScript): EpisodePlayer {
    const yielder = new Yielder();
    let shownStep = "";
    return new EpisodePlayer({
      definition,
      script,
      preloaded: this.#pages,
      yieldTurn: () => yielder.yield(),
      now: () => performance.now(),
      onDiffers: (difference) => this.#post({ type: "differs", difference }),
      onArrived: (seconds) => {
        this.#isStale = true;
        this.#post({ type: "arrived", seconds });
        const { step, isAdvised, action } = this.#replay as EpisodePlayer;
        if (action === undefined || shownStep === `${step} ${isAdvised}`) return;
        shownStep = `${step} ${isAdvised}`;
        this.#postDecision(action as Choice, isAdvised);
      },
      onError: (error) => this.#failed(error, true),
    });
  }

  #controller(definition: GameDefinition, { player, seed }: Open): Controller {
    if (player === "policy") {
      const policy: Controller = { choose: (instance, begins) => this.#decide(instance, begins) };
      const person = this.#person(definition, policy);
      return {
        choose: (instance, begins) => {
          if (!this.#isByHand) return policy.choose(instance, begins);
          this.#hasMissed = true;
          return person.choose(instance, begins);
        },
      };
    }
    const chance = new RandomPlayer(definition.action, seed);
    const others: Controller = { choose: (instance) => drawActions(instance, chance) };
    if (player === "chance") return others;
    // By its probabilities, as in training: the best play may be a mixture.
    return this.#person(definition, {
      choose: (instance, begins) =>
        this.#actor?.act(instance, begins, { deterministic: false }) ?? others.choose(instance, begins),
    });
  }

  /** A person plays one agent, `others` the rest. */
  #person(definition: GameDefinition, others: Controller): Controller {
    const { action, keys, idle_action: idle } = this.#description;
    const aim = definition.page?.mixed?.aim;
    // A button that was let go of does not stay down.
    const rest = aim === undefined ? idle : (idle ?? resolveAction("idle", action, {}));
    const hands = { action, keys: { ...keys, ...pointerKeys(definition) }, idle_action: rest };
    const keyboard = this.#byHand(createKeyboard(hands, this.#keys), aim);
    return this.#description.num_agents === 1 ? keyboard : beside(keyboard, others, this.#seat);
  }

  #decide(instance: Instance, begins: Uint8Array): Promise<Choice> {
    if (this.#actor === null) throw new Error("expected a policy before the game begins");
    // What a person did in between is nothing that a memory could know.
    const forgets = this.#hasMissed && !this.#isByHand;
    if (forgets) this.#hasMissed = false;
    return this.#actor.act(instance, forgets ? begins.slice().fill(1) : begins);
  }

  #postDecision(choice: Choice, isAdvised: boolean): void {
    const { num_agents: numAgents } = this.#description;
    const first = numAgents === 1 ? (choice as Action) : (choice as ArrayLike<Action>)[0];
    const action = typeof first === "number" ? first : Array.from(first);
    const probabilities =
      !isAdvised || this.#actor === null ? new Float64Array(0) : this.#actor.probabilities(0);
    this.#post({ type: "decided", decision: { action, probabilities } });
  }

  /** What a person does to a continuous action goes through the unit space, so that it can be played again bit for bit. */
  #byHand(keyboard: Pick<Keyboard, "choose">, aim: string | undefined): Controller {
    const { action: space } = this.#description;
    if (space.kind !== "box" && space.kind !== "mixed") return keyboard;
    const from =
      space.kind === "mixed" ? mixedParts(space).find(({ name }) => name === aim)?.from : undefined;
    return {
      choose: () => {
        const action = keyboard.choose();
        if (from === undefined || this.#aim === null) return throughUnitBox(space, action);
        const aimed = Array.from(action as ArrayLike<number>);
        [aimed[from], aimed[from + 1]] = this.#aim;
        return throughUnitBox(space, aimed);
      },
    };
  }

  #frame({ now, width, height, pixelRatio }: Frame): void {
    // The screen of a game that is seen itself stays without a size, on which nothing is drawn.
    if (this.#pages !== null) this.#pages.fit(width, height);
    else if (this.#screen.resize(width, height, pixelRatio)) this.#isStale = true;
    const onFrame = this.#onFrame;
    if (onFrame !== null && !this.#waitsForPage()) {
      this.#onFrame = null;
      onFrame(now);
    } else if (this.#isStale && this.#replay?.isBehind !== true) this.#drawStill();
    const instance = this.#instance;
    const bitmap = this.#screen.take();
    const score = instance.episodeReturns[this.#seat];
    const steps = Math.ceil(instance.episodeTicks / this.#stepTicks);
    this.#post({ type: "picture", bitmap, score, steps }, bitmap === null ? [] : [bitmap]);
  }

  /** The next episode may need a page that is not there yet. */
  #waitsForPage(): boolean {
    if (!this.#instance.episodeOver) return false;
    const preloading = this.#pages?.preload() ?? null;
    preloading?.catch((error: unknown) => this.#failed(error, true));
    return preloading !== null;
  }

  /** A game that does not move, such as before its start. */
  #drawStill(): void {
    this.#isStale = false;
    try {
      drawGame(this.#instance, this.#screen.canvas);
    } catch (error) {
      this.#failed(error, false);
    }
  }

  #episodeEnded(instance: Instance): void {
    this.#player?.stop();
    this.#keys.releaseAll();
    this.#isStale = true;
    const { endReason: reason, episodeReturns } = instance;
    const played = this.#played(instance);
    this.#post({ type: "episode_end", reason, episodeReturn: episodeReturns[this.#seat], played });
  }

  #record(tape: EpisodeTape, choice: Choice, instance: Instance): void {
    const { num_agents: numAgents, action } = this.#description;
    tape.add(instance, recordedActions(action, numAgents, choice, instance.active), 0);
  }

  /** The episode that a person has played; null where none did, or nothing was done in it. */
  #played(instance: Instance): RecordedEpisode | null {
    const version = this.#version;
    const others: EpisodeSeat =
      version === null
        ? seatOf("random")
        : { player: "policy", policy_id: null, policy_version: version, deterministic: false };
    const seats = Array.from({ length: instance.numAgents }, (_, agent) =>
      agent === this.#seat ? seatOf("person") : others,
    );
    const terms = { run_id: null, seed: { low: this.#seed, high: 0 }, lesson_id: null, seats };
    const played = this.#tape?.recorded(instance, terms, instance.endReason) ?? null;
    return played?.num_steps === 0 ? null : played;
  }

  /** All sessions are there before the first of them is exchanged: agents of two versions never play together. */
  async #setPolicy({ version, models, seats, engine }: NewPolicy): Promise<void> {
    const made: ModelPolicy[] = [];
    try {
      if (engine !== null) {
        await startInferenceEngine(engine);
        this.#hasEngine = true;
      }
      const game = this.#description;
      const options = { maxBatch: game.num_agents, policyVersion: version };
      for (const model of models) {
        const small = this.#hasEngine ? null : createPlayerSession(model, game, options, MAX_WORK.watch);
        if (small === null && !this.#hasEngine) {
          this.#post({ type: "policy_ready", version, error: null, needsEngine: true });
          return;
        }
        made.push(small ?? (await createPolicySession(model, game, options)));
      }
      const sessions = seats.map((index) => made[index]);
      if (this.#actor === null) this.#actor = new PolicyActor(sessions, this.#description, this.#seed);
      else this.#actor.sessions = sessions;
      this.#version = version;
    } catch (error) {
      for (const session of made) await session.release();
      this.#post({ type: "policy_ready", version, error: textOf(error), needsEngine: false });
      return;
    }
    const old = this.#sessions;
    this.#sessions = made;
    const actor = this.#actor;
    this.#replay?.advise({
      hasMemory: made.some(({ stateSize }) => stateSize > 0),
      decide: (instance, begins) => actor.act(instance, begins),
    });
    this.#post({ type: "policy_ready", version, error: null, needsEngine: false });
    for (const session of old) await session.release();
  }

  #failed(error: unknown, isOver: boolean): void {
    this.#post({ type: "failed", text: textOf(error), isOver });
  }
}

/** Shows the game as `port` asks. */
export function serveStage(port: MessagePort, module: GameModule): void {
  const post = (message: StageToPage, transfer: Transferable[] = []): void =>
    port.postMessage(message, transfer);
  // Messages are dealt with in their order, the first of them once the game is loaded.
  let stage: Promise<Stage | null> | null = null;
  port.onmessage = (event: MessageEvent<PageToStage>) => {
    const message = event.data;
    if (message.type === "open") {
      stage = loadGame(module)
        .then((definition) => shown(definition, message.player))
        .then((game) => new Stage(game, message, post))
        .catch((error: unknown) => {
          post({ type: "failed", text: textOf(error), isOver: true });
          return null;
        });
    } else void stage?.then((opened) => opened?.heard(message));
  };
}

interface Shown {
  definition: GameDefinition;
  pages: PageFrames | null;
  /** Null where no recorded episode is played. */
  script: EpisodeScript | null;
}

/** A game that lives in a page needs one that draws before it can be made. */
async function shown(definition: GameDefinition, player: StagePlayer): Promise<Shown> {
  const script = typeof player === "string" ? null : await EpisodeScript.of(definition, player);
  if (definition.page === undefined) return { definition, pages: null, script };
  // An evaluation plays each of its episodes in a fresh page, where what a person plays can be played again, too.
  const isFresh = script !== null || player === "keys";
  const pages = new PageFrames(definition, { maxCopies: 1, draws: true, isSeen: true, isFresh });
  await pages.preload();
  return { definition: pages.definition, pages, script };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
