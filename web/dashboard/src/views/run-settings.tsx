/** Every setting of a run: what differs from the game's own, or from another run's, first; the rest folded. */

import type { RunRow, RunView } from "@attract/schema";
import { Loader, Paper, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api } from "../api/client.ts";
import { CopyText } from "../components/copy-text.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Part } from "../components/part.tsx";
import { Select } from "../components/select.tsx";
import { formatAge, formatNumber, plural } from "../state/format.ts";
import { rowsFound, type SettingRow, type Side, settingRows } from "../state/settings-difference.ts";
import { changesFrom, fieldsOf, settingsFromForm, yamlOf } from "../state/settings-form.ts";

const OWN = "";

export function RunSettings({ run }: { run: RunView }) {
  const form = useQuery({ queryKey: ["settings form"], queryFn: api.settingsForm, staleTime: Infinity });
  const others = useQuery({ queryKey: ["others", run.run_id], queryFn: () => othersOf(run) });
  const [otherId, setOther] = useState(OWN);
  const [search, setSearch] = useState("");
  const own = useQuery({ queryKey: ["own settings", run.game], queryFn: () => ownOf(run) });
  const mine = useQuery({ queryKey: ["settings", run.run_id], queryFn: () => sideOf(run) });
  const other = useQuery({
    queryKey: ["settings", otherId],
    queryFn: async () => sideOf(await api.run(otherId)),
    enabled: otherId !== OWN,
  });
  const fields = useMemo(() => (form.data === undefined ? [] : fieldsOf(form.data).all), [form.data]);
  if (form.error !== null) return <ErrorNotice error={form.error} onRetry={form.refetch} />;
  if (form.data === undefined) return <Loader aria-label="Loading the settings" />;

  const compared = otherId === OWN ? own : other;
  const name = otherId === OWN ? "the game's own" : otherId;
  const rows = settingRows(
    fields,
    mine.data ?? { settings: run.settings, view: null },
    compared.data ?? null,
  );
  const [different, equal] = [rowsFound(rows.different, search), rowsFound(rows.equal, search)];
  const changes =
    own.data === undefined
      ? run.settings
      : settingsFromForm(fields, changesFrom(fields, own.data.settings, run.settings));
  const yaml = yamlOf(changes);
  return (
    <Part
      isPlain
      title="Settings"
      data-testid="run-settings"
      beside={
        <>
          <Select
            label="Compare with"
            value={otherId}
            w={300}
            data={[
              { value: OWN, label: "the game's own settings" },
              ...(others.data ?? []).map((one) => ({ value: one.run_id, label: optionText(one) })),
            ]}
            onChange={setOther}
          />
          <TextInput
            size="xs"
            type="search"
            aria-label="Find a setting"
            placeholder="Find a setting"
            value={search}
            onChange={({ currentTarget }) => setSearch(currentTarget.value)}
          />
          {yaml !== "" && <CopyText text={yaml} name="changes as YAML" />}
          <CopyText text={yamlOf(run.settings)} name="all as YAML" />
        </>
      }
    >
      {compared.error !== null && <ErrorNotice error={compared.error} onRetry={compared.refetch} />}
      {compared.data !== undefined && (
        <Paper p="lg" mb="md" data-testid="different">
          <h3>
            {rows.different.length === 0
              ? `Nothing differs from ${name}`
              : `${plural(rows.different.length, "setting")} ${rows.different.length === 1 ? "differs" : "differ"} from ${name}`}
          </h3>
          {different.length > 0 && <Rows rows={different} other={name} />}
        </Paper>
      )}
      {/* Searched, or with nothing to compare with, the rest is the list itself. */}
      <Paper
        component="details"
        p="lg"
        data-testid="equal"
        open={compared.data === undefined || search !== "" || undefined}
      >
        <summary>
          {compared.data === undefined ? "All settings" : `${plural(equal.length, "setting")} the same`}
        </summary>
        <Rows rows={equal} other={null} />
      </Paper>
    </Part>
  );
}

function Rows({ rows, other }: { rows: readonly SettingRow[]; other: string | null }) {
  return (
    <Table className="settings-table" mt={8}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Setting</Table.Th>
          <Table.Th>This run</Table.Th>
          {other !== null && <Table.Th>{other}</Table.Th>}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={row.path} data-setting={row.path}>
            <Table.Th scope="row">
              {row.label} <span className="soft mono">{row.path}</span>
              {row.help !== "" && (
                <Text fz={13} c="dimmed" maw="68ch">
                  {row.help}
                </Text>
              )}
            </Table.Th>
            <Table.Td className="mono" data-name="This run">
              {row.value}
            </Table.Td>
            {other !== null && (
              <Table.Td className="mono" data-name={other}>
                {row.other}
              </Table.Td>
            )}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** What a run of the game uses when nothing is chosen. */
async function ownOf(run: RunView): Promise<Side> {
  const view = await api.trySettings({ game: run.game, description: run.description });
  return { settings: view.own, view };
}

/** A run's settings with what was derived for the empty ones; without that where the game is gone. */
async function sideOf({ game, settings, description }: RunView): Promise<Side> {
  const view = await api.trySettings({ game, settings, description }).catch(() => null);
  return { settings, view };
}

/** The newest runs of the same game, then the newest of all; also archived ones, and those that never had an update. */
async function othersOf({ run_id, game }: RunView): Promise<RunRow[]> {
  // A search cannot have a quote in a text.
  const queries = game.includes('"') ? ["is:all"] : [`is:all game="${game}"`, "is:all"];
  const lists = await Promise.all(queries.map((q) => api.runList({ q })));
  const rows = new Map(lists.flatMap(({ runs }) => runs.map((row) => [row.run_id, row])));
  return [...rows.values()].filter((row) => row.run_id !== run_id && row.state !== "damaged");
}

function optionText({ title, run_id, created, episode_return_mean }: RunRow): string {
  return `${title}, ${formatAge(created, Date.now())}, return ${formatNumber(episode_return_mean)} (${run_id})`;
}
