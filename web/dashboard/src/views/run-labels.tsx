/** What people say of a run, read and edited where it stands: star, name, tags, note. */

import type { EditLabels, RunRow } from "@attract/schema";
import { Badge, Group } from "@mantine/core";
import type { ReactNode } from "react";
import { EditedText } from "../components/edited-text.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { formatRoute, runRoute, runsRoute } from "../routes.ts";
import { formatAge } from "../state/format.ts";

interface LabelProps {
  run: RunRow;
  /** null: it may only be read. */
  edit: ((run: RunRow, change: Partial<EditLabels>) => void) | null;
}

export function Star({ run, edit }: LabelProps) {
  return (
    <button
      type="button"
      className="sign star"
      aria-label={`Star ${run.name || run.run_id}`}
      aria-pressed={run.starred}
      disabled={edit === null}
      onClick={() => edit?.(run, { starred: !run.starred })}
    >
      {run.starred ? "★" : "☆"}
    </button>
  );
}

/** A name around what shows it. */
export function Name({ run, edit, children }: LabelProps & { children: ReactNode }) {
  if (edit === null) return children;
  return (
    <EditedText
      label={`name of ${run.run_id}`}
      value={run.name}
      maxLength={120}
      onSave={(text) => edit(run, { name: text })}
    >
      {children}
    </EditedText>
  );
}

export function RunName({ run, now, edit }: LabelProps & { now: number }) {
  const title = run.name || run.title;
  return (
    <>
      <Name run={run} edit={edit}>
        {run.is_deleted ? (
          <strong>{title}</strong>
        ) : (
          <a className="run-name" href={formatRoute(runRoute(run.run_id))}>
            {title}
          </a>
        )}
      </Name>
      <small className="soft">
        {run.name !== "" && `${run.title}, `}
        {formatAge(run.created, now)}, <span className="mono">{run.run_id}</span>
        {run.archived && ", archived"}
      </small>
      {run.error !== null && <small className="bad">{run.error}</small>}
    </>
  );
}

export function Tags({ run, edit }: LabelProps) {
  const tags = run.tags.map((tag) => (
    <Badge
      key={tag}
      component="a"
      href={formatRoute(runsRoute(`q=tag:${encodeURIComponent(tag)}`))}
      variant="default"
      mr={4}
      style={{ cursor: "pointer" }}
    >
      {tag}
    </Badge>
  ));
  if (edit === null) return <>{tags}</>;
  const save = (text: string) => edit(run, { tags: text.split(/[\s,"]+/).filter((tag) => tag !== "") });
  return (
    <EditedText label={`tags of ${run.run_id}`} value={run.tags.join(" ")} maxLength={800} onSave={save}>
      {tags}
    </EditedText>
  );
}

export function Note({ run, edit }: LabelProps) {
  const note = <span className="note">{run.note}</span>;
  if (edit === null) return note;
  return (
    <EditedText
      label={`note of ${run.run_id}`}
      value={run.note}
      maxLength={4000}
      onSave={(text) => edit(run, { note: text })}
    >
      {note}
    </EditedText>
  );
}

/** For a page about the run. */
export function TagsAndNote(props: LabelProps) {
  return (
    <Group component="span" display="inline-flex" gap="2px 6px" ml={8} fz={14}>
      <span className="soft">Tags</span> <Tags {...props} /> <span className="soft">Note</span>{" "}
      <Note {...props} />
    </Group>
  );
}

export function Action({ title, ...rest }: { title: string; disabled?: boolean; onClick: () => void }) {
  return (
    <ServerButton size="compact-xs" variant="subtle" color="gray" {...rest}>
      {title}
    </ServerButton>
  );
}
