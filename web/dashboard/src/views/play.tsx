/** Play: the game under your own hands, by keyboard or by buttons on a touch screen. */

import type { RunView } from "@attract/schema";
import { Button } from "@mantine/core";
import { describe, type GameDefinition } from "attract";
import { drawActions } from "attract/cost";
import type { Instance } from "attract/instance";
import { createKeyboard } from "attract/page/keyboard";
import { beside, createPlayer, type Player } from "attract/page/play";
import { RandomPlayer } from "attract/random-play";
import { useEffect, useMemo, useRef, useState } from "react";
import { describeError } from "../api/client.ts";
import { nameOfKey, type TouchKey, touchKeys } from "../game/actions.ts";
import { KeyRelay } from "../game/key-relay.ts";
import { drawStill, screenOf } from "../game/screen.ts";
import { useSampler } from "../hooks/use-sampler.ts";
import { formatNumber } from "../state/format.ts";
import { Hud, useScore } from "./hud.tsx";

type Phase = { name: "ready" } | { name: "playing" } | { name: "over"; episodeReturn: number };

interface PlayProps {
  definition: GameDefinition;
  /** How each episode's parameters are drawn, as those of training are. */
  parameters: RunView["parameters"];
}

export function Play({ definition, parameters }: PlayProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [keys] = useState(() => new KeyRelay());
  const begin = useRef<() => void>(() => undefined);
  const [phase, setPhase] = useState<Phase>({ name: "ready" });
  const [isSlow, setSlow] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const sampler = useSampler(parameters);
  const player = useRef<Player | null>(null);
  const { score, end } = useScore(player, definition);
  const description = useMemo(() => describe(definition), [definition]);
  const buttons = useMemo(() => touchKeys(description as never), [description]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `attempt` begins anew after a failure
  useEffect(() => {
    let isGone = false;
    setError(null);
    setPhase({ name: "ready" });
    const element = canvas.current as HTMLCanvasElement;
    const keyboard = createKeyboard(description, keys);
    const seed = Math.floor(Math.random() * 2 ** 32);
    const chance = new RandomPlayer(definition.action, seed);
    const others = { choose: (instance: Instance) => drawActions(instance, chance) };
    const made = createPlayer({
      definition,
      canvas: screenOf(element),
      controller: description.num_agents === 1 ? keyboard : beside(keyboard, others),
      seed,
      parameters: (episode) => sampler.current.sample(seed, 0, episode, 0),
      onEpisodeEnd: (instance) => {
        made.stop();
        keys.releaseAll();
        drawStill(element, instance);
        end(instance.episodeReturns[0]);
        setPhase({ name: "over", episodeReturn: instance.episodeReturns[0] });
      },
      onError: (problem) => isGone || setError(problem),
    });
    player.current = made;
    begin.current = () => {
      setPhase({ name: "playing" });
      made.start();
    };
    try {
      drawStill(element, made.instance);
    } catch (problem) {
      setError(problem);
    }
    frame.current?.focus({ preventScroll: true });
    return () => {
      isGone = true;
      made.stop();
      keyboard.dispose();
    };
  }, [definition, description, keys, end, attempt]);

  useEffect(() => {
    if (player.current !== null) player.current.speed = isSlow ? 0.5 : 1;
  }, [isSlow]);

  useEffect(() => {
    const isOurs = (event: KeyboardEvent) => {
      const target = event.target as Element | null;
      const isHere =
        target === document.body || frame.current?.closest(".cabinet")?.contains(target) === true;
      return isHere && !event.ctrlKey && !event.metaKey && !event.altKey;
    };
    const down = (event: KeyboardEvent) => {
      if (!isOurs(event)) return;
      const isKey = event.code in description.keys;
      const isStart = event.code === "Enter" || event.code === "Space";
      if (!isKey && !(isStart && event.target === frame.current)) return;
      event.preventDefault();
      keys.pass("keydown", event);
      if (phase.name !== "playing" && !event.repeat) begin.current();
    };
    const up = (event: KeyboardEvent) => keys.pass("keyup", event);
    const drop = () => keys.releaseAll();
    window.addEventListener("keydown", down);
    window.addEventListener("keyup", up);
    window.addEventListener("blur", drop);
    return () => {
      window.removeEventListener("keydown", down);
      window.removeEventListener("keyup", up);
      window.removeEventListener("blur", drop);
    };
  }, [description, keys, phase.name]);

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
      >
        <canvas ref={canvas} role="img" aria-label="The game, played by you" />
        {error !== null ? (
          <div className="over" role="alert">
            <strong>The game broke</strong>
            <span className="small">{describeError(error).text}</span>
            <Button onClick={() => setAttempt(attempt + 1)}>Try again</Button>
          </div>
        ) : (
          phase.name !== "playing" && (
            <div className="over">
              <strong>
                {phase.name === "ready" ? "Your turn" : `Score ${formatNumber(phase.episodeReturn)}`}
              </strong>
              <Button onClick={() => begin.current()}>
                {phase.name === "ready" ? "Play" : "Play again"}
              </Button>
              <span className="small">{names === "" ? "This game names no keys." : `Keys: ${names}`}</span>
            </div>
          )
        )}
      </div>
      <Hud score={score}>
        <Button
          className="push"
          size="compact-sm"
          variant="outline"
          color="dark.2"
          aria-label={isSlow ? "Speed ½×" : "Speed 1×"}
          aria-pressed={isSlow}
          onClick={() => setSlow(!isSlow)}
        >
          {isSlow ? "½×" : "1×"}
        </Button>
      </Hud>
      <TouchKeys buttons={buttons} keys={keys} onPress={() => phase.name !== "playing" && begin.current()} />
    </>
  );
}

interface TouchKeysProps {
  buttons: readonly TouchKey[];
  keys: KeyRelay;
  onPress: () => void;
}

/** One button per action; arrows lie as on a gamepad. Shown where there is a finger instead of a keyboard. */
function TouchKeys({ buttons, keys, onPress }: TouchKeysProps) {
  const [down, setDown] = useState<string | null>(null);
  if (buttons.length === 0) return null;
  const isPad =
    buttons.some((button) => button.place === "up" || button.place === "down") &&
    buttons.every((button) => button.place !== null);
  const press = (button: TouchKey) => {
    keys.press(button.codes[0]);
    setDown(button.codes[0]);
    onPress();
  };
  const release = (button: TouchKey) => {
    keys.release(button.codes[0]);
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
