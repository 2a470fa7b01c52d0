/** The newest match of a run as a matrix: who wins how often against whom, each cell a link to such an episode. */

import type { EpisodeEntry, MatchPair, MatchReport } from "@attract/schema";
import { Anchor, Box, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { Part } from "../components/part.tsx";
import { episodeRoute, formatRoute } from "../routes.ts";
import { formatAge, plural } from "../state/format.ts";
import { intervalText, meantText, shareText } from "../state/ladder.ts";

interface MatchCardProps {
  runId: string;
  /** Episodes that the run keeps now. */
  entries: readonly EpisodeEntry[];
}

/** Nothing where none was played. */
export function MatchCard({ runId, entries }: MatchCardProps) {
  const { data: match, error } = useQuery({ queryKey: ["match", runId], queryFn: () => api.match(runId) });
  if (error !== null) return <ErrorNotice error={error} />;
  if (match === null || match === undefined) return null;
  const kept = new Set(entries.map(({ id }) => id));
  return (
    <Part
      title="Match"
      beside={
        <span className="soft">
          {plural(match.episodes, "episode")} a pair, {formatAge(match.played_at, Date.now())}
        </span>
      }
    >
      <Text c="dimmed">
        Share that the player of the row wins against that of the column, with its 95 % interval. Press it to
        see an episode.
      </Text>
      <Box component="section" style={{ overflowX: "auto" }} tabIndex={0} aria-label="Who wins against whom">
        <Table data-testid="match">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Wins against</Table.Th>
              <Table.Th ta="right">Rating</Table.Th>
              {match.players.map(({ player }) => (
                <Table.Th key={player} ta="right">
                  {player}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {match.players.map((row) => (
              <Table.Tr key={row.player}>
                <Table.Th scope="row">
                  {row.player} <span className="soft">{meantText(row)}</span>
                </Table.Th>
                <Table.Td ta="right" style={{ whiteSpace: "nowrap" }}>
                  {row.rating.toFixed(1)} <span className="soft">± {row.rating_std.toFixed(1)}</span>
                </Table.Td>
                {match.players.map(({ player }) => (
                  <Cell key={player} pair={pairOf(match, row.player, player)} runId={runId} kept={kept} />
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Box>
    </Part>
  );
}

function pairOf({ pairs }: MatchReport, player: string, opponent: string): MatchPair | undefined {
  return pairs.find((pair) => pair.player === player && pair.opponent === opponent);
}

interface CellProps {
  /** None: a player against itself. */
  pair: MatchPair | undefined;
  runId: string;
  kept: ReadonlySet<string>;
}

function Cell({ pair, runId, kept }: CellProps) {
  if (pair === undefined) return <Table.Td />;
  const { player, opponent, score, episode_id: episode } = pair;
  const text = shareText(score.mean);
  return (
    <Table.Td ta="right">
      {episode !== null && kept.has(episode) ? (
        <Anchor
          fz="inherit"
          href={formatRoute(episodeRoute(runId, episode))}
          aria-label={`${text}: an episode of ${player} against ${opponent}`}
        >
          {text}
        </Anchor>
      ) : (
        text
      )}{" "}
      <span className="soft" style={{ whiteSpace: "nowrap" }}>
        {intervalText(score)}
      </span>
    </Table.Td>
  );
}
