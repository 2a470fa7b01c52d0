/** The versions that a run keeps, the newest first, each to be played at once. */

import type { VersionView } from "@attract/schema";
import { Button } from "@mantine/core";
import { formatCount, formatNumber } from "../state/format.ts";

interface VersionsCardProps {
  /** Ascending. */
  versions: readonly VersionView[];
  /** The version that plays; null: the newest. */
  chosen: number | null;
  onChoose: (version: number | null) => void;
}

export function VersionsCard({ versions, chosen, onChoose }: VersionsCardProps) {
  return (
    <section className="card versions-card" aria-labelledby="versions-title">
      <h2 id="versions-title">Versions</h2>
      {versions.length === 0 ? (
        <p className="soft">None is kept yet.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        <section className="versions-scroll" tabIndex={0} aria-label="Kept versions">
          <table className="plain-table">
            <thead>
              <tr>
                <th className="label">Version</th>
                <th className="label number">Steps</th>
                <th className="label number">Return</th>
                <th className="label number">Evaluated</th>
                <th className="label">
                  <span className="unseen">Play</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {versions.toReversed().map((version) => (
                <Row key={version.policy_version} version={version} chosen={chosen} onChoose={onChoose} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  );
}

interface RowProps extends Omit<VersionsCardProps, "versions"> {
  version: VersionView;
}

function Row({ version, chosen, onChoose }: RowProps) {
  const { policy_version: number, newest, best, exported } = version;
  const isOn = newest ? chosen === null || chosen === number : chosen === number;
  const marks = [newest && "newest", best && "best", exported && "exported", isOn && "plays now"]
    .filter(Boolean)
    .join(", ");
  return (
    <tr data-version={number}>
      <th scope="row">
        <span className="mono">{number}</span> {marks !== "" && <span className="soft">{marks}</span>}
      </th>
      <td className="mono number">{formatCount(version.agent_steps)}</td>
      <td className="mono number">{formatNumber(version.return_mean)}</td>
      <td className="mono number">{formatNumber(version.evaluations[0]?.return_mean)}</td>
      <td className="number">
        <Button
          size="compact-xs"
          variant={isOn ? "filled" : "default"}
          aria-pressed={isOn}
          aria-label={`Play version ${number}`}
          onClick={() => onChoose(newest ? null : number)}
        >
          Play
        </Button>
      </td>
    </tr>
  );
}
