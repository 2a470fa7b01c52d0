/** A game as large as a run's, played by one policy, or at random where there is none. */

import type { GameReference } from "@attract/schema";
import { Group } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { StageFault } from "../components/stage-fault.tsx";
import { type Opened, Stage } from "../game/stage.ts";
import { Hud, HudButton, useScore } from "./hud.tsx";

/** How long the last picture of an episode stays. */
const REST_MS = 900;

interface AgentScreenProps {
  reference: GameReference;
  /** Fetches the model that plays, the same function at each call; null: chance plays. */
  policy: (() => Promise<Uint8Array>) | null;
  /** Who plays: "the trained agent". */
  player: string;
  /** The same function at each call. */
  onOpened: (opened: Opened) => void;
}

export function AgentScreen({ reference, policy, player, onOpened }: AgentScreenProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const [isReady, setReady] = useState(false);
  const [isPaused, setPaused] = useState(() => matchMedia("(prefers-reduced-motion: reduce)").matches);
  const pausedNow = useRef(isPaused);
  pausedNow.current = isPaused;
  const { score, end } = useScore(stage);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `attempt` begins anew after a failure
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    const fail = (problem: unknown) => isGone || setError(problem);
    const goOn = () => isGone || pausedNow.current || made.start();
    const made = new Stage({
      reference,
      canvas: canvas.current as HTMLCanvasElement,
      player: policy === null ? "chance" : "policy",
      onOpened,
      onEpisodeEnd: ({ episodeReturn }) => {
        end(episodeReturn);
        timer = setTimeout(goOn, REST_MS);
      },
      onError: fail,
    });
    stage.current = made;
    setError(null);
    const prepare = async () => {
      if (policy !== null) await made.setPolicy(0, [await policy()], [0]);
      if (isGone) return;
      setReady(true);
      goOn();
    };
    prepare().catch(fail);
    return () => {
      isGone = true;
      clearTimeout(timer);
      made.close();
    };
  }, [reference, policy, onOpened, end, attempt]);

  const changePaused = () => {
    if (isPaused) stage.current?.start();
    else stage.current?.stop();
    setPaused(!isPaused);
  };
  return (
    <section className="cabinet" aria-label="The game" data-testid="agent" data-ready={isReady}>
      <div className="screen">
        <canvas ref={canvas} role="img" aria-label={`The game, played by ${player}`} />
        <StageFault title="The game cannot be shown" error={error} onRetry={() => setAttempt(attempt + 1)} />
      </div>
      <Hud score={score}>
        <span className="label">
          Played by<b>{player}</b>
        </span>
        <Group component="span" gap={8} ml="auto">
          <HudButton
            text={isPaused ? "Go on" : "Pause the game"}
            label={isPaused ? "Go on with the game" : "Pause the game"}
            onClick={changePaused}
          />
        </Group>
      </Hud>
    </section>
  );
}
