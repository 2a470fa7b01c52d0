/** One setting of the start form: what the run will use, who decided it, and what is wrong with it. */

import { ActionIcon, Group, NativeSelect, TextInput } from "@mantine/core";
import type { ChangeEvent } from "react";
import { Help } from "../components/help.tsx";
import type { ChangedBy, Field } from "../state/settings-form.ts";

interface SettingFieldProps {
  field: Field;
  /** What stands in the field. */
  text: string;
  /** What it reads while it is empty. */
  empty: string;
  /** What the run makes of it, where that is not what stands in it. */
  note: string | null;
  changedBy: ChangedBy | null;
  /** What the field shows without the change; for the button that goes back. */
  ownText: string;
  problem: string | null;
  onChange: (path: string, text: string) => void;
  onReset: (path: string) => void;
}

export function SettingField(props: SettingFieldProps) {
  const { field, text, empty, note, changedBy, ownText, problem, onChange, onReset } = props;
  const id = `field-${field.path.replaceAll(".", "-")}`;
  const shared = {
    id,
    value: text,
    description: note,
    inputWrapperOrder: ORDER,
    error: problem,
    styles: { input: { borderLeft: BARS[changedBy ?? "no"] } },
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLSelectElement>) =>
      onChange(field.path, event.currentTarget.value),
  };
  return (
    <div data-path={field.path} data-changed={changedBy ?? "no"}>
      <Group component="span" gap={6} mb={4} fz={13} fw={600} lh={1.25}>
        <label htmlFor={id}>{field.label}</label>
        <Help about={field.label} text={`${field.help} (${field.path})`} />
        {changedBy === "you" && (
          <ActionIcon
            my={-4}
            aria-label={`Back to ${ownText || "empty"}: ${field.label}`}
            title={`Back to ${ownText || "empty"}`}
            onClick={() => onReset(field.path)}
          >
            ↺
          </ActionIcon>
        )}
        {changedBy !== null && changedBy !== "you" && (
          <span className="label">{changedBy === "machine" ? "this machine" : "preset"}</span>
        )}
      </Group>
      {field.kind === "choice" || field.kind === "boolean" ? (
        <NativeSelect {...shared} data={choicesOf(field, empty)} />
      ) : (
        <TextInput
          {...shared}
          placeholder={empty}
          inputMode={field.kind === "integer" || field.kind === "number" ? "decimal" : "text"}
          autoComplete="off"
          // Left empty where there must be a value: back to what the run would use.
          onBlur={() => text.trim() === "" && (!field.isNullable || ownText === "") && onReset(field.path)}
        />
      )}
    </div>
  );
}

/** At the left of a field: who changed it. */
const BARS: Readonly<Record<ChangedBy | "no", string | undefined>> = {
  you: "3px solid var(--coin)",
  machine: "3px dotted var(--soft)",
  preset: "3px dotted var(--coin)",
  no: undefined,
};

const ORDER: ("label" | "input" | "description" | "error")[] = ["label", "input", "description", "error"];

function choicesOf(field: Field, empty: string): { value: string; label: string }[] {
  const none = field.isNullable ? [{ value: "", label: empty }] : [];
  if (field.kind === "boolean") {
    return [...none, { value: "true", label: "Yes" }, { value: "false", label: "No" }];
  }
  return [...none, ...(field.choices ?? []).map((value) => ({ value, label: value }))];
}
