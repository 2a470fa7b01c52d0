/** The recorded episodes that a run keeps: starred first, filtered by where they come from, each a link to its page. */

import type { EpisodeEntry } from "@attract/schema";
import { Anchor, Button, Group } from "@mantine/core";
import { useState } from "react";
import { Part } from "../components/part.tsx";
import { Select } from "../components/select.tsx";
import { episodeRoute, formatRoute } from "../routes.ts";
import {
  type EpisodeFilter,
  episodeFacts,
  episodesShown,
  episodeTitle,
  FILTERS,
} from "../state/episode-text.ts";
import { Rows } from "./run-rows.tsx";

const SHOWN = 8;

/** Nothing where none is kept. */
export function Episodes({ runId, entries }: { runId: string; entries: readonly EpisodeEntry[] }) {
  const [filter, setFilter] = useState<EpisodeFilter>("all");
  const [isLong, setLong] = useState(false);
  if (entries.length === 0) return null;
  const found = episodesShown(entries, filter);
  const now = Date.now();
  return (
    <Part
      isPlain
      title="Episodes"
      data-testid="recorded-episodes"
      beside={
        <Select
          aria-label="Which episodes"
          value={filter}
          data={Object.entries(FILTERS).map(([value, label]) => ({ value, label }))}
          onChange={(value) => setFilter(value as EpisodeFilter)}
        />
      }
    >
      {found.length === 0 && <p className="soft">None of this kind is kept.</p>}
      <Rows>
        {found.slice(0, isLong ? undefined : SHOWN).map((entry) => (
          <Group key={entry.id} component="li" gap="2px 16px" px={14} py={8}>
            <Anchor href={formatRoute(episodeRoute(runId, entry.id))}>
              {entry.starred && "★ "}
              {episodeTitle(entry)}
            </Anchor>
            <span className="soft">{episodeFacts(entry, now)}</span>
            {entry.error !== null && <span className="soft">{entry.error}</span>}
          </Group>
        ))}
      </Rows>
      <Group gap="8px 16px" mt={12}>
        {found.length > SHOWN && (
          <Button size="compact-sm" variant="subtle" onClick={() => setLong(!isLong)}>
            {isLong ? "Show fewer" : `Show all ${found.length}`}
          </Button>
        )}
        <Anchor href={formatRoute({ view: "file" })}>Open an episode from a file</Anchor>
      </Group>
    </Part>
  );
}
