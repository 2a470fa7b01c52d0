/** What was played by hand and kept: recorded while the switch is on, listed with its score, deleted one by one. */

import type { DemonstrationEntry, EpisodeEntry, GameReference, RecordedEpisode } from "@attract/schema";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { CopyText } from "../components/copy-text.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { demonstrationTitle } from "../state/demonstration-text.ts";

export interface Recorder {
  isOn: boolean;
  toggle: () => void;
  /** An episode has ended; it is kept while the switch is on. */
  keep: (played: RecordedEpisode) => void;
  entries: readonly DemonstrationEntry[];
  remove: (id: string) => void;
  error: unknown;
}

/**
 * Recorder of the game that is played on a run's page; `gameId` is empty until the game has been described. The run keeps each
 * episode with a star; as a demonstration it outlives the run.
 */
export function useRecorder(
  gameId: string,
  reference: GameReference,
  runId: string,
  onKept: (entry: EpisodeEntry) => void,
): Recorder {
  const [isOn, setOn] = useState(false);
  const found = useQuery({
    queryKey: ["demonstrations", gameId],
    queryFn: () => api.demonstrations(gameId),
    enabled: gameId !== "",
  });
  const onSuccess = () => found.refetch();
  const keepEpisode = useMutation({
    mutationFn: (episode: RecordedEpisode) => api.keepEpisode(runId, episode),
    onSuccess: onKept,
  });
  const keepDemonstration = useMutation({ mutationFn: api.keepDemonstration, onSuccess });
  const remove = useMutation({
    mutationFn: (id: string) => api.deleteDemonstration(gameId, id),
    onSuccess,
  });
  const keep = (played: RecordedEpisode) => {
    if (!isOn || gameId === "") return;
    const episode = { ...played, game_sha256: reference.sha256 };
    keepEpisode.mutate(episode);
    keepDemonstration.mutate(episode);
  };
  return {
    isOn,
    toggle: () => setOn((old) => !old),
    keep,
    entries: found.data ?? [],
    remove: remove.mutate,
    error: found.error ?? keepEpisode.error ?? keepDemonstration.error ?? remove.error,
  };
}

const SHOWN = 5;

/** Nothing, as long as nothing was recorded. */
export function Demonstrations({ recorder, game }: { recorder: Recorder; game: string }) {
  const [isLong, setLong] = useState(false);
  const [asked, setAsked] = useState<string | null>(null);
  const { isOn, entries, error } = recorder;
  if (!isOn && entries.length === 0 && error === null) return null;
  const now = Date.now();
  const shown = isLong ? entries : entries.slice(0, SHOWN);
  return (
    <Stack component="section" gap={8} px={4} pb={18} aria-label="Recorded episodes">
      <h2 className="label">Recorded episodes</h2>
      <ErrorNotice error={error} />
      {entries.length === 0 ? (
        <Text fz={13}>Every episode that you play to its end is kept from now on.</Text>
      ) : (
        <>
          <Stack component="ul" gap={0} className="rows">
            {shown.map((entry) => (
              <Group key={entry.id} component="li" gap="xs" justify="space-between" wrap="nowrap">
                <span>{demonstrationTitle(entry, now)}</span>
                <ServerButton
                  size="compact-xs"
                  variant={asked === entry.id ? "filled" : "subtle"}
                  color={asked === entry.id ? "red.8" : "dark.2"}
                  aria-label={`${asked === entry.id ? "Really delete" : "Delete"} ${demonstrationTitle(entry, now)}`}
                  onBlur={() => setAsked(null)}
                  onClick={() => {
                    if (asked === entry.id) recorder.remove(entry.id);
                    setAsked(asked === entry.id ? null : entry.id);
                  }}
                >
                  {asked === entry.id ? "Really delete?" : "Delete"}
                </ServerButton>
              </Group>
            ))}
          </Stack>
          {entries.length > SHOWN && (
            <Button size="compact-xs" variant="subtle" color="dark.2" onClick={() => setLong(!isLong)}>
              {isLong ? "Show the newest" : `Show all ${entries.length}`}
            </Button>
          )}
          <Text fz={13}>
            A policy learns from them by <code>attract imitate {game}</code>
          </Text>
          <CopyText text={`attract imitate ${game}`} name="the command" />
        </>
      )}
    </Stack>
  );
}
