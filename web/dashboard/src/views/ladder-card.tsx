/** Who plays in the training of a run with opponents: the policy, its past versions, scripts, random play; the strongest first. */

import type { LadderRow, RunView } from "@attract/schema";
import { Anchor, Box, Table } from "@mantine/core";
import { Help } from "../components/help.tsx";
import { Part } from "../components/part.tsx";
import { intervalText, playerText, shareText } from "../state/ladder.ts";

export function LadderCard({ run, chartsHref }: { run: RunView; chartsHref: string }) {
  if (run.ladder.length === 0) return null;
  return (
    <Part title="Opponents" beside={<Anchor href={chartsHref}>Rating over the run</Anchor>}>
      <Box
        component="section"
        mah={480}
        style={{ overflow: "auto" }}
        tabIndex={0}
        aria-label="Players by rating"
      >
        <Table data-testid="ladder">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Player</Table.Th>
              <Table.Th ta="right">
                Rating{" "}
                <Help
                  about="Rating"
                  text="Skill by results, with its uncertainty: 25 at the start. 13 more than another wins about nine of ten."
                />
              </Table.Th>
              <Table.Th ta="right">
                Won against it{" "}
                <Help
                  about="Won against it"
                  text="Share of the last 100 whole episodes against this player that the policy won, with its 95 % interval. A draw counts half. The policy was younger in the older ones."
                />
              </Table.Th>
              <Table.Th ta="right" visibleFrom="xs">
                Episodes
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {run.ladder.map((row) => (
              <Row key={`${row.player} ${row.policy_version}`} row={row} newest={run.policy_version} />
            ))}
          </Table.Tbody>
        </Table>
      </Box>
    </Part>
  );
}

function Row({ row, newest }: { row: LadderRow; newest: number }) {
  const { win_rate: won } = row;
  const isNewest = row.player === "newest";
  return (
    <Table.Tr data-player={row.policy_version ?? row.player} fw={isNewest ? 600 : undefined}>
      <Table.Th scope="row" fw="inherit" style={{ overflowWrap: "anywhere" }}>
        {playerText(row, newest)}
      </Table.Th>
      <Table.Td ta="right" style={{ whiteSpace: "nowrap" }}>
        {row.rating.toFixed(1)} <span className="soft">± {row.rating_std.toFixed(1)}</span>
      </Table.Td>
      <Table.Td ta="right">
        {won === null ? <span className="soft">not met yet</span> : shareText(won.mean)}{" "}
        {won !== null && (
          <span className="soft" style={{ whiteSpace: "nowrap" }}>
            {isNewest ? "against all" : intervalText(won)}
          </span>
        )}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="xs">
        {row.episodes}
      </Table.Td>
    </Table.Tr>
  );
}
