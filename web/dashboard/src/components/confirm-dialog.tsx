/** A question before something that is not easily undone; Escape is no. */

import { Button } from "@mantine/core";
import { type ReactNode, useId } from "react";
import { useModal } from "../hooks/use-modal.ts";

interface ConfirmDialogProps {
  title: string;
  children: ReactNode;
  yes: string;
  no: string;
  /** Called once; the component that opened the dialog closes it. */
  onAnswer: (isYes: boolean) => void;
}

export function ConfirmDialog({ title, children, yes, no, onAnswer }: ConfirmDialogProps) {
  const dialog = useModal();
  const id = useId();
  return (
    <dialog
      ref={dialog}
      className="confirm"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-text`}
      onCancel={(event) => {
        event.preventDefault();
        onAnswer(false);
      }}
    >
      <h2 id={`${id}-title`}>{title}</h2>
      <p id={`${id}-text`}>{children}</p>
      <div className="actions">
        <Button variant="default" onClick={() => onAnswer(false)}>
          {no}
        </Button>
        <Button onClick={() => onAnswer(true)}>{yes}</Button>
      </div>
    </dialog>
  );
}
