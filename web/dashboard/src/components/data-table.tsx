/** A table of any number of rows of which only those in sight are drawn: columns, sort, groups that open, keys. */

import "../styles/runs.css";
import { Paper, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useWindowEvent } from "@mantine/hooks";
import {
  columnVisibilityFeature,
  createColumnHelper,
  createExpandedRowModel,
  type ExpandedState,
  rowExpandingFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { takesKeys } from "../hooks/use-keys.ts";
import { areKeysOn } from "../state/keys.ts";
import type { Node } from "../state/run-table.ts";

const features = tableFeatures({
  columnVisibilityFeature,
  rowExpandingFeature,
  expandedRowModel: createExpandedRowModel(),
});

const ROW_HEIGHT = 53;

export interface Column<Row> {
  id: string;
  title: string;
  /** In place of the title. */
  head?: ReactNode;
  /** What the rows are sorted by when its head is pressed; undefined: nothing. */
  sort?: string;
  isNumber?: boolean;
  cell: (node: Node<Row>, row: Opening) => ReactNode;
}

/** Whether a row is a group, and its way to open. */
export interface Opening {
  isOpen: boolean;
  toggle: () => void;
}

interface DataTableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  /** A stable array: the table is made anew with another. */
  nodes: readonly Node<Row>[];
  hidden: readonly string[];
  /** As `TableView.sort`. */
  sort: string;
  onSort: (column: string) => void;
  /** Marks of a row for the style, as `data-...`. */
  marks?: (node: Node<Row>) => Readonly<Record<string, boolean>>;
  /** Enter on the row that `j` and `k` have chosen; groups open by themselves. */
  onEnter?: (row: Row) => void;
  /** `x` on that row. */
  onTick?: (node: Node<Row>) => void;
}

export function DataTable<Row extends object>({
  label,
  columns,
  nodes,
  hidden,
  sort,
  onSort,
  marks,
  onEnter,
  onTick,
}: DataTableProps<Row>) {
  const scroller = useRef<HTMLElement>(null);
  const [expanded, setExpanded] = useState<ExpandedState>({});
  const [current, setCurrent] = useState<string | null>(null);
  const ids = columns.map(({ id }) => id).join("\n");
  const defined = useMemo(() => {
    const helper = createColumnHelper<typeof features, Node<Row>>();
    return helper.columns(ids.split("\n").map((id) => helper.display({ id })));
  }, [ids]);
  const table = useTable({
    features,
    columns: defined,
    data: nodes,
    getRowId: (node) => node.id,
    getSubRows: (node) => (node.kind === "group" ? node.children : undefined),
    state: { expanded, columnVisibility: Object.fromEntries(hidden.map((id) => [id, false])) },
    onExpandedChange: setExpanded,
  });
  const rows = table.getRowModel().rows;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 8,
  });
  const byId = new Map(columns.map((column) => [column.id, column]));
  const items = virtual.getVirtualItems();
  const above = items[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const heads = table.getVisibleLeafColumns();

  useWindowEvent("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (takesKeys(event.target) || !areKeysOn()) return;
    const place = rows.findIndex(({ id }) => id === current);
    const row = rows[place];
    const steps = { j: 1, k: -1 }[event.key];
    if (steps !== undefined) {
      const next = Math.min(rows.length - 1, Math.max(0, place + steps));
      setCurrent(rows[next]?.id ?? null);
      virtual.scrollToIndex(next);
    } else if (event.key === "x" && row !== undefined && onTick !== undefined) onTick(row.original);
    // A button or link that has the focus has Enter for itself.
    else if (event.key === "Enter" && row !== undefined && !isControl(event.target)) {
      if (row.original.kind === "group") row.toggleExpanded();
      else onEnter?.(row.original.row);
    } else return;
    event.preventDefault();
  });

  return (
    <Paper component="section" className="data-scroll" ref={scroller} tabIndex={0} aria-label={label}>
      <table className="data-table" aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {heads.map(({ id }) => {
              const column = byId.get(id);
              return column !== undefined && <Head key={id} column={column} sort={sort} onSort={onSort} />;
            })}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Space columns={heads.length} height={above} />}
          {items.map(({ index, key }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const opening = { isOpen: row.getIsExpanded(), toggle: () => row.toggleExpanded() };
            return (
              <tr
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                data-id={row.id}
                data-kind={row.original.kind}
                data-depth={row.depth}
                data-current={row.id === current}
                aria-rowindex={index + 2}
                {...marksOf(marks?.(row.original))}
              >
                {heads.map(({ id }) => {
                  const column = byId.get(id);
                  return (
                    <td key={id} data-column={id} className={column?.isNumber ? "number" : undefined}>
                      {column?.cell(row.original, opening)}
                    </td>
                  );
                })}
              </tr>
            );
          })}
          {below > 0 && <Space columns={heads.length} height={below} />}
        </tbody>
      </table>
    </Paper>
  );
}

interface HeadProps<Row> {
  column: Column<Row>;
  sort: string;
  onSort: (column: string) => void;
}

function Head<Row>({ column: { id, title, head, sort: own, isNumber }, sort, onSort }: HeadProps<Row>) {
  const order =
    own === undefined ? null : sort === own ? "ascending" : sort === `-${own}` ? "descending" : null;
  return (
    <th
      scope="col"
      data-column={id}
      className={isNumber ? "number" : undefined}
      aria-sort={own === undefined ? undefined : (order ?? "none")}
    >
      {head !== undefined ? (
        head
      ) : own === undefined ? (
        hiddenTitle(title)
      ) : (
        <UnstyledButton mih={24} miw={24} fz="inherit" fw="inherit" onClick={() => onSort(own)}>
          {title}
          <span aria-hidden="true">{order === null ? "" : order === "ascending" ? " ▲" : " ▼"}</span>
        </UnstyledButton>
      )}
    </th>
  );
}

/** A title in brackets is read and not shown. */
function hiddenTitle(title: string): ReactNode {
  const name = /^\((.*)\)$/.exec(title)?.[1];
  return name === undefined ? title : <VisuallyHidden>{name}</VisuallyHidden>;
}

/** In place of the rows above or below those in sight. */
function Space({ columns, height }: { columns: number; height: number }) {
  return (
    <tr className="space">
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

function marksOf(marks: Readonly<Record<string, boolean>> = {}): Record<string, boolean> {
  return Object.fromEntries(Object.entries(marks).map(([name, isSet]) => [`data-${name}`, isSet]));
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("a, button, summary, input") !== null;
}
