/** Watch: the newest policy plays on the page, and takes over newer versions between episodes. */

import { Button } from "@mantine/core";
import { describe, type GameDefinition } from "attract";
import type { EndReason } from "attract/instance";
import { createPlayer, type Player } from "attract/page/play";
import { useEffect, useRef, useState } from "react";
import { ApiError, describeError } from "../api/client.ts";
import { NewestPolicy } from "../game/newest-policy.ts";
import { drawStill, screenOf } from "../game/screen.ts";
import { Hud, Item, useScore } from "./hud.tsx";

const SPEEDS = [1, 2, 4];
const RETRY_MS = 1500;
/** How long the last picture of an episode stays. */
const REST_MS = 900;

interface WatchProps {
  runId: string;
  definition: GameDefinition;
  /** Id of the policy that plays each agent; empty: one plays them all. The same array as long as the run is. */
  seats: readonly string[];
  /** The newest announced version; null before the first. */
  version: number | null;
}

export function Watch({ runId, definition, seats, version }: WatchProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const player = useRef<Player | null>(null);
  const newest = useRef(version);
  newest.current = version;
  const hasPolicy = version !== null;
  const [shown, setShown] = useState(-1);
  const [end, setEnd] = useState<EndReason | null>(null);
  const [speed, setSpeed] = useState(1);
  const [error, setError] = useState<unknown>(null);
  const { score, end: endScore } = useScore(player, definition);

  useEffect(() => {
    let isGone = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const element = canvas.current as HTMLCanvasElement;
    const actor = new NewestPolicy(runId, describe(definition) as never, seats);
    const renew = async () => {
      await actor.use(newest.current ?? 0);
      if (!isGone) setShown(actor.version);
    };
    const goOn = async () => {
      // A version that cannot be had (the server is away) is no reason to stop: the one at hand plays on.
      await renew().catch(() => undefined);
      if (isGone) return;
      setEnd(null);
      made.start();
    };
    const made = createPlayer({
      definition,
      canvas: screenOf(element),
      controller: { choose: (instance, begins) => actor.act(instance, begins) },
      seed: Math.floor(Math.random() * 2 ** 32),
      onEpisodeEnd: (instance) => {
        made.stop();
        drawStill(element, instance);
        setEnd(instance.endReason);
        endScore(instance.episodeReturns[0]);
        timer = setTimeout(goOn, REST_MS);
      },
      onError: (problem) => isGone || setError(problem),
    });
    player.current = made;
    drawStill(element, made.instance);
    const begin = () => {
      renew().then(
        () => isGone || made.start(),
        (problem: unknown) => {
          if (isGone) return;
          const isAway = problem instanceof ApiError && problem.status === 0;
          if (isAway) timer = setTimeout(begin, RETRY_MS);
          else setError(problem);
        },
      );
    };
    if (hasPolicy) begin();
    return () => {
      isGone = true;
      clearTimeout(timer);
      made.stop();
      void actor.close();
    };
  }, [runId, definition, seats, endScore, hasPolicy]);

  const changeSpeed = () => {
    const next = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
    setSpeed(next);
    if (player.current !== null) player.current.speed = next;
  };

  return (
    <>
      <div className="screen" data-testid="watch" data-version={shown}>
        <canvas ref={canvas} aria-label="The game, played by the newest policy" role="img" />
        {error !== null && (
          <div className="over" role="alert">
            <strong>No picture</strong>
            <span className="small">{describeError(error).text}</span>
          </div>
        )}
        {error === null && shown < 0 && (
          <div className="over">
            <strong>Waiting for a policy</strong>
            <span className="small">The first one comes as soon as a worker has joined.</span>
          </div>
        )}
        {end !== null && <span className="ended">{REASONS[end]}</span>}
      </div>
      <Hud score={score}>
        <Item name="Version" value={shown < 0 ? "–" : String(shown)} />
        <Button
          className="push"
          size="compact-sm"
          variant="outline"
          color="dark.2"
          onClick={changeSpeed}
          aria-label={`Speed ${speed} times`}
        >
          {speed}×
        </Button>
      </Hud>
    </>
  );
}

const REASONS: Readonly<Record<EndReason, string>> = {
  terminated: "Game over",
  time_limit: "Time is up",
  game_truncated: "Ended",
};
