/** A text of the server as a sentence; what stands between backticks is code. */

import { Code } from "@mantine/core";
import { sentenceParts } from "../state/finding-text.ts";

export function Sentence({ text }: { text: string }) {
  let position = 0;
  return sentenceParts(text).map((part) => {
    position += part.text.length;
    return part.isCode ? (
      <Code key={position} fz={13}>
        {part.text}
      </Code>
    ) : (
      <span key={position}>{part.text}</span>
    );
  });
}
