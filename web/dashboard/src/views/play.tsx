/** Play: the game under your own hands, by keyboard or by buttons on a touch screen. */

import { Button } from "@mantine/core";
import { describe, type GameDefinition } from "attract";
import { useEffect, useMemo, useRef, useState } from "react";
import { describeError } from "../api/client.ts";
import { HeldKeys, nameOfKey, type TouchKey, touchKeys } from "../game/actions.ts";
import { StageLoop } from "../game/stage-loop.ts";
import { formatNumber } from "../state/format.ts";
import { Hud, useScore } from "./hud.tsx";

type Phase = { name: "ready" } | { name: "playing" } | { name: "over"; episodeReturn: number };

export function Play({ definition }: { definition: GameDefinition }) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const held = useRef(new HeldKeys());
  const begin = useRef<() => void>(() => undefined);
  const [phase, setPhase] = useState<Phase>({ name: "ready" });
  const [isSlow, setSlow] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const stage = useRef<StageLoop | null>(null);
  const { score, progress, end } = useScore();
  const description = useMemo(() => describe(definition), [definition]);
  const buttons = useMemo(() => touchKeys(description as never), [description]);

  useEffect(() => {
    let isGone = false;
    let resume: (() => void) | null = null;
    const loop = new StageLoop({
      definition,
      canvas: canvas.current as HTMLCanvasElement,
      seed: Math.floor(Math.random() * 2 ** 32),
      choose: () => held.current.action(description.keys, description.idle_action),
      onProgress: progress,
      restMs: 0,
      onEpisodeEnd: (result) => {
        end(result.episodeReturn);
        held.current.clear();
        setPhase({ name: "over", episodeReturn: result.episodeReturn });
        return new Promise((resolve) => {
          resume = resolve;
        });
      },
      onError: (problem) => isGone || setError(problem),
    });
    stage.current = loop;
    begin.current = () => {
      setPhase({ name: "playing" });
      if (!loop.isRunning) loop.start();
      resume?.();
      resume = null;
    };
    loop.draw();
    frame.current?.focus({ preventScroll: true });
    return () => {
      isGone = true;
      loop.stop();
      resume?.();
    };
  }, [definition, description, progress, end]);

  useEffect(() => {
    if (stage.current !== null) stage.current.speed = isSlow ? 0.5 : 1;
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
      if (isKey) held.current.press(event.code);
      if (phase.name !== "playing" && !event.repeat) begin.current();
    };
    const up = (event: KeyboardEvent) => held.current.release(event.code);
    const drop = () => held.current.clear();
    window.addEventListener("keydown", down);
    window.addEventListener("keyup", up);
    window.addEventListener("blur", drop);
    return () => {
      window.removeEventListener("keydown", down);
      window.removeEventListener("keyup", up);
      window.removeEventListener("blur", drop);
    };
  }, [description, phase.name]);

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
          aria-pressed={isSlow}
          onClick={() => setSlow(!isSlow)}
        >
          {isSlow ? "Half speed" : "Full speed"}
        </Button>
      </Hud>
      <TouchKeys
        buttons={buttons}
        held={held.current}
        onPress={() => phase.name !== "playing" && begin.current()}
      />
    </>
  );
}

interface TouchKeysProps {
  buttons: readonly TouchKey[];
  held: HeldKeys;
  onPress: () => void;
}

/** One button per action; arrows lie as on a gamepad. Shown where there is a finger instead of a keyboard. */
function TouchKeys({ buttons, held, onPress }: TouchKeysProps) {
  const [down, setDown] = useState<string | null>(null);
  if (buttons.length === 0) return null;
  const isPad =
    buttons.some((button) => button.place === "up" || button.place === "down") &&
    buttons.every((button) => button.place !== null);
  const press = (button: TouchKey) => {
    held.press(button.codes[0]);
    setDown(button.codes[0]);
    onPress();
  };
  const release = (button: TouchKey) => {
    held.release(button.codes[0]);
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
