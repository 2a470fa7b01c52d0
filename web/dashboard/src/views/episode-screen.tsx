/** One recorded episode on its screen: the game plays it again, at the second that a clock says. */

import type { EpisodeDifference, GameDescription, GameReference, RecordedEpisode } from "@attract/schema";
import type { Decision } from "@attract/worker/stage/stage-messages";
import { Text } from "@mantine/core";
import { type RefObject, useEffect, useRef, useState } from "react";
import { Over } from "../components/over.tsx";
import { StageFault } from "../components/stage-fault.tsx";
import { Stage } from "../game/stage.ts";
import { WatchedPolicy } from "../game/watched-policy.ts";
import { useAnnounce } from "../hooks/use-announce.ts";
import { differenceText, endText, playersText } from "../state/episode-text.ts";
import { formatNumber } from "../state/format.ts";
import { Decisions } from "./decisions.tsx";
import { HudLine, Item, useScore } from "./hud.tsx";

/** No version plays yet. */
const NONE = -2;

/** The run whose policies say what they would choose. The same object as long as they are. */
export interface Advisers {
  runId: string;
  /** Id of the policy of each agent; empty: one plays them all. */
  seats: readonly string[];
}

interface EpisodeScreenProps {
  /** The same object as long as the game is. */
  reference: GameReference;
  /** The same object as long as it is played. */
  episode: RecordedEpisode;
  advisers: Advisers | null;
  /** Where its stage is, as long as there is one. */
  stage: RefObject<Stage | null>;
  /** Whether the clock is at the end. */
  isAtEnd: boolean;
  /** Its name beside another; null: it is alone. */
  name: string | null;
}

export function EpisodeScreen({ reference, episode, advisers, stage, isAtEnd, name }: EpisodeScreenProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const listener = useRef<((decision: Decision) => void) | null>(null);
  const [description, setDescription] = useState<GameDescription | null>(null);
  const [difference, setDifference] = useState<EpisodeDifference | null>(null);
  useAnnounce(difference === null ? null : differenceText(difference));
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  /** The version that says what it would choose. */
  const [adviser, setAdviser] = useState<number | null>(null);
  /** Continuous actions, which have no list of choices. */
  const [numbers, setNumbers] = useState<readonly number[]>([]);
  const { score } = useScore(stage);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `attempt` begins anew after a failure
  useEffect(() => {
    let isGone = false;
    setError(null);
    setDifference(null);
    setAdviser(null);
    const ask = async () => {
      if (advisers === null) return;
      const policy = new WatchedPolicy(advisers.runId, made, advisers.seats);
      const { policy_id: id, policy_version: played } = episode.seats[0];
      // In a match an id begins with the run.
      const isOthers =
        id?.includes(".") && !advisers.seats.includes(id) && !id.startsWith(`${advisers.runId}.`);
      const version = isOthers ? null : played;
      // A version of another run, or that is not kept any more: the newest says what it would do.
      if (version === null) await policy.play(null, NONE);
      else await policy.play(version, NONE).catch(() => policy.play(null, NONE));
      if (!isGone) setAdviser(policy.version);
    };
    let hasAsked = false;
    const made = new Stage({
      reference,
      canvas: canvas.current as HTMLCanvasElement,
      player: episode,
      onOpened: (opened) => setDescription(opened.description),
      onDecided: (decision) => {
        listener.current?.(decision);
        if (typeof decision.action !== "number") setNumbers(decision.action);
        // Once the first picture is there: the policy, and the engine that it may need, can be large.
        if (!hasAsked) ask().catch(() => undefined);
        hasAsked = true;
      },
      onDiffers: setDifference,
      onError: (problem) => {
        stage.current = null;
        if (!isGone) setError(problem);
      },
    });
    stage.current = made;
    return () => {
      isGone = true;
      stage.current = null;
      made.close();
    };
  }, [reference, episode, advisers, stage, attempt]);

  const isContinuous = description?.action.kind === "box" || description?.action.kind === "mixed";
  const beside = adviser === null ? "" : `; probabilities of version ${adviser}`;
  return (
    <div data-testid="episode" data-differs={difference !== null}>
      <div className="watched">
        <div className="screen">
          <canvas ref={canvas} role="img" aria-label={`The episode, played by ${playersText(episode)}`} />
          <StageFault
            title="The episode cannot be played"
            error={error}
            onRetry={() => setAttempt(attempt + 1)}
          />
          {error === null && description === null && <Over title="Loading the game" />}
          {isAtEnd && error === null && <span className="ended">{endText(episode)}</span>}
        </div>
        {description !== null && (
          <Decisions
            description={description}
            listener={listener}
            title={`Recorded choice${beside}`}
            name={`Decisions${name === null ? "" : ` of ${name}`}`}
          />
        )}
      </div>
      <HudLine>
        {name !== null && <Item name="Episode" value={name} />}
        <Item name="Return" value={formatNumber(score.score)} />
        <Item name="Step" value={`${score.steps} of ${episode.num_steps}`} />
        {isContinuous && <Item name="Action" value={numbers.map(formatNumber).join(", ")} />}
      </HudLine>
      {isAtEnd && episode.error !== null && <Note text={episode.error.text} />}
      {difference !== null && <Note text={differenceText(difference)} />}
    </div>
  );
}

function Note({ text }: { text: string }) {
  return (
    <Text mx={4} fz={14} c="var(--coin)" style={{ overflowWrap: "anywhere" }} data-testid="replay-note">
      {text}
    </Text>
  );
}
