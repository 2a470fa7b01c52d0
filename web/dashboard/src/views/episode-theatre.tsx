/** One recorded episode, or two side by side, under one clock: scrub bar, speed, steps. */

import type { GameReference, RecordedEpisode } from "@attract/schema";
import { Box, Group, SimpleGrid, Text } from "@mantine/core";
import { type ReactNode, useMemo, useRef, useState } from "react";
import type { Stage } from "../game/stage.ts";
import type { Transport } from "../game/transport.ts";
import { canRecord, recordWebm } from "../game/webm.ts";
import { useTransport } from "../hooks/use-transport.ts";
import { secondsText } from "../state/episode-text.ts";
import { type Advisers, EpisodeScreen } from "./episode-screen.tsx";
import { HudButton, HudLine, SpeedSelect } from "./hud.tsx";

/** More ticks than this on the scrub bar would run together. */
const MAX_TICKS = 120;

/** An episode, and the game that it is played in. */
export interface Shown {
  episode: RecordedEpisode;
  reference: GameReference;
  /** Distinguishes it from another one beside it, such as "Best evaluation, version 100". */
  name?: string;
}

interface EpisodeTheatreProps {
  /** One or two; the same array as long as they are. */
  shown: readonly Shown[];
  /** Where it begins. @see Transport */
  at: number;
  advisers: Advisers | null;
  /** What can be done with the episode, at this second. */
  actions: (seconds: number) => ReactNode;
}

export function EpisodeTheatre({ shown, at, advisers, actions }: EpisodeTheatreProps) {
  const [first, second] = [useRef<Stage | null>(null), useRef<Stage | null>(null)];
  const stages = useMemo(() => [first, second], [first, second]);
  const screens = useRef<HTMLDivElement>(null);
  const length = Math.max(...shown.map(({ episode }) => secondsOf(episode)));
  const [{ episode: leading, reference: leadingGame }] = shown;
  const stepSeconds = leading.seconds_per_step;
  const { transport, steer } = useTransport({ length, stepSeconds, at, stages });
  const [saveVideo, setSaveVideo] = useState<(() => void) | null>(null);
  if (saveVideo !== null && !transport.isPlaying) {
    saveVideo();
    setSaveVideo(null);
  }
  const record = () => {
    const canvas = screens.current?.querySelector("canvas") as HTMLCanvasElement;
    const save = recordWebm(canvas, `${leading.id || leading.game_id}.webm`);
    setSaveVideo(() => save);
    steer((clock) => clock.isPlaying || clock.toggle());
  };
  return (
    <>
      <section className="cabinet theatre" aria-label="The episode">
        <SimpleGrid ref={screens} cols={{ base: 1, sm: shown.length }} spacing={14}>
          {shown.map(({ episode, reference, name }, index) => (
            <EpisodeScreen
              // biome-ignore lint/suspicious/noArrayIndexKey: the same episode may play on both
              key={index}
              reference={reference}
              episode={episode}
              advisers={advisers}
              stage={stages[index]}
              name={shown.length === 1 ? null : `${index + 1}: ${name ?? "episode"}`}
              isAtEnd={transport.seconds >= secondsOf(episode)}
            />
          ))}
        </SimpleGrid>
        <ScrubBar transport={transport} steer={steer} />
        <HudLine>
          <HudButton
            text={transport.isPlaying ? "Pause" : "Play"}
            label={transport.isPlaying ? "Pause (space)" : "Play (space)"}
            onClick={() => steer((clock) => clock.toggle())}
          />
          <HudButton
            text="Step back"
            label="Step back (comma)"
            onClick={() => steer((clock) => clock.stepBy(-1))}
          />
          <HudButton
            text="Step on"
            label="Step on (period)"
            onClick={() => steer((clock) => clock.stepBy(1))}
          />
          <span className="label">
            Time
            <b data-testid="episode-time">
              {secondsText(transport.seconds)} of {secondsText(length)}
            </b>
          </span>
          <Group component="span" gap={8} ml="auto">
            {!leadingGame.has_page && canRecord() && (
              <HudButton
                text={saveVideo === null ? "Record WebM" : "Save the video"}
                label={saveVideo === null ? "Record WebM from here" : "Save the video now"}
                onClick={() => (saveVideo === null ? record() : steer((clock) => clock.toggle()))}
              />
            )}
            <SpeedSelect
              speed={transport.speed}
              onSpeed={(speed) =>
                steer((clock) => {
                  clock.speed = speed;
                })
              }
            />
          </Group>
        </HudLine>
        <Text mx={4} mt={4} fz={13} c="dimmed">
          Keys: <kbd>space</kbd> play, <kbd>←</kbd> <kbd>→</kbd> a second, <kbd>,</kbd> <kbd>.</kbd> a step,{" "}
          <kbd>Home</kbd> <kbd>End</kbd>
        </Text>
      </section>
      <Group gap={8} my={12}>
        {actions(transport.seconds)}
      </Group>
    </>
  );
}

function secondsOf({ num_steps: steps, seconds_per_step: each }: RecordedEpisode): number {
  return steps * each;
}

interface ScrubBarProps {
  transport: Transport;
  steer: (change: (transport: Transport) => void) => void;
}

/** Its ticks are the ends of steps or, where these would run together, seconds, of which a mark is taken each. */
function ScrubBar({ transport, steer }: ScrubBarProps) {
  const { length, stepSeconds, seconds, step } = transport;
  const apart = [stepSeconds, 1, 10, 60, 600].find((each) => length / each <= MAX_TICKS) ?? length;
  const share = length > 0 ? (100 * apart) / length : 100;
  return (
    <Box mt={12}>
      <input
        className="scrub"
        type="range"
        aria-label="Position in the episode"
        aria-valuetext={`${secondsText(seconds)} of ${secondsText(length)}, step ${step}`}
        min={0}
        max={length}
        step="any"
        value={seconds}
        onChange={({ currentTarget }) => steer((clock) => clock.seek(Number(currentTarget.value)))}
      />
      <div className="scrub-ticks" aria-hidden="true" style={{ backgroundSize: `${share}% 100%` }} />
    </Box>
  );
}
