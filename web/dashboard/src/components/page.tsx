/** A page with its title, and in the place of its content what is the matter as long as there is none. */

import { Anchor, Group, Loader, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { ErrorNotice } from "./notice.tsx";

interface PageProps {
  title: string;
  /** Beside the title. */
  beside?: ReactNode;
  /** The page above this one. */
  back?: { text: string; href: string };
  lede?: ReactNode;
  /** What the page waits for, its data being undefined until then. */
  query?: { data: unknown; error: unknown; refetch?: () => void };
  children?: ReactNode;
}

export function Page({ title, beside, back, lede, query, children }: PageProps) {
  return (
    <main id="content">
      {back !== undefined && (
        <Text>
          <Anchor href={back.href}>{back.text}</Anchor>
        </Text>
      )}
      <Group gap={14}>
        <h1>{title}</h1>
        {beside}
      </Group>
      {lede != null && <p className="lede">{lede}</p>}
      {query !== undefined && query.error !== null && (
        <ErrorNotice error={query.error} onRetry={query.refetch} />
      )}
      {query !== undefined && query.error === null && query.data === undefined && (
        <Loader aria-label="Loading" />
      )}
      {children}
    </main>
  );
}
