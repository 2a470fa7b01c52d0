/** A button that copies a text. The clipboard exists only on https and on localhost; elsewhere there is no button. */

import { Button, CopyButton } from "@mantine/core";

export function CopyText({ text, name }: { text: string; name: string }) {
  if (!("clipboard" in navigator)) return null;
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button size="xs" variant="default" onClick={copy}>
          {copied ? "Copied" : `Copy ${name}`}
        </Button>
      )}
    </CopyButton>
  );
}
