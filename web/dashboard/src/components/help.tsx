/** A question mark that explains a word to someone who never heard it. */

import { ActionIcon, Badge, Tooltip } from "@mantine/core";
import { useId } from "react";

export function Help({ text, about }: { text: string; about: string }) {
  const id = useId();
  return (
    <>
      <Tooltip label={text} multiline w={260} withArrow events={{ hover: true, focus: true, touch: true }}>
        {/* As large as a finger's or a shaky hand's target must be; the circle in it is smaller. */}
        <ActionIcon m={-4} aria-label={`About ${about}`} aria-describedby={id}>
          <Badge circle variant="default" size="xs" fz={10} c="dimmed" style={{ cursor: "help" }}>
            ?
          </Badge>
        </ActionIcon>
      </Tooltip>
      <span id={id} hidden>
        {text}
      </span>
    </>
  );
}
