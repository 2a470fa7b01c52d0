/** Let this tab play, or another device: a number of workers, a link, a QR code. */

import type { FleetView, JoinLink, RunView } from "@attract/schema";
import { Button, CopyButton, NumberInput } from "@mantine/core";
import { useState, useSyncExternalStore } from "react";
import { api } from "../api/client.ts";
import { Help } from "../parts/help.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { QrCode } from "../parts/qr-code.tsx";
import { formatCount } from "../state/format.ts";
import { suggestedWorkers, workersOf } from "../state/settings-form.ts";
import { tabHost } from "../state/tab-host.ts";

interface JoinCardProps {
  run: RunView;
  fleet: FleetView | null;
  isLan: boolean;
}

export function JoinCard({ run, isLan }: JoinCardProps) {
  const { numWorkers, status } = useSyncExternalStore(tabHost.subscribe, tabHost.state);
  const [wanted, setWanted] = useState<number>(
    numWorkers || Math.min(workersOf(run), suggestedWorkers(navigator.hardwareConcurrency || 2)),
  );
  const [error, setError] = useState<unknown>(null);
  const join = (count: number) => {
    setError(null);
    tabHost.join(count).catch(setError);
  };
  return (
    <section className="card" id="join-card" aria-labelledby="join-title">
      <h2 id="join-title">
        Play along{" "}
        <Help
          about="joining"
          text="Each worker is a thread that plays many games at once and sends what it saw to the learner."
        />
      </h2>
      <div className="join-row">
        <NumberInput
          aria-label="Workers in this tab"
          value={wanted}
          min={1}
          max={64}
          allowDecimal={false}
          w={88}
          onChange={(value) => setWanted(Math.max(1, Math.min(64, Number(value) || 1)))}
        />
        {numWorkers === 0 ? (
          <Button onClick={() => join(wanted)}>Join with this tab</Button>
        ) : (
          <>
            {wanted !== numWorkers && <Button onClick={() => join(wanted)}>Change</Button>}
            <Button variant="default" onClick={() => tabHost.leave()}>
              Leave
            </Button>
          </>
        )}
      </div>
      <p className="soft join-status" role="status">
        {numWorkers === 0
          ? "This tab does not play."
          : `This tab: ${status?.numWorkers ?? 0} of ${numWorkers} workers, ${formatCount(status?.stepsPerSecond ?? 0)} steps per second.`}
      </p>
      {status?.error != null && numWorkers > 0 && <ErrorNotice error={new Error(status.error)} />}
      {error !== null && <ErrorNotice error={error} />}
      {isLan ? (
        <InviteLink />
      ) : (
        <p className="soft join-hint">
          Phones and other computers can join when the server was started with <code>--lan</code>.
        </p>
      )}
    </section>
  );
}

function InviteLink() {
  const [link, setLink] = useState<JoinLink | null>(null);
  const [error, setError] = useState<unknown>(null);
  const make = () => {
    setError(null);
    api.join({ tier: "invited" }).then(setLink, setError);
  };
  if (link === null) {
    return (
      <>
        <Button variant="default" onClick={make}>
          Invite another device
        </Button>
        {error !== null && <ErrorNotice error={error} />}
      </>
    );
  }
  return (
    <div className="join">
      <div>
        <p style={{ marginTop: 0 }}>Scan it, or open this address on the other device:</p>
        <p className="mono join-url" data-testid="join-url">
          {link.url}
        </p>
        <CopyLink url={link.url} />
        <p className="soft join-hint">
          It lets a device play, nothing else, and works for {Math.round(link.expires_seconds / 3600)} hours.
        </p>
      </div>
      <QrCode text={link.url} label="QR code of the join link" />
    </div>
  );
}

/** The clipboard exists only on https and on localhost; elsewhere the link is there to be selected. */
function CopyLink({ url }: { url: string }) {
  if (!("clipboard" in navigator)) return null;
  return (
    <CopyButton value={url}>
      {({ copied, copy }) => (
        <Button size="xs" variant="default" onClick={copy}>
          {copied ? "Copied" : "Copy link"}
        </Button>
      )}
    </CopyButton>
  );
}
