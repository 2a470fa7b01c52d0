/** A question mark that explains a word to someone who never heard it. */

import { Tooltip } from "@mantine/core";

export function Help({ text, about }: { text: string; about: string }) {
  return (
    <Tooltip label={text} multiline w={260} withArrow events={{ hover: true, focus: true, touch: true }}>
      <button type="button" className="help" aria-label={`What is ${about}? ${text}`}>
        ?
      </button>
    </Tooltip>
  );
}
