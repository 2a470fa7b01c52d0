/** A recorded episode from a file of one's own, played in a game that this server has. */

import type { RunView } from "@attract/schema";
import { Button, FileButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { ApiError, api, buildOf } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { readEpisodeFile } from "../state/episode-file.ts";
import { gameOf, playersText } from "../state/episode-text.ts";
import { EpisodeTheatre, type Shown } from "./episode-theatre.tsx";

interface Opened extends Shown {
  name: string;
}

async function open(file: File): Promise<Opened> {
  const episode = await readEpisodeFile(file);
  const { run_id: runId, game_id: gameId } = episode;
  const [games, run] = await Promise.all([api.games(), runId === null ? null : runHere(runId)]);
  const reference = gameOf(episode, run, games);
  if (reference === null)
    throw new Error(`${file.name} is an episode of ${gameId}, and this server has no such game.`);
  return { name: file.name, episode, reference: await buildOf(reference, episode.game_sha256) };
}

/** The run of that id; null where this server has none. */
async function runHere(runId: string): Promise<RunView | null> {
  try {
    return await api.run(runId);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** @param dropped the newest file that was dropped anywhere on the page; null: none. */
export function FileView({ dropped }: { dropped: File | null }) {
  const [file, setFile] = useState(dropped);
  useEffect(() => setFile(dropped), [dropped]);
  const { data: opened, error } = useQuery({
    queryKey: ["file", file?.name, file?.size, file?.lastModified],
    queryFn: () => open(file as File),
    enabled: file !== null,
    gcTime: 0,
  });
  const shown = useMemo(() => (opened === undefined ? [] : [opened]), [opened]);
  return (
    <Page
      title="Episode from a file"
      lede="Drop a recorded episode anywhere on this page, or choose its file."
    >
      <FileButton accept="application/json,.json" onChange={setFile}>
        {(props) => (
          <Button {...props} variant={opened === undefined ? "filled" : "default"}>
            Choose a file
          </Button>
        )}
      </FileButton>
      <ErrorNotice error={error} />
      {opened !== undefined && (
        <>
          <EpisodeTheatre shown={shown} at={0} advisers={null} actions={() => null} />
          <p className="soft">
            {opened.name}: an episode of {opened.episode.game_id}, played by {playersText(opened.episode)}.
          </p>
        </>
      )}
    </Page>
  );
}
