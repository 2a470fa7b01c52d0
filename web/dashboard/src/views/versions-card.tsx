/** The versions that a run keeps, the newest first, each to be played at once. */

import type { VersionView } from "@attract/schema";
import { Box, Button, Table, Text, VisuallyHidden } from "@mantine/core";
import { Part } from "../components/part.tsx";
import { formatCount, formatNumber } from "../state/format.ts";

interface VersionsCardProps {
  /** Ascending. */
  versions: readonly VersionView[];
  /** The version that plays; null: the newest. */
  chosen: number | null;
  onChoose: (version: number | null) => void;
}

export function VersionsCard({ versions, chosen, onChoose }: VersionsCardProps) {
  return (
    // As high as the game beside it, by itself asking for no more.
    <Part title="Versions" display="flex" style={{ flexDirection: "column" }}>
      {versions.length === 0 ? (
        <Text c="dimmed">None is kept yet.</Text>
      ) : (
        <Box
          component="section"
          flex={{ base: "none", md: "1 1 0" }}
          mih={260}
          mah={{ base: 420, md: "none" }}
          style={{ overflow: "auto" }}
          tabIndex={0}
          aria-label="Kept versions"
        >
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Version</Table.Th>
                <Table.Th ta="right">Steps</Table.Th>
                <Table.Th ta="right">Return</Table.Th>
                <Table.Th ta="right">Evaluated</Table.Th>
                <Table.Th>
                  <VisuallyHidden>Play</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {versions.toReversed().map((version) => (
                <Row key={version.policy_version} version={version} chosen={chosen} onChoose={onChoose} />
              ))}
            </Table.Tbody>
          </Table>
        </Box>
      )}
    </Part>
  );
}

interface RowProps extends Omit<VersionsCardProps, "versions"> {
  version: VersionView;
}

function Row({ version, chosen, onChoose }: RowProps) {
  const { policy_version: number, newest, best, exported } = version;
  const isOn = newest ? chosen === null || chosen === number : chosen === number;
  const marks = [newest && "newest", best && "best", exported && "exported", isOn && "plays now"]
    .filter(Boolean)
    .join(", ");
  return (
    <Table.Tr data-version={number}>
      <Table.Th scope="row">
        <span className="mono">{number}</span> {marks !== "" && <span className="soft">{marks}</span>}
      </Table.Th>
      <Table.Td ta="right">{formatCount(version.agent_steps)}</Table.Td>
      <Table.Td ta="right">{formatNumber(version.return_mean)}</Table.Td>
      <Table.Td ta="right">{formatNumber(version.evaluations[0]?.return_mean)}</Table.Td>
      <Table.Td ta="right">
        <Button
          size="compact-xs"
          variant={isOn ? "filled" : "default"}
          aria-pressed={isOn}
          aria-label={`Play version ${number}`}
          onClick={() => onChoose(newest ? null : number)}
        >
          Play
        </Button>
      </Table.Td>
    </Table.Tr>
  );
}
