/** Watch: a policy plays on the page: a chosen version, or the newest, which takes over between episodes. */

import type { GameDescription, GameReference, RunView } from "@attract/schema";
import type { PointerPlaces } from "@attract/worker/stage/pointer-keys";
import type { Decision } from "@attract/worker/stage/stage-messages";
import { Group } from "@mantine/core";
import type { EndReason } from "attract/instance";
import { useEffect, useMemo, useRef, useState } from "react";
import { ApiError, isNoAnswer } from "../api/client.ts";
import { Over } from "../components/over.tsx";
import { StageFault } from "../components/stage-fault.tsx";
import { touchKeys } from "../game/actions.ts";
import { Stage } from "../game/stage.ts";
import { WatchedPolicy } from "../game/watched-policy.ts";
import { useHands } from "../hooks/use-hands.ts";
import { REASONS } from "../state/episode-text.ts";
import { Decisions } from "./decisions.tsx";
import { Hud, HudButton, HudLine, Item, SpeedSelect, useScore } from "./hud.tsx";
import { TouchKeys } from "./play.tsx";

const RETRY_MS = 1500;
/** How long the last picture of an episode stays. */
const REST_MS = 900;
/** Keys that move within the page, and do nothing in a game. */
const NO_PRESS = /^(Tab|Escape|F\d+|(Shift|Control|Alt|Meta|Caps)\w*)$/;

interface WatchProps {
  runId: string;
  /** The same object as long as the game is. */
  reference: GameReference;
  /** Id of the policy that plays each agent; empty: one plays them all. The same array as long as the run is. */
  seats: readonly string[];
  /** The newest version that can be had; null: none. */
  version: number | null;
  /** The version to play, which begins an episode at once; null: the newest. */
  chosen: number | null;
  /** Play the newest from now on. */
  onNewest: () => void;
  /** How each episode's parameters are drawn; a change counts from the next episode on. */
  parameters: RunView["parameters"];
  /** What must come before there is a version; nothing: none will. */
  waitingFor: "workers" | "learner" | "nothing";
}

export function Watch(props: WatchProps) {
  const { runId, reference, seats, version, chosen, onNewest, parameters, waitingFor } = props;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const listener = useRef<((decision: Decision) => void) | null>(null);
  const [description, setDescription] = useState<GameDescription | null>(null);
  const [pointers, setPointers] = useState<PointerPlaces | null>(null);
  /** A person has taken over from the policy. */
  const [isByHand, setByHand] = useState(false);
  const stage = useRef<Stage | null>(null);
  const newest = useRef(version);
  newest.current = version;
  const wanted = useRef(chosen);
  wanted.current = chosen;
  const exchange = useRef<() => void>(() => undefined);
  const drawn = useRef(parameters);
  drawn.current = parameters;
  const hasPolicy = version !== null;
  const [shown, setShown] = useState(-1);
  const [end, setEnd] = useState<EndReason | null>(null);
  const [speed, setSpeed] = useState(1);
  const speedNow = useRef(speed);
  speedNow.current = speed;
  const [isPaused, setPaused] = useState(() => matchMedia("(prefers-reduced-motion: reduce)").matches);
  const pausedNow = useRef(isPaused);
  pausedNow.current = isPaused;
  const resume = useRef<() => void>(() => undefined);
  const [attempt, setAttempt] = useState(0);
  /** How the parameters of the episode on the screen were drawn. */
  const [drawnBy, setDrawnBy] = useState(parameters);
  const [error, setError] = useState<unknown>(null);
  const { score, end: endScore } = useScore(stage);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `attempt` begins anew after a failure
  useEffect(() => {
    let isGone = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const element = canvas.current as HTMLCanvasElement;
    const made = new Stage({
      reference,
      canvas: element,
      player: "policy",
      parameters: drawn.current,
      onOpened: (opened) => {
        setDescription(opened.description);
        setPointers(opened.pointers);
      },
      onDecided: (decision) => listener.current?.(decision),
      onEpisodeEnd: ({ reason, episodeReturn }) => {
        setEnd(reason);
        endScore(episodeReturn);
        resume.current = () => undefined;
        timer = setTimeout(goOn, REST_MS);
      },
      onError: (problem) => isGone || setError(problem),
    });
    const actor = new WatchedPolicy(runId, made, seats);
    const renew = async () => {
      const by = drawn.current;
      const isNew = newest.current !== null && (await actor.play(wanted.current, newest.current));
      if (isGone) return false;
      setShown(actor.version);
      setDrawnBy(by);
      return isNew;
    };
    const goOn = async () => {
      // A version that cannot be had (the server is away) is no reason to stop: the one at hand plays on.
      const problem = await renew().then(
        () => null,
        (error: unknown) => (wanted.current === null || isNoAnswer(error) ? null : error),
      );
      if (isGone) return;
      setEnd(null);
      setError(problem);
      if (pausedNow.current) resume.current = () => made.start();
      else made.start();
    };
    made.send({ type: "speed", speed: speedNow.current });
    stage.current = made;
    const begin = () => {
      const isFirst = actor.version < 0;
      renew().then(
        (isNew) => {
          if (isGone || !isNew) return;
          // Also in the pause after an episode.
          clearTimeout(timer);
          setEnd(null);
          setError(null);
          if (!isFirst) made.send({ type: "again" });
          resume.current = () => made.start();
          if (!pausedNow.current) made.start();
        },
        (problem: unknown) => {
          if (isGone) return;
          const isAway = problem instanceof ApiError && problem.status === 0;
          if (isAway) timer = setTimeout(begin, RETRY_MS);
          else setError(problem);
        },
      );
    };
    setError(null);
    setEnd(null);
    setByHand(false);
    setShown(-1);
    if (hasPolicy) {
      begin();
      exchange.current = begin;
    }
    return () => {
      isGone = true;
      exchange.current = () => undefined;
      clearTimeout(timer);
      made.close();
      resume.current = () => undefined;
    };
  }, [runId, reference, seats, endScore, hasPolicy, attempt]);

  const begun = useRef(chosen);
  useEffect(() => {
    if (begun.current !== chosen) exchange.current();
    begun.current = chosen;
  }, [chosen]);

  useEffect(() => stage.current?.send({ type: "parameters", parameters }), [parameters]);

  const isOld = shown >= 0 && version !== null && (version > shown || drawnBy !== parameters);
  const changeSpeed = (next: number) => {
    setSpeed(next);
    stage.current?.send({ type: "speed", speed: next });
  };
  const changePaused = () => {
    if (isPaused) resume.current();
    else {
      stage.current?.stop();
      const stopped = stage.current;
      resume.current = () => stopped?.start();
    }
    setPaused(!isPaused);
  };

  const takeOver = (takesOver: boolean) => {
    if (takesOver === isByHand || shown < 0) return;
    stage.current?.send({ type: "hands", arePlaying: takesOver });
    setByHand(takesOver);
    if (takesOver) frame.current?.focus({ preventScroll: true });
  };
  const handlers = useHands({
    frame,
    stage,
    keys: description?.keys ?? {},
    pointers,
    isPlaying: isByHand,
    isPress: (code) => !NO_PRESS.test(code),
    onPress: () => takeOver(true),
  });
  const isEmpty = !hasPolicy && waitingFor === "nothing";
  const buttons = useMemo(() => (description === null ? [] : touchKeys(description)), [description]);

  return (
    <>
      <div className="watched">
        <div
          className="screen"
          ref={frame}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the screen takes the keys of the person who takes over
          tabIndex={0}
          role="application"
          aria-label="The game; any key or press takes over from the policy"
          data-testid="watch"
          data-version={shown}
          data-controls={isByHand ? "hand" : "policy"}
          data-pointers={isByHand && pointers !== null}
          {...handlers}
        >
          <canvas
            ref={canvas}
            aria-label={`The game, played by ${isByHand ? "you" : chosen === null ? "the newest policy" : `version ${shown}`}`}
            role="img"
          />
          <StageFault
            title="The game cannot be shown"
            error={error}
            onRetry={() => setAttempt(attempt + 1)}
          />
          {error === null && shown < 0 && <Before hasPolicy={hasPolicy} waitingFor={waitingFor} />}
          {end !== null && <span className="ended">{REASONS[end]}</span>}
        </div>
        {description !== null && !isEmpty && (
          <Decisions
            description={description}
            listener={listener}
            title={isByHand ? "You decide" : "The policy decides"}
          />
        )}
      </div>
      {isEmpty ? (
        <HudLine />
      ) : (
        <Hud score={score}>
          <Item name="Version" value={shown < 0 ? "–" : String(shown)} />
          <Group component="span" gap={8} ml="auto">
            {isByHand && (
              <HudButton
                text="Hand back"
                label="Hand back the controls to the policy"
                onClick={() => takeOver(false)}
              />
            )}
            <HudButton
              text={isPaused ? "Go on" : "Pause the game"}
              label={isPaused ? "Go on with the game" : "Pause the game"}
              onClick={changePaused}
            />
            {waitingFor !== "nothing" && (
              <HudButton
                text="Skip to the newest"
                label="Skip to the newest version and lesson"
                isDisabled={!isOld}
                onClick={() => (chosen === null ? setAttempt(attempt + 1) : onNewest())}
              />
            )}
            <SpeedSelect speed={speed} onSpeed={changeSpeed} />
          </Group>
        </Hud>
      )}
      {isByHand && <TouchKeys buttons={buttons} stage={stage} onPress={() => undefined} />}
    </>
  );
}

/** What stands on the screen while no policy plays. */
function Before({ hasPolicy, waitingFor }: { hasPolicy: boolean; waitingFor: WatchProps["waitingFor"] }) {
  const [title, text] = hasPolicy
    ? ["Loading the policy", "It runs in this browser, as it will in your game."]
    : BEFORE[waitingFor];
  return <Over title={title} text={text} />;
}

const BEFORE: Readonly<Record<WatchProps["waitingFor"], readonly [title: string, text: string]>> = {
  workers: ["Waiting for workers", "The first policy comes as soon as one plays."],
  learner: ["Waiting for a policy", "The learner is getting ready."],
  nothing: ["No policy", "The run ended before its first version was ready."],
};
