/** The game on its screen: the newest policy plays, or you do. */

import type { RunView } from "@attract/schema";
import { Button } from "@mantine/core";
import type { GameDefinition } from "attract";
import { useEffect, useMemo, useState } from "react";
import { describeError } from "../api/client.ts";
import { loadGame } from "../game/load-game.ts";
import type { Stage } from "../routes.ts";
import { isOver } from "../state/run-state.ts";
import { seatsOf } from "../state/seats.ts";
import { Play } from "./play.tsx";
import { Watch } from "./watch.tsx";

interface CabinetProps {
  run: RunView;
  /** The newest announced policy version; null before the first. */
  version: number | null;
  /** Whether anyone plays for the run. */
  hasWorkers: boolean;
  stage: Stage;
  onStage: (stage: Stage) => void;
}

export function Cabinet({ run, version, hasWorkers, stage, onStage }: CabinetProps) {
  const [definition, setDefinition] = useState<GameDefinition | null>(null);
  const [error, setError] = useState<unknown>(null);
  const reference = run.game_reference;
  // The settings are a new object with every event, the names are not.
  const names = JSON.stringify(seatsOf(run));
  const seats = useMemo<string[]>(() => JSON.parse(names), [names]);
  const drawn = JSON.stringify(run.parameters);
  const parameters = useMemo<RunView["parameters"]>(() => JSON.parse(drawn), [drawn]);
  const sha256 = reference?.sha256;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the hash names the module; the object is new with every event
  useEffect(() => {
    if (reference === null) return;
    let isCurrent = true;
    setError(null);
    loadGame(reference).then(
      (loaded) => isCurrent && setDefinition(loaded),
      (problem: unknown) => isCurrent && setError(problem),
    );
    return () => {
      isCurrent = false;
    };
  }, [sha256]);

  return (
    <section className="cabinet" aria-label="The game">
      <div className="cabinet-tabs">
        <Button.Group>
          <StageButton stage="watch" current={stage} onStage={onStage} text="Watch the policy" />
          <StageButton stage="play" current={stage} onStage={onStage} text="Play yourself" />
        </Button.Group>
      </div>
      {definition === null || error !== null ? (
        <Empty
          text={error === null ? "Loading the game" : "The game cannot be shown"}
          detail={error === null ? null : describeError(error).text}
        />
      ) : stage === "watch" ? (
        <Watch
          key="watch"
          runId={run.run_id}
          definition={definition}
          seats={seats}
          version={version}
          parameters={parameters}
          waitingFor={isOver(run.state) ? "nothing" : hasWorkers ? "learner" : "workers"}
        />
      ) : (
        <Play key="play" definition={definition} parameters={parameters} />
      )}
    </section>
  );
}

function StageButton({
  stage,
  current,
  onStage,
  text,
}: {
  stage: Stage;
  current: Stage;
  onStage: (stage: Stage) => void;
  text: string;
}) {
  const isOn = stage === current;
  return (
    <Button
      size="xs"
      variant={isOn ? "filled" : "outline"}
      color={isOn ? "coin" : "dark.2"}
      aria-pressed={isOn}
      onClick={() => onStage(stage)}
    >
      {text}
    </Button>
  );
}

function Empty({ text, detail }: { text: string; detail: string | null }) {
  return (
    <>
      <div className="screen">
        <div className="over">
          <strong>{text}</strong>
          {detail !== null && <span className="small">{detail}</span>}
        </div>
      </div>
      <div className="hud" />
    </>
  );
}
