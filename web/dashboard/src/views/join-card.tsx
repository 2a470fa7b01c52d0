/** Let this tab play, or another device: a number of workers, a link, a QR code. */

import type { RunView } from "@attract/schema";
import { Button, Group, NumberInput, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, useSyncExternalStore } from "react";
import { api } from "../api/client.ts";
import { Help } from "../components/help.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Part } from "../components/part.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { SharedLink } from "../components/shared-link.tsx";
import { plural } from "../state/format.ts";
import { suggestedWorkers, workersOf } from "../state/settings-form.ts";
import { tabHost } from "../state/tab-host.ts";

interface JoinCardProps {
  run: RunView;
  isLan: boolean;
}

export function JoinCard({ run, isLan }: JoinCardProps) {
  const { numWorkers, status } = useSyncExternalStore(tabHost.subscribe, tabHost.state);
  const [wanted, setWanted] = useState<number>(
    numWorkers || Math.min(workersOf(run), suggestedWorkers(navigator.hardwareConcurrency || 2)),
  );
  const { mutate: join, error } = useMutation({ mutationFn: (count: number) => tabHost.join(count) });
  return (
    <Part
      w={{ md: 380 }}
      title="Workers in this tab"
      beside={
        <Help
          about="a worker"
          text="A thread that plays many games at once and sends what it saw to the learner. It needs this tab to stay open."
        />
      }
    >
      <Group gap={8}>
        <NumberInput
          aria-label="Number of workers"
          value={wanted}
          min={1}
          max={64}
          allowDecimal={false}
          w={88}
          onChange={(value) => setWanted(Math.max(1, Math.min(64, Number(value) || 1)))}
        />
        {numWorkers === 0 ? (
          <ServerButton onClick={() => join(wanted)}>Start</ServerButton>
        ) : (
          <>
            {wanted !== numWorkers && <ServerButton onClick={() => join(wanted)}>Change</ServerButton>}
            <Button variant="default" onClick={() => tabHost.leave()}>
              End
            </Button>
          </>
        )}
      </Group>
      <Text c="dimmed" fz={14} my={10}>
        {numWorkers === 0
          ? "None runs here."
          : `${status?.numWorkers ?? 0} of ${plural(numWorkers, "worker")} running.`}
      </Text>
      {status?.error != null && numWorkers > 0 && <ErrorNotice error={new Error(status.error)} />}
      <ErrorNotice error={error} />
      {isLan ? (
        <InviteLink />
      ) : (
        <Text c="dimmed" fz={14} mt={10}>
          Phones and other computers can join when the server was started with <code>--lan</code>.
        </Text>
      )}
    </Part>
  );
}

function InviteLink() {
  const { data: link, mutate, error } = useMutation({ mutationFn: () => api.join({ tier: "invited" }) });
  if (link === undefined) {
    return (
      <>
        <ServerButton variant="default" onClick={() => mutate()}>
          Invite another device
        </ServerButton>
        <ErrorNotice error={error} />
      </>
    );
  }
  return (
    <SharedLink
      name="join link"
      intro="Scan it, or open this address on the other device:"
      url={link.url}
      testId="join-url"
    >
      It lets a device play, nothing else, and works for {Math.round(link.expires_seconds / 3600)} hours.
    </SharedLink>
  );
}
