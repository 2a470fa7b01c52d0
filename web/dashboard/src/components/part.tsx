/** A part of a page with its title, which names it: a card, or on the page's own ground. */

import { Group, Paper, type PaperProps } from "@mantine/core";
import { type ReactNode, useId } from "react";

interface PartProps extends PaperProps {
  title: ReactNode;
  /** At the other end of the title's line. */
  beside?: ReactNode;
  isPlain?: boolean;
  "data-testid"?: string;
  "data-tone"?: string;
  children?: ReactNode;
}

export function Part({ title, beside, isPlain = false, children, ...props }: PartProps) {
  const id = useId();
  const look = isPlain ? { p: 0, withBorder: false, bg: "none", radius: 0 } : { p: "lg" };
  return (
    <Paper component="section" aria-labelledby={id} {...look} {...props}>
      {beside === undefined ? (
        <h2 id={id}>{title}</h2>
      ) : (
        <Group justify="space-between" gap="8px 16px" mb={8}>
          <h2 id={id} style={{ margin: 0 }}>
            {title}
          </h2>
          {beside}
        </Group>
      )}
      {children}
    </Paper>
  );
}
