/** A question mark that explains a word to someone who never heard it. */

import { Tooltip } from "@mantine/core";
import { useId } from "react";

export function Help({ text, about }: { text: string; about: string }) {
  const id = useId();
  return (
    <>
      <Tooltip label={text} multiline w={260} withArrow events={{ hover: true, focus: true, touch: true }}>
        <button type="button" className="help" aria-label={`About ${about}`} aria-describedby={id}>
          ?
        </button>
      </Tooltip>
      <span id={id} hidden>
        {text}
      </span>
    </>
  );
}
