/** What keeps the run from learning, as its diagnosis says it, and one thing to try for each. */

import type { RunView } from "@attract/schema";
import { Anchor, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { Part } from "../components/part.tsx";
import { Sentence } from "../components/sentence.tsx";
import { useMayChange } from "../hooks/use-role.ts";
import { formatRoute } from "../routes.ts";
import { changesOfFlag, titleOfFinding } from "../state/finding-text.ts";
import { formatCount } from "../state/format.ts";

export function FindingsCard({ run }: { run: RunView }) {
  const { findings } = run;
  const mayChange = useMayChange();
  const { data: form } = useQuery({
    queryKey: ["settings form"],
    queryFn: api.settingsForm,
    staleTime: Infinity,
    enabled: findings.length > 0,
  });
  if (findings.length === 0) return null;
  return (
    <Part
      title={findings.some((one) => one.kind === "learning") ? "Is it learning?" : "It could be faster"}
      className="edge"
      data-tone="wait"
      data-testid="findings"
    >
      <Stack component="ul" className="rows" gap={14}>
        {findings.map((finding) => (
          <li key={finding.finding_id}>
            <h3>{titleOfFinding(finding)}</h3>
            <Text>
              <Sentence text={finding.text} />
            </Text>
            <Text>
              <strong>Try: </strong>
              <Sentence text={finding.advice} />{" "}
              {finding.setting !== null && form !== undefined && mayChange && (
                <Anchor
                  href={formatRoute({
                    view: "start",
                    game: run.game,
                    from: run.run_id,
                    set: changesOfFlag(finding.setting, form.short_flags),
                  })}
                >
                  Set it for a new run
                </Anchor>
              )}
            </Text>
            <Text c="dimmed">Since {formatCount(finding.first_agent_steps)} steps.</Text>
          </li>
        ))}
      </Stack>
    </Part>
  );
}
