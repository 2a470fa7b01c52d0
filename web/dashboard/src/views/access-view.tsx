/** Who may come in: browsers that are signed in, and join links; each can be ended. */

import type { AccessView as Access, InvitationEntry, SessionEntry } from "@attract/schema";
import { Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { Part } from "../components/part.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { formatAge, formatDevice, formatUntil, plural } from "../state/format.ts";
import { ViewerLink } from "./viewer-link.tsx";

const RELOAD_MS = 5000;

export function AccessView() {
  const query = useQuery(polled(["access"], api.access, RELOAD_MS));
  const { data: value, refetch } = query;
  const end = useMutation({
    mutationFn: (entryId: string): Promise<unknown> => {
      const isOwn = value?.sessions.some((one) => one.is_own && one.entry_id === entryId);
      return isOwn ? api.logOut() : api.revoke(entryId);
    },
    onSettled: () => refetch(),
  });
  return (
    <Page
      title="Access"
      lede="Browsers that are signed in, and join links. Ending one disconnects it at once."
      query={query}
    >
      <ErrorNotice error={end.error} />
      {value !== undefined && <Lists access={value} onEnd={end.mutate} onChange={refetch} />}
    </Page>
  );
}

interface ListsProps {
  access: Access;
  onEnd: (entryId: string) => void;
  onChange: () => void;
}

function Lists({ access, onEnd, onChange }: ListsProps) {
  return (
    <Stack gap={20}>
      <Part title="Browsers that are signed in">
        {access.sessions.length === 0 && <p className="soft">None.</p>}
        <ul className="rows">
          {access.sessions.map((one) => (
            <SessionRow key={one.entry_id} session={one} onEnd={onEnd} />
          ))}
        </ul>
      </Part>
      <Part title="Links that work">
        {access.invitations.length === 0 && (
          <p className="soft">None. A run's page makes links for workers: “Invite another device”.</p>
        )}
        <ViewerLink runId={null} onMade={onChange} />
        <ul className="rows">
          {access.invitations.map((one) => (
            <InvitationRow key={one.entry_id} invitation={one} onEnd={onEnd} />
          ))}
        </ul>
      </Part>
    </Stack>
  );
}

function SessionRow({ session, onEnd }: { session: SessionEntry; onEnd: (entryId: string) => void }) {
  const now = Date.now();
  return (
    <Row
      title={
        <>
          {formatDevice(session.agent)}
          {session.is_own && <span className="soft"> (this one)</span>}
          {session.role === "viewer" && <span className="soft"> (may only look)</span>}
        </>
      }
      facts={`signed in ${formatAge(session.created, now)}, used ${formatAge(session.seen, now)}`}
      button={session.is_own ? "Log out" : "End"}
      onEnd={() => onEnd(session.entry_id)}
    />
  );
}

function InvitationRow({
  invitation,
  onEnd,
}: {
  invitation: InvitationEntry;
  onEnd: (entryId: string) => void;
}) {
  const now = Date.now();
  return (
    <Row
      title={invitation.note}
      facts={`${USES[invitation.tier]}; made ${formatAge(invitation.created, now)}, works ${formatUntil(invitation.expires, now)}${
        invitation.tier === "viewer" ? "" : `; ${plural(invitation.sockets, "open socket")}`
      }`}
      button="Revoke"
      onEnd={() => onEnd(invitation.entry_id)}
    />
  );
}

const USES: Readonly<Record<InvitationEntry["tier"], string>> = {
  local: "counts as this machine",
  invited: "workers of other devices",
  viewer: "may only look",
};

interface RowProps {
  title: ReactNode;
  facts: string;
  button: string;
  onEnd: () => void;
}

function Row({ title, facts, button, onEnd }: RowProps) {
  return (
    <Group component="li" justify="space-between" gap="6px 20px" py={12} fz={14}>
      <span>
        <Text fz={15} fw={600}>
          {title}
        </Text>
        <span className="soft">{facts}</span>
      </span>
      <ServerButton variant="default" size="xs" onClick={onEnd}>
        {button}
      </ServerButton>
    </Group>
  );
}
