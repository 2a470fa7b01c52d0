/** Every run of the runs directory in a table, searched, sorted, grouped, labelled, deleted; beside it all charts of the ticked ones. */

import type { EditLabels, RunList, RunRow } from "@attract/schema";
import { Anchor, Button, Group, Loader, useComputedColorScheme } from "@mantine/core";
import { useCallback, useMemo, useRef, useState } from "react";
import { ApiError, api } from "../api/client.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { DataTable } from "../components/data-table.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Select } from "../components/select.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { useCompared } from "../hooks/use-compared.ts";
import { useDefinitions } from "../hooks/use-definitions.ts";
import { goTo, replaceRoute } from "../hooks/use-route.ts";
import { useRunList } from "../hooks/use-run-list.ts";
import { formatRoute, parseRoute, type Route, runRoute, runsRoute } from "../routes.ts";
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
  const [failure, setFailure] = useState<unknown>(null);
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
  const act = (action: Promise<unknown>) => {
    setFailure(null);
    // What failed may have been done to some of the runs.
    action.catch(setFailure).then(reload);
  };
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
  const tickAll = () => tick(nodes);
  const settings = list?.settings.join(",") ?? "";
  // The columns are made once for each set of settings: what they call is looked up when it is called.
  const see = (id: string) =>
    show({ unseen: unseen.includes(id) ? unseen.filter((other) => other !== id) : [...unseen, id] });
  const calls = useRef({ act, edit, remove, archive, restore, tick, tickAll, see });
  calls.current = { act, edit, remove, archive, restore, tick, tickAll, see };
  const tickedText = ticked.join(",");
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
  const unseenText = unseen.join(",");
  const baseline = rows.find(({ row }) => row.run_id === view.baseline)?.row ?? null;
  const definitions = useDefinitions();
  const metricsText = metrics.join(",");
  const titleOf = useCallback(
    (name: string) => (definitions === null ? name : panelOfMetric(definitions, name).title),
    [definitions],
  );
  const areAllTicked = (runs ?? []).every(({ run_id }) => ticked.includes(run_id));
  const columns = useMemo(
    () =>
      runColumns({
        settings: settings === "" ? [] : settings.split(","),
        ticked: new Set(tickedText.split(",")),
        isAdmin,
        now: Date.now(),
        edit: (run, change) => calls.current.act(calls.current.edit(run, change)),
        remove: (run) => calls.current.remove([run]),
        archive: (run) => calls.current.archive([run]),
        restore: (run) => calls.current.restore([run]),
        erase: (run) => setErasing([run]),
        tick: (node, isRange) => calls.current.tick([node], isRange),
        tickAll: () => calls.current.tickAll(),
        areAllTicked,
        metrics: metricsText === "" ? [] : metricsText.split(",").map((id) => ({ id, title: titleOf(id) })),
        baseline,
        colourOf: (id) => styles.find((style) => style.id === id)?.colour ?? null,
        unseen: unseenText.split(","),
        see: (id) => calls.current.see(id),
      }),
    [settings, tickedText, isAdmin, areAllTicked, metricsText, titleOf, baseline, styles, unseenText],
  );
  const chosen = (runs ?? []).filter(({ run_id }) => ticked.includes(run_id));
  const isEmpty = list !== null && unread === null && list.num_unread === 0 && list.num_found === 0;

  return (
    <main id="content" className="runs-view" data-split={isSplit}>
      <div>
        <h1>Runs</h1>
        <Search
          query={query}
          settings={list?.settings ?? []}
          onSearch={(text) => show({ query: text })}
          onTyping={setTyping}
        />
        <Group className="runs-tools" gap="8px 16px" mb={12}>
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
        {failure !== null && <ErrorNotice error={failure} />}
        <div role="status">
          {done !== null && (
            <Group className="undo-strip" component="p" gap="8px 16px" m="0 0 12px">
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
            </Group>
          )}
        </div>
        {chosen.length > 0 && (
          <Group className="bulk" component="section" gap="8px 16px" mb={12} aria-label="Ticked runs">
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
          </Group>
        )}
        {erasing.length > 0 && (
          <ConfirmDialog
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
        )}
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
      </div>
      {isSplit && (
        <div>
          <h2 ref={heading} tabIndex={-1}>
            {rows.length === 1 ? "1 run" : `Compare ${plural(rows.length, "run")}`}
          </h2>
          {ticked.length > MAX_RUNS && (
            <p className="soft">
              The first {MAX_RUNS} of {ticked.length} runs.
            </p>
          )}
          {compared.error !== null && <ErrorNotice error={compared.error} onRetry={compared.refetch} />}
          {compared.isPending && <Loader aria-label="Loading the runs" />}
          {rows.length > 0 && (
            <Workspace route={route} view={view} compared={rows} styles={styles} onChange={show} />
          )}
        </div>
      )}
    </main>
  );
}

function Nothing({ query }: { query: string }) {
  if (query === TRASH)
    return (
      <p className="card">
        The trash is empty. <Anchor href={formatRoute(runsRoute())}>Show all runs</Anchor>
      </p>
    );
  if (query !== "")
    return (
      <p className="card">
        No run is found by <code>{query}</code>.{" "}
        <Anchor href={formatRoute(runsRoute())}>Show all runs</Anchor>
      </p>
    );
  return (
    <div className="card">
      <h2>No runs yet</h2>
      <p className="soft">Pick a game and start one; it is kept here, with every number, when it ends.</p>
      <Button component="a" href="#/">
        Pick a game
      </Button>
    </div>
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
