/** A recorded episode of a run at its address, alone or beside another: played, copied, kept, deleted. */

import type { EpisodeEntry, RunView } from "@attract/schema";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, buildOf, episodePath, serverUrl } from "../api/client.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { CopyText } from "../components/copy-text.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { Select } from "../components/select.tsx";
import { ServerButton, ServerLink } from "../components/server-button.tsx";
import { goTo } from "../hooks/use-route.ts";
import { formatRoute, type Route, runRoute } from "../routes.ts";
import { episodeFacts, episodeTitle, playersText } from "../state/episode-text.ts";
import { seatsOf } from "../state/seats.ts";
import { EpisodeTheatre, type Shown } from "./episode-theatre.tsx";

type EpisodeRoute = Extract<Route, { view: "episode" }>;

export function EpisodeView({ route }: { route: EpisodeRoute }) {
  const { runId, episodeId, beside } = route;
  const ids = beside === null ? [episodeId] : [episodeId, beside];
  const query = useQuery({ queryKey: ["played", runId, ...ids], queryFn: () => load(runId, ids) });
  const { data: value } = query;
  const entries = useQuery({ queryKey: ["episodes", runId], queryFn: () => api.episodes(runId) });
  const entry = entries.data?.find(({ id }) => id === episodeId) ?? null;
  return (
    <Page
      back={{ text: value?.run.title ?? runId, href: formatRoute(runRoute(runId)) }}
      title={entry === null ? "Recorded episode" : episodeTitle(entry)}
      lede={entry && episodeFacts(entry, Date.now())}
      query={query}
    >
      {value !== undefined && (
        <Played
          route={route}
          run={value.run}
          shown={value.shown}
          entries={entries.data ?? []}
          onChange={entries.refetch}
        />
      )}
    </Page>
  );
}

/** Rejects with ApiError, and where the server does not have the run's game. */
async function load(runId: string, ids: readonly string[]): Promise<{ run: RunView; shown: Shown[] }> {
  const run = await api.run(runId);
  const shown = ids.map(async (id) => {
    const [otherId, episodeId] = id.includes(":") ? id.split(":", 2) : [runId, id];
    const [{ title, game_reference: reference }, entries] = await Promise.all([
      otherId === runId ? run : api.run(otherId),
      api.episodes(otherId),
    ]);
    const entry = entries.find((known) => known.id === episodeId);
    const what = entry === undefined ? episodeId : episodeTitle(entry);
    const name = otherId === runId ? what : `${what} of ${title} ${otherId}`;
    if (reference === null) throw new Error("The server does not have the game of this run.");
    const episode = await api.episode(otherId, episodeId);
    return { episode, name, reference: await buildOf(reference, episode.game_sha256) };
  });
  return { run, shown: await Promise.all(shown) };
}

interface PlayedProps {
  route: EpisodeRoute;
  run: RunView;
  shown: readonly Shown[];
  entries: readonly EpisodeEntry[];
  onChange: () => void;
}

function Played({ route, run, shown, entries, onChange }: PlayedProps) {
  const { runId, episodeId, beside, at } = route;
  const [isAsked, setAsked] = useState(false);
  const star = useMutation({
    mutationFn: () => api.starEpisode(runId, episodeId, !isStarred),
    onSuccess: onChange,
  });
  const remove = useMutation({
    mutationFn: () => api.deleteEpisode(runId, episodeId),
    onSuccess: () => goTo(runRoute(runId, "play")),
  });
  const hasPolicy = run.newest_model !== null;
  const names = JSON.stringify(seatsOf(run));
  const advisers = useMemo(
    () => (hasPolicy ? { runId, seats: JSON.parse(names) as string[] } : null),
    [hasPolicy, runId, names],
  );
  const isStarred = entries.find(({ id }) => id === episodeId)?.starred ?? false;
  const others = entries.filter(({ id, problem }) => id !== episodeId && problem === null);
  const linkAt = (seconds: number) =>
    new URL(formatRoute({ ...route, at: Math.round(seconds * 1000) / 1000 }), location.href).href;
  return (
    <>
      <ErrorNotice error={star.error ?? remove.error} />
      <EpisodeTheatre
        shown={shown}
        at={at ?? 0}
        advisers={advisers}
        actions={(seconds) => (
          <>
            <CopyText text={linkAt(seconds)} name="link at this second" />
            <ServerLink
              size="xs"
              variant="default"
              href={serverUrl(episodePath(runId, episodeId)).href}
              download={`${episodeId}.json`}
            >
              Download
            </ServerLink>
            <ServerButton size="xs" variant="default" aria-pressed={isStarred} onClick={() => star.mutate()}>
              {isStarred ? "★ Starred" : "☆ Star"}
            </ServerButton>
            <ServerButton size="xs" variant="default" onClick={() => setAsked(true)}>
              Delete
            </ServerButton>
            <Select
              aria-label="Play another episode beside it"
              value={beside ?? ""}
              data={[
                { value: "", label: "Alone" },
                ...(beside?.includes(":")
                  ? [{ value: beside, label: `Beside: run ${beside.replace(":", ", ")}` }]
                  : []),
                ...others.map((other) => ({
                  value: other.id,
                  label: `Beside: ${episodeTitle(other)}. ${episodeFacts(other, Date.now())}`,
                })),
              ]}
              onChange={(value) => goTo({ ...route, beside: value === "" ? null : value })}
            />
          </>
        )}
      />
      <p className="soft">{aboutText(shown)}</p>
      <ConfirmDialog
        opened={isAsked}
        title="Delete the episode?"
        yes="Delete"
        no="Keep"
        onAnswer={(isYes) => {
          setAsked(false);
          if (isYes) remove.mutate();
        }}
      >
        Links to it will find nothing. This cannot be undone.
      </ConfirmDialog>
    </>
  );
}

/** Who played, by which build, and whether two began alike. */
function aboutText(shown: readonly Shown[]): string {
  const episodes = shown.map(({ episode }) => episode);
  const seeds = new Set(
    episodes.map(({ seed, instance, episode }) => JSON.stringify([seed, instance, episode])),
  );
  const isOther = shown.some(
    ({ episode: { game_sha256: played }, reference }) => played !== null && played !== reference.sha256,
  );
  return [
    `Played by ${episodes.map(playersText).join(" and by ")}.`,
    ...(episodes.length > 1
      ? [seeds.size === 1 ? "Both have the same seed." : "They have different seeds."]
      : []),
    ...(isOther ? ["It was recorded with a build of the game that is not kept."] : []),
  ].join(" ");
}
