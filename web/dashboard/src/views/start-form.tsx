/** What a run will use: the common settings in sight, all others folded by section, every one explained. */

import type { GameDescription, GameEntry, SettingProblem, SettingsForm } from "@attract/schema";
import { Anchor, Box, Code, NativeSelect, Paper, SimpleGrid, Stack, Switch, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useMemo, useState } from "react";
import { ApiError, api } from "../api/client.ts";
import { CopyText } from "../components/copy-text.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { goTo } from "../hooks/use-route.ts";
import { useSettings } from "../hooks/use-settings.ts";
import { formatRoute, runRoute } from "../routes.ts";
import {
  type Changes,
  changedBy,
  changesOfPerson,
  emptyText,
  type Field,
  fieldsOf,
  PRESET,
  problemsByField,
  sectionsFor,
  settingsFromForm,
  textOf,
  usedNote,
  valueAt,
  WORKERS,
  yamlOf,
} from "../state/settings-form.ts";
import { tabHost } from "../state/tab-host.ts";
import { SettingField } from "./setting-field.tsx";

interface StartFormProps {
  game: GameEntry;
  /** What the game says of itself; null: it has not been loaded yet. */
  description: GameDescription | null;
  form: SettingsForm;
  /** What is changed to begin with. */
  first: Changes;
  /** What this machine suggests of that. */
  suggested: Changes;
  activeRun: string | null;
}

export function StartForm({ game, description, form, first, suggested, activeRun }: StartFormProps) {
  const fields = useMemo(() => fieldsOf(form), [form]);
  const [changes, setChanges] = useState(first);
  const [joins, setJoins] = useState(true);
  const settings = settingsFromForm(fields.all, changes);
  const chosen = changesOfPerson(changes, suggested);
  const chosenSettings = settingsFromForm(fields.all, chosen);
  const starting = useMutation({
    mutationFn: async () => {
      const run = await api.startRun(game.name, settings);
      if (joins) await tabHost.join(Number(valueAt(run.settings, WORKERS)));
      goTo(runRoute(run.run_id));
    },
  });
  const failure = starting.error;
  const tried = useSettings(game.name, settings, description);
  const { view } = tried;
  const sections = sectionsFor(fields, view, changes);
  const refused: readonly SettingProblem[] = [
    ...(tried.isCurrent ? (view?.problems ?? []) : []),
    ...(failure instanceof ApiError ? failure.problems : []),
  ];
  const { byPath, others } = problemsByField(fields.all, refused);
  const problemOf = ({ path }: Field) => byPath[path] ?? null;
  const isFine =
    view !== null &&
    (!tried.isCurrent || view.effective !== null) &&
    [...fields.common, ...sections.flatMap((section) => section.fields)].every(
      (field) => problemOf(field) === null,
    );

  const change = (path: string, text: string) => {
    starting.reset();
    setChanges((old) => ({ ...old, [path]: text }));
  };
  const reset = (path: string) => {
    starting.reset();
    setChanges(({ [path]: _, ...others }) =>
      suggested[path] === undefined ? others : { ...others, [path]: suggested[path] },
    );
  };
  const start = (event: FormEvent) => {
    event.preventDefault();
    if (isFine) starting.mutate();
  };

  const shown = view?.effective ?? view?.own;
  const textIn = (field: Field) => changes[field.path] ?? textOf(field, valueAt(shown, field.path));
  const input = (field: Field) => (
    <SettingField
      key={field.path}
      field={field}
      text={textIn(field)}
      empty={emptyText(field, view)}
      note={usedNote(field, textIn(field), view)}
      changedBy={view === null ? null : changedBy(field, view, changes, suggested)}
      ownText={suggested[field.path] ?? textOf(field, valueAt(view?.own, field.path))}
      problem={problemOf(field)}
      onChange={change}
      onReset={reset}
    />
  );
  const ownPreset = textOf({ kind: "text" } as Field, valueAt(view?.own, PRESET));
  const preset = form.presets.find(({ name }) => name === changes[PRESET]);

  return (
    // Beside the games it is always within the window, below the page's head: its fields scroll, its button does not.
    <Paper
      component="form"
      display="flex"
      mah={{ md: "max(360px, calc(100dvh - 120px))" }}
      style={{ flexDirection: "column" }}
      onSubmit={start}
      aria-label={`Train ${game.title}`}
    >
      <Box p="20px 20px 0" style={{ overflowY: "auto" }}>
        <h2>Train {game.title}</h2>
        {view === null && tried.error !== null && <ErrorNotice error={tried.error} />}
        <NativeSelect
          label="Settings"
          value={changes[PRESET] ?? ""}
          description={preset?.help || undefined}
          data={[
            { value: "", label: ownPreset === "" ? "The game's own" : `The game's own (${ownPreset})` },
            ...form.presets.map(({ name }) => ({ value: name, label: `Preset: ${name}` })),
          ]}
          onChange={(event) =>
            event.currentTarget.value === "" ? reset(PRESET) : change(PRESET, event.currentTarget.value)
          }
          mb="sm"
        />
        <Fields>{fields.common.map(input)}</Fields>
        <Switch
          mt="md"
          color="teal.8"
          label="Run the workers in this tab"
          description="Off: nothing plays until a device joins."
          checked={joins}
          onChange={(event) => setJoins(event.currentTarget.checked)}
        />
        <Box my={14}>
          {sections.map((section) => (
            <Fold
              key={section.name}
              title={section.title}
              numChanged={section.fields.filter(({ path }) => chosen[path] !== undefined).length}
              isWrong={section.fields.some((field) => problemOf(field) !== null)}
            >
              <Fields>{section.fields.map(input)}</Fields>
            </Fold>
          ))}
          {Object.keys(chosenSettings).length > 0 && (
            <Fold title="As YAML" numChanged={0} isWrong={false}>
              <Text fz={13} c="dimmed">
                What you changed, for a file beside your game (<code>{yamlFile(game)}</code>) or{" "}
                <code>attract train {game.name} --config FILE</code>.
              </Text>
              <Code block my={8}>
                {yamlOf(chosenSettings)}
              </Code>
              <CopyText text={yamlOf(chosenSettings)} name="YAML" />
            </Fold>
          )}
        </Box>
      </Box>
      <Stack className="start-footer" gap={12} p="14px 20px 18px" pos="sticky" bottom={0}>
        {others.map((text) => (
          <ErrorNotice key={text} error={new Error(text)} />
        ))}
        {refused.length === 0 && <ErrorNotice error={failure} />}
        {activeRun !== null && (
          <Text c="dimmed">
            A run is going on: <Anchor href={formatRoute(runRoute(activeRun))}>{activeRun}</Anchor>. Stop it
            before you start another.
          </Text>
        )}
        <ServerButton
          type="submit"
          size="md"
          fullWidth
          loading={starting.isPending}
          disabled={!isFine || activeRun !== null}
        >
          Start training
        </ServerButton>
      </Stack>
    </Paper>
  );
}

function Fields({ children }: { children: React.ReactNode }) {
  return (
    <SimpleGrid cols={2} spacing={12} verticalSpacing={14} style={{ alignItems: "end" }}>
      {children}
    </SimpleGrid>
  );
}

interface FoldProps {
  title: string;
  numChanged: number;
  isWrong: boolean;
  children: React.ReactNode;
}

function Fold({ title, numChanged, isWrong, children }: FoldProps) {
  return (
    <details className="fold">
      <summary>
        {title}
        {(isWrong || numChanged > 0) && (
          <Text className="label" fz={11} c={isWrong ? "var(--bad)" : "dimmed"} style={{ float: "right" }}>
            {isWrong ? "look here" : `${numChanged} changed`}
          </Text>
        )}
      </summary>
      {children}
    </details>
  );
}

function yamlFile(game: GameEntry): string {
  return `${game.name.replace(/\.[^./]+$/, "")}.train.yaml`;
}
