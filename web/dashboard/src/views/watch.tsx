/** Watch: the newest policy plays on the page, and takes over newer versions between episodes. */

import { Button } from "@mantine/core";
import { describe, type GameDefinition } from "attract";
import { useEffect, useRef, useState } from "react";
import { ApiError, describeError } from "../api/client.ts";
import { PolicyActor } from "../game/policy-actor.ts";
import { type EpisodeEnd, StageLoop } from "../game/stage-loop.ts";
import { Hud, Item, useScore } from "./hud.tsx";

const SPEEDS = [1, 2, 4];
const RETRY_MS = 1500;

interface WatchProps {
  runId: string;
  definition: GameDefinition;
  version: number;
}

export function Watch({ runId, definition, version }: WatchProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<StageLoop | null>(null);
  const newest = useRef(version);
  newest.current = version;
  const [shown, setShown] = useState(-1);
  const [end, setEnd] = useState<EpisodeEnd | null>(null);
  const [speed, setSpeed] = useState(1);
  const [error, setError] = useState<unknown>(null);
  const { score, progress, end: endScore } = useScore();

  useEffect(() => {
    let isGone = false;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const actor = new PolicyActor(runId, describe(definition) as never);
    const renew = async () => {
      await actor.use(newest.current);
      if (!isGone) setShown(actor.version);
    };
    const loop = new StageLoop({
      definition,
      canvas: canvas.current as HTMLCanvasElement,
      seed: Math.floor(Math.random() * 2 ** 32),
      choose: (instance) => actor.act(instance),
      onProgress: (instance) => {
        setEnd(null);
        progress(instance);
      },
      onEpisodeEnd: async (result) => {
        setEnd(result);
        endScore(result.episodeReturn);
        // A version that cannot be had (the server is away) is no reason to stop: the one at hand plays on.
        await renew().catch(() => undefined);
      },
      onError: (problem) => isGone || setError(problem),
    });
    stage.current = loop;
    loop.draw();
    const begin = () => {
      renew().then(
        () => isGone || loop.start(),
        (problem: unknown) => {
          if (isGone) return;
          const isEarly = problem instanceof ApiError && (problem.status === 404 || problem.status === 0);
          if (isEarly) retry = setTimeout(begin, RETRY_MS);
          else setError(problem);
        },
      );
    };
    begin();
    return () => {
      isGone = true;
      clearTimeout(retry);
      loop.stop();
      void actor.close();
    };
  }, [runId, definition, progress, endScore]);

  const changeSpeed = () => {
    const next = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
    setSpeed(next);
    if (stage.current !== null) stage.current.speed = next;
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
        {end !== null && <span className="ended">{REASONS[end.reason]}</span>}
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

const REASONS: Readonly<Record<EpisodeEnd["reason"], string>> = {
  terminated: "Game over",
  time_limit: "Time is up",
  game_truncated: "Ended",
};
