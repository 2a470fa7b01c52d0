/** A link for another device: as a text to copy, and as a QR code. */

import { Code, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { encode } from "uqr";
import { CopyText } from "./copy-text.tsx";

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
        <Text c="dimmed" fz={14} mt={10}>
          {children}
        </Text>
      </div>
      <QrCode text={url} label={`QR code of the ${name}`} />
    </Group>
  );
}

/** One SVG path, dark on white in both schemes so that every camera reads it. */
function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { ecc: "M", border: 2 });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")))
    .join("");
  return (
    <svg
      width={168}
      height={168}
      style={{ padding: 8, borderRadius: 12, background: "#fff" }}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      role="img"
      aria-label={label}
    >
      <path d={path} fill="#1b1d27" />
    </svg>
  );
}
