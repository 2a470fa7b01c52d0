/** A link for another device: as a text to copy, and as a QR code. */

import { Code, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { CopyText } from "./copy-text.tsx";
import { QrCode } from "./qr-code.tsx";

interface SharedLinkProps {
  /** Such as "join link". */
  name: string;
  intro: string;
  url: string;
  testId: string;
  /** What the link allows, and for how long. */
  children: ReactNode;
}

export function SharedLink({ name, intro, url, testId, children }: SharedLinkProps) {
  return (
    <Group gap={20} align="flex-start">
      <div style={{ flex: "1 1 260px", minWidth: 0 }}>
        <Text>{intro}</Text>
        <Code
          block
          my={12}
          fz={13}
          data-testid={testId}
          style={{ whiteSpace: "normal", overflowWrap: "anywhere" }}
        >
          {url}
        </Code>
        <CopyText text={url} name="link" />
        <Text c="var(--soft)" fz={14} mt={10}>
          {children}
        </Text>
      </div>
      <QrCode text={url} label={`QR code of the ${name}`} />
    </Group>
  );
}
