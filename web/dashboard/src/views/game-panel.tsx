/** The game on its screen: a version of the policy plays, or you do. */

import type { EpisodeEntry, RunView } from "@attract/schema";
import { Button, Group } from "@mantine/core";
import { useMemo } from "react";
import { Over } from "../components/over.tsx";
import type { Stage } from "../routes.ts";
import { isOver } from "../state/run-state.ts";
import { seatsOf } from "../state/seats.ts";
import { HudLine } from "./hud.tsx";
import { Play } from "./play.tsx";
import { Watch } from "./watch.tsx";

interface GamePanelProps {
  run: RunView;
  /** The newest announced policy version; null before the first. */
  version: number | null;
  /** The version to watch; null: the newest. */
  chosen: number | null;
  /** Watches the newest from now on. */
  onNewest: () => void;
  /** Whether anyone plays for the run. */
  hasWorkers: boolean;
  stage: Stage;
  onStage: (stage: Stage) => void;
  /** The run keeps an episode that was played here. */
  onKept: (entry: EpisodeEntry) => void;
}

export function GamePanel(props: GamePanelProps) {
  const { run, version, chosen, onNewest, hasWorkers, stage, onStage, onKept } = props;
  // The settings are a new object with every event, the names are not.
  const names = JSON.stringify(seatsOf(run));
  const seats = useMemo<string[]>(() => JSON.parse(names), [names]);
  const drawn = JSON.stringify(run.parameters);
  const parameters = useMemo<RunView["parameters"]>(() => JSON.parse(drawn), [drawn]);
  const played = JSON.stringify(run.game_reference);
  const reference = useMemo<RunView["game_reference"]>(() => JSON.parse(played), [played]);

  return (
    <section className="cabinet" aria-label="The game">
      <Group justify="space-between" gap={12} mb={12}>
        <Button.Group>
          <StageButton stage="watch" current={stage} onStage={onStage} text="Watch the policy" />
          <StageButton stage="play" current={stage} onStage={onStage} text="Play yourself" />
        </Button.Group>
      </Group>
      {reference === null ? (
        <Empty text="Loading the game" />
      ) : stage === "watch" ? (
        <Watch
          key="watch"
          runId={run.run_id}
          reference={reference}
          seats={seats}
          version={version}
          chosen={chosen}
          onNewest={onNewest}
          parameters={parameters}
          waitingFor={isOver(run.state) ? "nothing" : hasWorkers ? "learner" : "workers"}
        />
      ) : (
        <Play
          key="play"
          runId={run.run_id}
          reference={reference}
          seats={seats}
          version={chosen ?? version}
          parameters={parameters}
          onKept={onKept}
        />
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

function Empty({ text }: { text: string }) {
  return (
    <>
      <div className="screen">
        <Over title={text} />
      </div>
      <HudLine />
    </>
  );
}
