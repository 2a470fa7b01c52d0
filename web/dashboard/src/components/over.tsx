/** Words over a game's screen, which they darken. */

import { Overlay, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

interface OverProps {
  title?: string;
  text?: string;
  /** Between both. */
  children?: ReactNode;
}

export function Over({ title, text, children }: OverProps) {
  return (
    <Overlay center color="#08090e" backgroundOpacity={0.62} zIndex={1} p={16} data-testid="over">
      <Stack align="center" gap={10} c="white" ta="center">
        {title !== undefined && <strong>{title}</strong>}
        {children}
        {text !== undefined && (
          <Text span fz={14} c="#d4d8e8" maw="46ch" style={{ overflowWrap: "anywhere" }}>
            {text}
          </Text>
        )}
      </Stack>
    </Overlay>
  );
}
