/** What a run needs to know: few settings in sight, the rest folded away, every one explained. */

import type { GameEntry } from "@attract/schema";
import { Anchor, Button, Collapse, Select, Switch, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { api } from "../api/client.ts";
import { goTo } from "../hooks/use-route.ts";
import { Help } from "../parts/help.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { formatRoute, runRoute } from "../routes.ts";
import {
  ADVANCED_FIELDS,
  checkField,
  type Field,
  type FormValues,
  MAIN_FIELDS,
  settingsFromForm,
  suggestedWorkers,
} from "../state/settings-form.ts";
import { tabHost } from "../state/tab-host.ts";

const ALL_FIELDS = [...MAIN_FIELDS, ...ADVANCED_FIELDS];
const WORKERS = "collection.num_workers";

export function StartForm({ game, activeRun }: { game: GameEntry; activeRun: string | null }) {
  const [values, setValues] = useState<FormValues>(() => ({
    [WORKERS]: String(suggestedWorkers(navigator.hardwareConcurrency || 2)),
  }));
  const [joins, setJoins] = useState(true);
  const [isOpen, setOpen] = useState(false);
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const isFine = ALL_FIELDS.every((field) => checkField(field, values[field.path] ?? "") === null);

  const start = async (event: FormEvent) => {
    event.preventDefault();
    if (!isFine) return;
    setSending(true);
    setError(null);
    try {
      const run = await api.startRun(game.name, settingsFromForm(ALL_FIELDS, values));
      if (joins) await tabHost.join(Number(values[WORKERS] || 2));
      goTo(runRoute(run.run_id));
    } catch (problem) {
      setError(problem);
      setSending(false);
    }
  };

  const set = (path: string, text: string) => setValues((old) => ({ ...old, [path]: text }));

  return (
    <form className="card start-form" onSubmit={start} aria-label={`Train ${game.title}`}>
      <h2>Train {game.title}</h2>
      <div className="fields">
        {MAIN_FIELDS.map((field) => (
          <FieldInput key={field.path} field={field} text={values[field.path] ?? ""} onChange={set} />
        ))}
      </div>
      <Switch
        mt="md"
        color="teal.8"
        label="Run the workers in this tab"
        description="Off: nothing plays until a device joins."
        checked={joins}
        onChange={(event) => setJoins(event.currentTarget.checked)}
      />
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        mt="md"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? "Fewer settings" : "More settings"}
      </Button>
      <Collapse expanded={isOpen}>
        <div className="fields">
          {ADVANCED_FIELDS.map((field) => (
            <FieldInput key={field.path} field={field} text={values[field.path] ?? ""} onChange={set} />
          ))}
        </div>
      </Collapse>
      {error !== null && <ErrorNotice error={error} />}
      {activeRun !== null && (
        <p className="soft">
          A run is going on:{" "}
          <Anchor href={formatRoute(runRoute(activeRun))} c="inherit" underline="always">
            {activeRun}
          </Anchor>
          . Stop it before you start another.
        </p>
      )}
      <Button
        type="submit"
        size="md"
        fullWidth
        mt="md"
        loading={isSending}
        disabled={!isFine || activeRun !== null}
      >
        Start training
      </Button>
    </form>
  );
}

interface FieldInputProps {
  field: Field;
  text: string;
  onChange: (path: string, text: string) => void;
}

function FieldInput({ field, text, onChange }: FieldInputProps) {
  const id = `field-${field.path.replaceAll(".", "-")}`;
  return (
    <div className="field">
      <span className="field-label">
        <label htmlFor={id}>{field.label}</label>
        <Help about={field.label} text={field.help} />
      </span>
      {field.kind === "choice" ? (
        <Select
          id={id}
          data={[...(field.choices ?? [])]}
          value={text === "" ? field.usual : text}
          allowDeselect={false}
          onChange={(value) => onChange(field.path, value === field.usual || value === null ? "" : value)}
        />
      ) : (
        <TextInput
          id={id}
          value={text}
          placeholder={field.usual}
          inputMode={field.kind === "sizes" || field.kind === "names" ? "text" : "decimal"}
          autoComplete="off"
          error={checkField(field, text)}
          onChange={(event) => onChange(field.path, event.currentTarget.value)}
        />
      )}
    </div>
  );
}
