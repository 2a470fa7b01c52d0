/** Every run of the runs directory in a table, searched, sorted, grouped, labelled, deleted; beside it all charts of the ticked ones. */

import type { EditLabels, RunList, RunRow } from "@attract/schema";
import { Anchor, Box, Button, Flex, Group, Loader, Paper, Text, useComputedColorScheme } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { ApiError, api } from "../api/client.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { DataTable } from "../components/data-table.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Part } from "../components/part.tsx";
import { Select } from "../components/select.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { useCompared } from "../hooks/use-compared.ts";
import { useDefinitions } from "../hooks/use-definitions.ts";
import { goTo, replaceRoute } from "../hooks/use-route.ts";
import { useRunList } from "../hooks/use-run-list.ts";
import { formatRoute, parseRoute, type Route, runRoute, runsRoute } from "../routes.ts";
import { toggled } from "../state/chart-view.ts";
import { plural } from "../state/format.ts";
import { keepTable } from "../state/kept-view.ts";
import { panelOfMetric } from "../state/panels.ts";
import {
  formatTableView,
  groupRuns,
  isOfTrash,
  type Node,
  nextSort,
  parseTableView,
  rangeOf,
  runStyles,
  runsOf,
  shortName,
  type TableView,
  TRASH,
} from "../state/run-table.ts";
import { CHART_COLORS } from "../theme.ts";
import { runColumns } from "./run-columns.tsx";
import { Search } from "./runs-search.tsx";
import { ColumnChooser, SavedViews, TagAll } from "./runs-tools.tsx";
import { MAX_RUNS, Workspace } from "./workspace.tsx";

const GROUPS = ["seeds", "game", "preset", "state", "tags"];

/** What was done, and what undoes it. */
interface Done {
  text: string;
  /** null: nothing does. */
  undo: (() => Promise<unknown>) | null;
}

interface RunsViewProps {
  route: Extract<Route, { view: "runs" }>;
  /** Whether labels may be changed and runs deleted. */
  isAdmin: boolean;
}

export function RunsView({ route, isAdmin }: RunsViewProps) {
  const { search } = route;
  const view = useMemo(() => parseTableView(search), [search]);
  const { query, sort, group, hidden, metrics, ticked, unseen } = view;
  const { list: found, error, reload, replace } = useRunList(query, sort, metrics);
  const [isTyping, setTyping] = useState(false);
  /** The last rows that there were: a search that is half typed keeps them. */
  const kept = useRef<RunList | null>(null);
  const unread = error instanceof ApiError && error.status === 400 ? error : null;
  const isNone = unread !== null || found?.num_found === 0;
  if (!isNone) kept.current = found;
  const list = isNone && (isTyping || unread !== null) ? kept.current : found;
  // What failed may have been done to some of the runs.
  const acting = useMutation({ mutationFn: (action: Promise<unknown>) => action, onSettled: reload });
  const [done, setDone] = useState<Done | null>(null);
  /** Runs that are erased once the question is answered. */
  const [erasing, setErasing] = useState<readonly RunRow[]>([]);
  const isTrash = isOfTrash(query);
  const heading = useRef<HTMLHeadingElement>(null);
  const show = (change: Partial<TableView>) => {
    // As it stands in the address: two changes in one turn must not lose the first.
    const now = parseRoute(location.hash);
    if (now.view !== "runs") return;
    const text = formatTableView({ ...parseTableView(now.search), ...change });
    keepTable(text);
    replaceRoute({ ...now, search: text });
  };
  const act = acting.mutate;
  const edit = async (run: RunRow, change: Partial<EditLabels>) =>
    replace(await api.editRun(run.run_id, change));
  const untick = (runs: readonly RunRow[]) =>
    show({ ticked: ticked.filter((id) => !runs.some(({ run_id }) => run_id === id)) });
  const restore = (runs: readonly RunRow[]) =>
    act(
      Promise.all(runs.map((run) => api.restoreRun(run.run_id))).then((restored) => {
        untick(runs);
        setDone({
          text: `Restored ${nameOf(restored)}.`,
          undo: () => Promise.all(restored.map(({ run_id }) => api.deleteRun(run_id))),
        });
      }),
    );
  const erase = (runs: readonly RunRow[]) =>
    act(
      Promise.all(runs.map((run) => api.eraseRun(run.run_id))).then(() => {
        untick(runs);
        setDone({ text: `Erased ${nameOf(runs)}.`, undo: null });
      }),
    );
  const remove = (runs: readonly RunRow[]) => {
    // First: the charts of a run that is gone are not asked for.
    untick(runs);
    act(
      Promise.all(runs.map((run) => api.deleteRun(run.run_id))).then((deleted) =>
        setDone({
          text: `Deleted ${nameOf(runs)}.`,
          undo: () => Promise.all(deleted.map(({ trash_id }) => api.restoreRun(trash_id))),
        }),
      ),
    );
  };
  const archive = (runs: readonly RunRow[]) => {
    const archived = !runs.every((run) => run.archived);
    const set = (value: boolean) => Promise.all(runs.map((run) => edit(run, { archived: value })));
    act(
      set(archived).then(() => {
        const text = `${archived ? "Archived" : "Took from the archive:"} ${nameOf(runs)}.`;
        setDone({ text, undo: () => set(!archived) });
      }),
    );
  };
  const runs = list?.runs;
  const nodes = useMemo(() => groupRuns(runs ?? [], group), [runs, group]);
  /** Where a range of ticks begins. */
  const lastTicked = useRef("");
  const tick = (chosen: readonly Node<RunRow>[], isRange = false) => {
    const range = isRange ? rangeOf(nodes, lastTicked.current, chosen[0]?.id) : chosen;
    const ids = range.flatMap(runsOf).map(({ run_id }) => run_id);
    lastTicked.current = chosen[0]?.id ?? "";
    const isTicked = !isRange && ids.every((id) => ticked.includes(id));
    show({ ticked: isTicked ? ticked.filter((id) => !ids.includes(id)) : [...new Set([...ticked, ...ids])] });
  };
  const compared = useCompared(isTrash ? [] : ticked.slice(0, MAX_RUNS));
  const isSplit = !isTrash && ticked.length > 0;
  const colours = CHART_COLORS[useComputedColorScheme("light")].lines;
  const rows = useMemo(() => (isSplit ? (compared.data ?? []) : []), [isSplit, compared.data]);
  const styles = useMemo(
    () =>
      runStyles(
        rows.map(({ row }) => row),
        colours,
      ),
    [rows, colours],
  );
  const baseline = rows.find(({ row }) => row.run_id === view.baseline)?.row ?? null;
  const definitions = useDefinitions();
  const titleOf = (name: string) => (definitions === null ? name : panelOfMetric(definitions, name).title);
  const columns = runColumns({
    settings: list?.settings ?? [],
    ticked: new Set(ticked),
    isAdmin,
    now: Date.now(),
    edit: (run, change) => act(edit(run, change)),
    remove: (run) => remove([run]),
    archive: (run) => archive([run]),
    restore: (run) => restore([run]),
    erase: (run) => setErasing([run]),
    tick: (node, isRange) => tick([node], isRange),
    tickAll: () => tick(nodes),
    areAllTicked: (runs ?? []).every(({ run_id }) => ticked.includes(run_id)),
    metrics: metrics.map((id) => ({ id, title: titleOf(id) })),
    baseline,
    colourOf: (id) => styles.find((style) => style.id === id)?.colour ?? null,
    unseen,
    see: (id) => show({ unseen: toggled(unseen, id) }),
  });
  const chosen = (runs ?? []).filter(({ run_id }) => ticked.includes(run_id));
  const isEmpty = list !== null && unread === null && list.num_unread === 0 && list.num_found === 0;

  return (
    // Beside the runs their charts, where there is room for both.
    <Flex component="main" id="content" direction={{ base: "column", lg: "row" }} align="flex-start" gap={28}>
      <Box
        flex={isSplit ? { lg: "2 1 0" } : 1}
        w="100%"
        miw={0}
        pos={isSplit ? { lg: "sticky" } : undefined}
        top={12}
        data-split={isSplit}
      >
        <Box component="h1" mb={10}>
          Runs
        </Box>
        <Search
          query={query}
          settings={list?.settings ?? []}
          onSearch={(text) => show({ query: text })}
          onTyping={setTyping}
        />
        <Group gap="8px 16px" mb={12} data-testid="runs-tools">
          <Select
            label="Group by"
            value={group}
            data={[
              { value: "", label: "nothing" },
              ...[...GROUPS, ...(list?.settings ?? [])].map((name) => ({
                value: name,
                label: name === "seeds" ? "equal settings (seeds)" : shortName(name),
              })),
            ]}
            onChange={(name) => show({ group: name })}
          />
          <ColumnChooser
            columns={columns}
            hidden={hidden}
            onHidden={(names) => show({ hidden: names })}
            metrics={(list?.metrics ?? []).map((id) => ({ id, title: titleOf(id) }))}
            chosen={metrics}
            onChosen={(names) => show({ metrics: names })}
          />
          <SavedViews address={formatRoute(route)} />
          <span className="soft" role="status">
            {unread !== null
              ? [unread.message, unread.fix].filter(Boolean).join("; ")
              : found !== null && countText(found.num_found, found.num_hidden, found.num_unread)}
          </span>
          {unread?.suggestion && (
            <Anchor component="button" type="button" onClick={() => show({ query: unread.suggestion ?? "" })}>
              {unread.suggestion}
            </Anchor>
          )}
          {list !== null && list.num_hidden > 0 && !/\bis:all\b/.test(query) && (
            <Anchor
              component="button"
              type="button"
              onClick={() => show({ query: `${query} is:all`.trim() })}
            >
              Show hidden runs
            </Anchor>
          )}
          {isAdmin && (
            <Anchor
              component="button"
              type="button"
              onClick={() => show({ query: isTrash ? "" : TRASH, ticked: [] })}
            >
              {isTrash ? "Leave the trash" : "Trash"}
            </Anchor>
          )}
        </Group>
        {error !== null && unread === null && <ErrorNotice error={error} onRetry={reload} />}
        <ErrorNotice error={acting.error} />
        <div role="status">
          {done !== null && (
            <Strip tone="wait">
              {done.text}
              {done.undo !== null && (
                <Button
                  size="compact-sm"
                  variant="default"
                  onClick={() => {
                    setDone(null);
                    act(done.undo?.() ?? Promise.resolve());
                  }}
                >
                  Undo
                </Button>
              )}
              <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setDone(null)}>
                Close
              </Button>
            </Strip>
          )}
        </div>
        {chosen.length > 0 && (
          <Strip label="Ticked runs">
            <strong>{plural(chosen.length, "run")} ticked</strong>
            {!isTrash && (
              <Button size="compact-sm" disabled={chosen.length < 2} onClick={() => heading.current?.focus()}>
                Compare
              </Button>
            )}
            {isAdmin && isTrash && (
              <>
                <ServerButton size="compact-sm" variant="default" onClick={() => restore(chosen)}>
                  Restore
                </ServerButton>
                <ServerButton size="compact-sm" variant="default" onClick={() => setErasing(chosen)}>
                  Erase
                </ServerButton>
              </>
            )}
            {isAdmin && !isTrash && (
              <>
                <TagAll
                  onTag={(tag) =>
                    act(Promise.all(chosen.map((run) => edit(run, { tags: withTag(run.tags, tag) }))))
                  }
                />
                <ServerButton size="compact-sm" variant="default" onClick={() => archive(chosen)}>
                  Archive
                </ServerButton>
                <ServerButton size="compact-sm" variant="default" onClick={() => remove(chosen)}>
                  Delete
                </ServerButton>
              </>
            )}
            <Button
              size="compact-sm"
              variant="subtle"
              color="gray"
              onClick={() => show({ ticked: [], unseen: [], baseline: "", isDifference: false })}
            >
              Untick all
            </Button>
          </Strip>
        )}
        <ConfirmDialog
          opened={erasing.length > 0}
          title={`Erase ${nameOf(erasing)}?`}
          yes="Erase"
          no="Keep"
          onAnswer={(isYes) => {
            setErasing([]);
            if (isYes) erase(erasing);
          }}
        >
          Their numbers, versions and episodes are removed from the disk. This cannot be undone.
        </ConfirmDialog>
        {list === null && error === null && <Loader aria-label="Loading runs" />}
        {isEmpty && <Nothing query={query} />}
        {nodes.length > 0 && (
          <DataTable
            label="All runs"
            columns={columns}
            nodes={nodes}
            hidden={hidden}
            sort={sort}
            onSort={(column) => show({ sort: nextSort(sort, column) })}
            marks={(node) => ({
              archived: node.kind === "one" && node.row.archived,
              ticked: ticked.includes(node.id),
            })}
            onEnter={(run) => run.is_deleted || goTo(runRoute(run.run_id))}
            onTick={(node) => tick([node])}
          />
        )}
      </Box>
      {isSplit && (
        <Box flex={{ lg: "3 1 0" }} w="100%" miw={0}>
          <h2 ref={heading} tabIndex={-1}>
            {rows.length === 1 ? "1 run" : `Compare ${plural(rows.length, "run")}`}
          </h2>
          {ticked.length > MAX_RUNS && (
            <Text c="dimmed">
              The first {MAX_RUNS} of {ticked.length} runs.
            </Text>
          )}
          {compared.error !== null && <ErrorNotice error={compared.error} onRetry={compared.refetch} />}
          {compared.isPending && <Loader aria-label="Loading the runs" />}
          {rows.length > 0 && (
            <Workspace route={route} view={view} compared={rows} styles={styles} onChange={show} />
          )}
        </Box>
      )}
    </Flex>
  );
}

/** What was done, or can be done, above the table. */
function Strip({ tone, label, children }: { tone?: "wait"; label?: string; children: ReactNode }) {
  return (
    <Paper
      component="section"
      radius="md"
      className={tone && "edge"}
      px={14}
      py={8}
      mb={12}
      aria-label={label}
      data-tone={tone}
      data-testid="strip"
    >
      <Group gap="8px 16px">{children}</Group>
    </Paper>
  );
}

function Nothing({ query }: { query: string }) {
  if (query !== "")
    return (
      <Paper p="lg">
        {query === TRASH ? (
          "The trash is empty."
        ) : (
          <>
            No run is found by <code>{query}</code>.
          </>
        )}{" "}
        <Anchor href={formatRoute(runsRoute())}>Show all runs</Anchor>
      </Paper>
    );
  return (
    <Part title="No runs yet">
      <Text c="dimmed" mb={12}>
        Pick a game and start one; it is kept here, with every number, when it ends.
      </Text>
      <Button component="a" href="#/">
        Pick a game
      </Button>
    </Part>
  );
}

function countText(found: number, hidden: number, unread: number): string {
  const parts = [plural(found, "run")];
  if (hidden > 0) parts.push(`${hidden} hidden`);
  if (unread > 0) parts.push(`reading ${unread} more`);
  return parts.join(", ");
}

function nameOf(runs: readonly RunRow[]): string {
  const [only] = runs;
  return runs.length === 1 && only !== undefined ? only.name || only.run_id : plural(runs.length, "run");
}

function withTag(tags: readonly string[], tag: string): string[] {
  return [...new Set([...tags, tag])];
}
