/** The end of a run: its agent, to be put into one's own game. */

import type { RunView } from "@attract/schema";
import { Code, Group, Paper, Text } from "@mantine/core";
import { policyPath, runPath, serverUrl } from "../api/client.ts";
import { CopyText } from "../components/copy-text.tsx";
import { ServerLink } from "../components/server-button.tsx";
import { modelFileOf, policyIdsOf, seatsOf } from "../state/seats.ts";
import { commandOf, FOLDER, resultOf, snippetOf } from "../state/shipping-text.ts";

export function ShipCard({ run }: { run: RunView }) {
  const command = commandOf(run);
  const snippet = command ?? snippetOf(run);
  const files = [
    { name: "agent.js", path: "agent.js" },
    ...policyIdsOf(seatsOf(run)).map((policyId) => ({
      name: modelFileOf(policyId),
      path: policyPath(run.run_id, "latest", policyId),
    })),
    { name: "policy.json", path: runPath(run.run_id, "/policy.json") },
  ];
  return (
    <Paper component="section" p="10px 20px" aria-labelledby="ship-title" data-testid="ship">
      <Group justify="space-between" gap="8px 20px">
        <div>
          <h2 id="ship-title" style={{ margin: 0 }}>
            Put it into your game
          </h2>
          <Text>{resultOf(run)}.</Text>
        </div>
        <Group gap={8}>
          {command === null &&
            files.map(({ name, path }) => (
              <ServerLink key={name} size="xs" variant="default" href={serverUrl(path).href} download={name}>
                {name}
              </ServerLink>
            ))}
          <CopyText text={snippet} name={command === null ? "the lines" : "the command"} />
        </Group>
      </Group>
      <details>
        <summary>{command === null ? "The lines for your page" : "The command that writes the page"}</summary>
        <Text c="dimmed" my={8}>
          {command === null ? (
            <>
              Put these files into a folder <code>{FOLDER}</code> beside your page:
            </>
          ) : (
            <>
              This writes the game's page into a folder <code>site</code>, with the agent in it. After ten
              seconds without a key, a click or a touch it plays, and any of them gives the game back:
            </>
          )}
        </Text>
        <Code block tabIndex={0}>
          {snippet}
        </Code>
      </details>
    </Paper>
  );
}
