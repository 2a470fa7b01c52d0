/** What stands above the table of runs: its columns, its saved views, and a tag for the ticked runs. */

import {
  ActionIcon,
  Anchor,
  Button,
  Checkbox,
  Group,
  Popover,
  ScrollArea,
  Stack,
  TextInput,
} from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { type FormEvent, type ReactNode, useState } from "react";
import { ServerButton } from "../components/server-button.tsx";
import { toggled } from "../state/chart-view.ts";

/** A button that opens a list over the page. */
function Dropdown({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Popover position="bottom-start" trapFocus returnFocus withRoles shadow="md">
      <Popover.Target>
        <Button size="compact-sm" variant="default">
          {title}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={title}>{children}</Popover.Dropdown>
    </Popover>
  );
}

interface Choice {
  id: string;
  title: string;
}

interface ColumnChooserProps {
  columns: readonly Choice[];
  hidden: readonly string[];
  onHidden: (hidden: string[]) => void;
  /** Metrics that may have a column each. */
  metrics: readonly Choice[];
  chosen: readonly string[];
  onChosen: (chosen: string[]) => void;
}

export function ColumnChooser(props: ColumnChooserProps) {
  const { columns, hidden, onHidden, metrics, chosen, onChosen } = props;
  const [find, setFind] = useState("");
  const isFound = ({ id, title }: Choice) => `${id} ${title}`.toLowerCase().includes(find.toLowerCase());
  return (
    <Dropdown title="Columns">
      <TextInput
        size="xs"
        mb="xs"
        aria-label="Find a column"
        placeholder="Find a column or metric"
        value={find}
        onChange={({ currentTarget }) => setFind(currentTarget.value)}
      />
      <ScrollArea.Autosize mah="50vh" type="auto" offsetScrollbars>
        <Stack gap={6}>
          {columns
            .filter((one) => !one.title.startsWith("(") && !chosen.includes(one.id) && isFound(one))
            .map(({ id, title }) => (
              <Checkbox
                key={id}
                size="xs"
                label={title}
                checked={!hidden.includes(id)}
                onChange={() => onHidden(toggled(hidden, id))}
              />
            ))}
          {metrics.filter(isFound).map(({ id, title }) => (
            <Checkbox
              key={id}
              size="xs"
              label={`${title} (${id})`}
              checked={chosen.includes(id)}
              onChange={() => onChosen(toggled(chosen, id))}
            />
          ))}
        </Stack>
      </ScrollArea.Autosize>
    </Dropdown>
  );
}

/** Views of this browser by name: each is an address, so it can also be sent to somebody. */
export function SavedViews({ address }: { address: string }) {
  const [views, setViews] = useLocalStorage<Readonly<Record<string, string>>>({
    key: "attract views",
    defaultValue: {},
    getInitialValueInEffect: false,
  });
  const [name, setName] = useState("");
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") setViews({ ...views, [name.trim()]: address });
    setName("");
  };
  const forget = (gone: string) => setViews(({ [gone]: _, ...others }) => others);
  return (
    <Dropdown title="Views">
      <Stack gap="xs">
        {Object.entries(views).map(([known, href]) => (
          <Group key={known} justify="space-between" wrap="nowrap">
            <Anchor href={href} size="sm">
              {known}
            </Anchor>
            <ActionIcon
              size="sm"
              variant="subtle"
              color="gray"
              aria-label={`Forget the view ${known}`}
              onClick={() => forget(known)}
            >
              ×
            </ActionIcon>
          </Group>
        ))}
        <Group component="form" gap="xs" wrap="nowrap" onSubmit={save}>
          <TextInput
            size="xs"
            aria-label="Name of this view"
            placeholder="Name of this view"
            maxLength={60}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <Button type="submit" size="xs" variant="default">
            Save
          </Button>
        </Group>
      </Stack>
    </Dropdown>
  );
}

export function TagAll({ onTag }: { onTag: (tag: string) => void }) {
  const [tag, setTag] = useState("");
  return (
    <Group
      component="form"
      gap={4}
      wrap="nowrap"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        if (tag.trim() !== "") onTag(tag.trim());
        setTag("");
      }}
    >
      <TextInput
        size="xs"
        w={140}
        aria-label="Tag for the ticked runs"
        placeholder="tag"
        maxLength={40}
        pattern={'[^\\s",]+'}
        value={tag}
        onChange={(event) => setTag(event.currentTarget.value)}
      />
      <ServerButton type="submit" size="compact-sm" variant="default">
        Tag
      </ServerButton>
    </Group>
  );
}
