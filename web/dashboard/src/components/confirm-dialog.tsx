/** A question before something that is not easily undone; Escape is no. */

import { Button, Group, Modal } from "@mantine/core";
import type { ReactNode } from "react";

interface ConfirmDialogProps {
  /** It stays on the page while it is closed: then the focus goes back to where it was. */
  opened: boolean;
  title: string;
  children: ReactNode;
  yes: string;
  no: string;
  /** Called once; the component that opened the dialog closes it. */
  onAnswer: (isYes: boolean) => void;
}

export function ConfirmDialog({ opened, title, children, yes, no, onAnswer }: ConfirmDialogProps) {
  return (
    <Modal opened={opened} title={title} withCloseButton={false} onClose={() => onAnswer(false)}>
      {children}
      <Group justify="flex-end" gap="xs" mt="md">
        <Button variant="default" onClick={() => onAnswer(false)}>
          {no}
        </Button>
        <Button onClick={() => onAnswer(true)}>{yes}</Button>
      </Group>
    </Modal>
  );
}
