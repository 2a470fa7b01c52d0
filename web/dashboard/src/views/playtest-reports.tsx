/** What `attract ci` found in builds of a game: each finding with its place, and a link to its episode. */

import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { formatRoute } from "../routes.ts";
import { placeText, reportText } from "../state/playtest-text.ts";

interface PlaytestReportsProps {
  /** Id in the game's description. */
  gameId: string;
  /** Its name on this server. */
  game: string;
}

/** Nothing where no report is there. */
export function PlaytestReports({ gameId, game }: PlaytestReportsProps) {
  const { data = [] } = useQuery({ queryKey: ["findings"], queryFn: api.findings });
  const reports = data.filter((report) => report.game_id === gameId);
  if (reports.length === 0) return null;
  const now = Date.now();
  return (
    <section className="section" aria-labelledby="playtest-title" data-testid="playtest">
      <h2 id="playtest-title" className="section-title">
        Found by attract ci
      </h2>
      {reports.map((report) => (
        <div key={report.folder}>
          <p className="soft">
            {reportText(report, now)}. Folder <code>{report.folder}</code>
          </p>
          <ul className="card episode-list">
            {report.findings.map((finding) => (
              // Two of one id have different sentences.
              <li key={`${finding.id} ${finding.text}`}>
                {finding.episode !== null && finding.episode_file !== null ? (
                  <Anchor
                    href={formatRoute({
                      view: "finding",
                      game,
                      folder: report.folder,
                      file: finding.episode_file,
                    })}
                  >
                    {finding.id}: {finding.text}
                  </Anchor>
                ) : (
                  <span>
                    {finding.id}: {finding.text}
                  </span>
                )}
                <span className="soft">{placeText(finding)}</span>
                {finding.problem !== null && <span className="soft">{finding.problem}</span>}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
