/** Who may come in: browsers that are signed in, and join links; each can be ended. */

import type { AccessView as Access, InvitationEntry, SessionEntry } from "@attract/schema";
import { Group, Loader, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { formatAge, formatDevice, formatUntil, plural } from "../state/format.ts";
import { ViewerLink } from "./viewer-link.tsx";

const RELOAD_MS = 5000;

export function AccessView() {
  const { data: value = null, error, refetch } = useQuery(polled(["access"], api.access, RELOAD_MS));
  const [failure, setFailure] = useState<unknown>(null);
  const end = (entryId: string) => {
    setFailure(null);
    const isOwn = value?.sessions.some((one) => one.is_own && one.entry_id === entryId);
    const ended: Promise<unknown> = isOwn ? api.logOut() : api.revoke(entryId);
    ended.catch(setFailure).finally(refetch);
  };
  return (
    <main id="content">
      <h1>Access</h1>
      <p className="lede">Browsers that are signed in, and join links. Ending one disconnects it at once.</p>
      {error !== null && <ErrorNotice error={error} onRetry={refetch} />}
      {failure !== null && <ErrorNotice error={failure} />}
      {value === null && error === null && <Loader aria-label="Loading" />}
      {value !== null && <Lists access={value} onEnd={end} onChange={refetch} />}
    </main>
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
      <section className="card" aria-labelledby="sessions-title">
        <h2 id="sessions-title">Browsers that are signed in</h2>
        {access.sessions.length === 0 && <p className="soft">None.</p>}
        <ul className="access-list">
          {access.sessions.map((one) => (
            <SessionRow key={one.entry_id} session={one} onEnd={onEnd} />
          ))}
        </ul>
      </section>
      <section className="card" aria-labelledby="invitations-title">
        <h2 id="invitations-title">Links that work</h2>
        {access.invitations.length === 0 && (
          <p className="soft">None. A run's page makes links for workers: “Invite another device”.</p>
        )}
        <ViewerLink runId={null} onMade={onChange} />
        <ul className="access-list">
          {access.invitations.map((one) => (
            <InvitationRow key={one.entry_id} invitation={one} onEnd={onEnd} />
          ))}
        </ul>
      </section>
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
        <span className="title">{title}</span>
        <br />
        <span className="soft">{facts}</span>
      </span>
      <ServerButton variant="default" size="xs" onClick={onEnd}>
        {button}
      </ServerButton>
    </Group>
  );
}
