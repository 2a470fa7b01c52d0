/** The parts of a run's page as links: each has an address, and the browser's buttons go between them. */

import { Group, Text } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { formatRoute, type Route, RUN_TABS, type RunTab } from "../routes.ts";

const NAMES: Readonly<Record<RunTab, string>> = {
  overview: "Overview",
  charts: "Charts",
  play: "Play",
  workers: "Workers",
  settings: "Settings",
  log: "Log",
};

interface RunTabsProps {
  route: Extract<Route, { view: "run" }>;
  /** What a part is marked with, such as a count. */
  marks: Partial<Record<RunTab, number>>;
  /** Buttons at the end of the row. */
  children: ReactNode;
}

export function RunTabs({ route, marks, children }: RunTabsProps) {
  const { tab: current = "overview" } = route;
  const chosen = useRef<HTMLAnchorElement>(null);
  // On a narrow phone the row scrolls.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another part is chosen
  useEffect(() => {
    chosen.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current]);
  return (
    <Group className="run-tabs" gap={8} wrap="nowrap">
      <nav className="nav" aria-label="Parts of the run">
        {RUN_TABS.map((tab) => (
          <a
            key={tab}
            href={formatRoute({ ...route, tab })}
            aria-current={tab === current ? "page" : undefined}
            ref={tab === current ? chosen : undefined}
          >
            {NAMES[tab]}{" "}
            {(marks[tab] ?? 0) > 0 && (
              <Text span visibleFrom="sm" ml={2} fz={12} c="dimmed" ff="monospace">
                {marks[tab]}
              </Text>
            )}
          </a>
        ))}
      </nav>
      {children}
    </Group>
  );
}
