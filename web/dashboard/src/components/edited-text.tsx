/** A text that is changed where it stands: a pencil opens it, Enter keeps it, Escape does not. */

import { TextInput } from "@mantine/core";
import { type KeyboardEvent, type ReactNode, useState } from "react";

interface EditedTextProps {
  /** What is edited, for its label: "name of Snake". */
  label: string;
  value: string;
  maxLength: number;
  /** How the text looks while it is not edited. */
  children: ReactNode;
  /** Called with a text that is not the one before. */
  onSave: (value: string) => void;
}

export function EditedText({ label, value, maxLength, children, onSave }: EditedTextProps) {
  const [text, setText] = useState<string | null>(null);
  if (text === null) {
    return (
      // Many rows of a table have some: no component is as quick as an element.
      <span className="edited">
        {children}
        <button
          type="button"
          className="sign pencil"
          aria-label={`Edit ${label}`}
          onClick={() => setText(value)}
        >
          ✎
        </button>
      </span>
    );
  }
  const close = (isKept: boolean) => {
    setText(null);
    if (isKept && text.trim() !== value) onSave(text.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") close(true);
    if (event.key === "Escape") close(false);
  };
  return (
    <TextInput
      size="xs"
      display="inline-block"
      miw={140}
      aria-label={label}
      value={text}
      maxLength={maxLength}
      ref={(input) => input?.focus()}
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={onKeyDown}
      onBlur={() => close(true)}
    />
  );
}
