/** Play: the game under your own hands, by keyboard or by buttons on a touch screen. */

import type { EpisodeEntry, GameDescription, GameReference, RecordedEpisode, RunView } from "@attract/schema";
import type { PointerPlaces } from "@attract/worker/stage/pointer-keys";
import { Button, Group, NativeSelect } from "@mantine/core";
import { nameOfKey } from "attract/page/key-names";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { Over } from "../components/over.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { StageFault } from "../components/stage-fault.tsx";
import { type TouchKey, touchKeys } from "../game/actions.ts";
import { Stage } from "../game/stage.ts";
import { WatchedPolicy } from "../game/watched-policy.ts";
import { useHands } from "../hooks/use-hands.ts";
import { formatNumber } from "../state/format.ts";
import { Demonstrations, useRecorder } from "./demonstrations.tsx";
import { Hud, Item, useScore } from "./hud.tsx";

type Phase =
  | { name: "loading" }
  | { name: "ready" }
  | { name: "playing" }
  | { name: "over"; episodeReturn: number };

/** Until the game has said what it is. */
const UNKNOWN: Pick<GameDescription, "id" | "keys" | "action" | "num_agents"> = {
  id: "",
  keys: {},
  num_agents: 1,
  action: { kind: "discrete", n: 2, labels: null },
};

interface PlayProps {
  runId: string;
  /** The same object as long as the game is. */
  reference: GameReference;
  /** Id of the policy that plays each agent; empty: one plays them all. The same array as long as the run is. */
  seats: readonly string[];
  /** The version that plays the other agents; null: chance does. */
  version: number | null;
  /** How each episode's parameters are drawn, as those of training are. */
  parameters: RunView["parameters"];
  onKept: (entry: EpisodeEntry) => void;
}

export function Play({ runId, reference, seats, version, parameters, onKept }: PlayProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const begin = useRef<() => void>(() => undefined);
  const [phase, setPhase] = useState<Phase>({ name: "loading" });
  const mayBegin = phase.name === "ready" || phase.name === "over";
  const [isSlow, setSlow] = useState(false);
  const speedNow = useRef(1);
  speedNow.current = isSlow ? 0.5 : 1;
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const drawn = useRef(parameters);
  drawn.current = parameters;
  const stage = useRef<Stage | null>(null);
  const { score, end } = useScore(stage);
  /** The agent that the person plays, and the version of the policy that plays the others; -1: none does. */
  const [seat, setSeat] = useState(0);
  const [opponent, setOpponent] = useState(-1);
  const wanted = useRef(version);
  wanted.current = version;
  const [description, setDescription] = useState<typeof UNKNOWN>(UNKNOWN);
  const [pointers, setPointers] = useState<PointerPlaces | null>(null);
  const recorder = useRecorder(description.id, reference, runId, onKept);
  const keep = useRef(recorder.keep);
  keep.current = recorder.keep;
  const buttons = useMemo(() => touchKeys(description), [description]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `attempt` begins anew after a failure
  useEffect(() => {
    let isGone = false;
    setError(null);
    setPhase({ name: "loading" });
    const element = canvas.current as HTMLCanvasElement;
    /** Before each episode of a game of several agents. */
    let meet: () => Promise<void> = async () => undefined;
    const made = new Stage({
      reference,
      canvas: element,
      player: "keys",
      seat,
      parameters: drawn.current,
      onOpened: (opened) => {
        setDescription(opened.description);
        setPointers(opened.pointers);
        if (opened.description.num_agents > 1) meet = renew;
        void meet().then(() => isGone || setPhase({ name: "ready" }));
      },
      onEpisodeEnd: ({ episodeReturn, played }) => {
        end(episodeReturn);
        if (played !== null) keep.current({ ...played, seats: named(played.seats, seats) });
        setPhase({ name: "over", episodeReturn });
      },
      onError: (problem) => isGone || setError(problem),
    });
    made.send({ type: "speed", speed: speedNow.current });
    stage.current = made;
    const actor = new WatchedPolicy(runId, made, seats);
    const renew = async () => {
      // Where it cannot be had (the server is away), the version at hand plays on, or chance.
      if (wanted.current !== null) await actor.play(wanted.current, wanted.current).catch(() => undefined);
      if (!isGone) setOpponent(actor.version);
    };
    begin.current = () => {
      setPhase({ name: "playing" });
      void meet().then(() => isGone || made.start());
    };
    frame.current?.focus({ preventScroll: true });
    return () => {
      isGone = true;
      made.close();
    };
  }, [runId, reference, seats, end, attempt, seat]);

  useEffect(() => {
    stage.current?.send({ type: "speed", speed: isSlow ? 0.5 : 1 });
  }, [isSlow]);

  useEffect(() => stage.current?.send({ type: "parameters", parameters }), [parameters]);

  const handlers = useHands({
    frame,
    stage,
    keys: description.keys,
    pointers,
    isPlaying: true,
    isPress: (code) => code === "Enter" || code === "Space",
    onPress: () => mayBegin && begin.current(),
  });

  const names = Object.keys(description.keys).map(nameOfKey).join("  ");
  return (
    <>
      <div
        className="screen"
        ref={frame}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the screen takes the keys while it is played
        tabIndex={0}
        role="application"
        aria-label="The game; play with the keys"
        data-testid="play"
        data-phase={phase.name}
        data-pointers={pointers !== null}
        {...handlers}
      >
        <canvas ref={canvas} role="img" aria-label="The game, played by you" />
        {error === null && phase.name === "loading" && <Over title="Loading the game" />}
        <StageFault title="The game broke" error={error} onRetry={() => setAttempt(attempt + 1)} />
        {error === null && mayBegin && (
          <Over
            title={phase.name === "over" ? `Score ${formatNumber(phase.episodeReturn)}` : "Your turn"}
            text={handsText(names, pointers)}
          >
            <Button onClick={() => begin.current()}>{phase.name === "over" ? "Play again" : "Play"}</Button>
          </Over>
        )}
      </div>
      <Hud score={score}>
        {description.num_agents > 1 && (
          <Item name="Against" value={opponent < 0 ? "chance" : `version ${opponent}`} />
        )}
        <Group component="span" gap={8} ml="auto" wrap="nowrap">
          {description.num_agents > 1 && (
            <NativeSelect
              size="xs"
              aria-label="Seat that you play"
              styles={{ input: { background: "none", color: "var(--ink)" } }}
              value={String(seat)}
              data={Array.from({ length: description.num_agents }, (_, agent) => ({
                value: String(agent),
                label: `Seat ${agent}`,
              }))}
              onChange={(event) => setSeat(Number(event.currentTarget.value))}
            />
          )}
          <Button
            size="compact-sm"
            variant="outline"
            color="dark.2"
            aria-label={isSlow ? "Speed ½×" : "Speed 1×"}
            aria-pressed={isSlow}
            onClick={() => setSlow(!isSlow)}
          >
            {isSlow ? "½×" : "1×"}
          </Button>
          <ServerButton
            size="compact-sm"
            variant={recorder.isOn ? "filled" : "outline"}
            color={recorder.isOn ? "red.8" : "dark.2"}
            aria-pressed={recorder.isOn}
            disabled={description.id === ""}
            onClick={recorder.toggle}
          >
            Record
          </ServerButton>
        </Group>
      </Hud>
      <TouchKeys buttons={buttons} stage={stage} onPress={() => mayBegin && begin.current()} />
      <Demonstrations recorder={recorder} game={reference.name} />
    </>
  );
}

/** The policy of each seat by its name, as the run has it. */
function named(played: RecordedEpisode["seats"], seats: readonly string[]): RecordedEpisode["seats"] {
  return played.map((seat, agent) =>
    seat.player === "policy" ? { ...seat, policy_id: seats[agent] ?? "main" } : seat,
  );
}

function handsText(names: string, pointers: PointerPlaces | null): string {
  const keys = names === "" ? "" : `Keys: ${names}`;
  if (pointers === null) return keys || "This game names no keys.";
  if (keys === "") return "Play with the pointer.";
  return `${keys}, ${pointers.hows === null ? "or" : "and"} the pointer`;
}

interface TouchKeysProps {
  buttons: readonly TouchKey[];
  stage: RefObject<Stage | null>;
  onPress: () => void;
}

/** One button per action; arrows lie as on a gamepad. Shown where there is a finger instead of a keyboard. */
export function TouchKeys({ buttons, stage, onPress }: TouchKeysProps) {
  const [down, setDown] = useState<string | null>(null);
  if (buttons.length === 0) return null;
  const isPad =
    buttons.some((button) => button.place === "up" || button.place === "down") &&
    buttons.every((button) => button.place !== null);
  const press = (button: TouchKey) => {
    stage.current?.send({ type: "press", code: button.codes[0] });
    setDown(button.codes[0]);
    onPress();
  };
  const release = (button: TouchKey) => {
    stage.current?.send({ type: "release", code: button.codes[0] });
    setDown(null);
  };
  return (
    <div className={isPad ? "touch-keys pad" : "touch-keys"}>
      {buttons.map((button) => (
        <button
          key={button.codes[0]}
          type="button"
          style={isPad ? { gridArea: button.place ?? undefined } : undefined}
          aria-label={button.codes.map(nameOfKey).join(" or ")}
          data-held={down === button.codes[0]}
          onPointerDown={(event) => {
            event.preventDefault();
            event.currentTarget.setPointerCapture(event.pointerId);
            press(button);
          }}
          onPointerUp={() => release(button)}
          onPointerCancel={() => release(button)}
          onContextMenu={(event) => event.preventDefault()}
        >
          {button.label}
        </button>
      ))}
    </div>
  );
}
