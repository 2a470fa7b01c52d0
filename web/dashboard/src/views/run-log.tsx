/** The log of a run, live or past: what the server, the learner and the game wrote, by level, source and words. */

import { Loader, Paper, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { CopyText } from "../components/copy-text.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Part } from "../components/part.tsx";
import { Select } from "../components/select.tsx";
import {
  clockOf,
  entriesFound,
  LEVELS,
  type LogFilter,
  type LogLevel,
  type LogSource,
  SOURCES,
  textOfLog,
} from "../state/log-text.ts";

const RELOAD_MS = 2000;
const AT_END_PIXELS = 80;

export function RunLog({ runId, isOver }: { runId: string; isOver: boolean }) {
  const {
    data: value = null,
    error,
    refetch,
  } = useQuery(polled(["log", runId, isOver], () => api.log(runId), !isOver && RELOAD_MS));
  const [filter, setFilter] = useState<LogFilter>({ level: "info", source: null, search: "" });
  const list = useRef<HTMLOListElement>(null);
  const entries = value === null ? [] : entriesFound(value.entries, filter);
  const newest = textOfLog(entries.slice(-1));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the newest entry is what it follows
  useEffect(() => {
    const { current } = list;
    if (current === null) return;
    // A person who has scrolled up is reading: only the end follows the newest line.
    const isAtEnd = current.scrollHeight - current.scrollTop - current.clientHeight < AT_END_PIXELS;
    if (isAtEnd || current.dataset.isFirst === undefined) current.scrollTop = current.scrollHeight;
    current.dataset.isFirst = "false";
  }, [newest, filter]);
  return (
    <Part
      isPlain
      title="Log"
      beside={
        <>
          <Select
            aria-label="Least level"
            value={filter.level}
            data={LEVELS.map((value) => ({
              value,
              label: value === "error" ? "error only" : `${value} and above`,
            }))}
            onChange={(level) => setFilter({ ...filter, level: level as LogLevel })}
          />
          <Select
            aria-label="Source"
            value={filter.source ?? ""}
            data={[
              { value: "", label: "all sources" },
              ...Object.entries(SOURCES).map(([value, label]) => ({ value, label })),
            ]}
            onChange={(source) =>
              setFilter({ ...filter, source: source === "" ? null : (source as LogSource) })
            }
          />
          <TextInput
            size="xs"
            type="search"
            aria-label="Search the log"
            placeholder="Search the log"
            value={filter.search}
            onChange={({ currentTarget }) => setFilter({ ...filter, search: currentTarget.value })}
          />
          {entries.length > 0 && <CopyText text={textOfLog(entries)} name="these lines" />}
        </>
      }
    >
      {error !== null && <ErrorNotice error={error} onRetry={refetch} />}
      {value === null ? (
        error === null && <Loader aria-label="Loading the log" />
      ) : entries.length === 0 ? (
        <Text c="dimmed">
          {value.entries.length === 0 ? "Nothing is logged." : "No line passes this filter."}
        </Text>
      ) : (
        <Paper component="ol" className="log-entries" ref={list} tabIndex={0} aria-label="Entries of the log">
          {entries.map((entry, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity, and only move up
            <li key={index} data-level={entry.level} data-source={entry.source}>
              <span className="soft">{clockOf(entry)}</span> <b>{entry.level}</b>{" "}
              <span className="soft">{SOURCES[entry.source]}</span> <span>{entry.text}</span>
            </li>
          ))}
        </Paper>
      )}
      <Text c="dimmed" mt="md">
        The newest 1,000 entries. The game's console is that of the first copy in one worker, at most ten
        lines a second.
      </Text>
    </Part>
  );
}
