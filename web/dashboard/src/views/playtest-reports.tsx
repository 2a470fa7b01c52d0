/** What `attract ci` found in builds of a game: each finding with its place, and a link to its episode. */

import { Anchor, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { Part } from "../components/part.tsx";
import { formatRoute } from "../routes.ts";
import { placeText, reportText, titleOf } from "../state/playtest-text.ts";
import { Rows } from "./run-rows.tsx";

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
    <Part isPlain mt={28} title="Found by attract ci" data-testid="playtest">
      {reports.map((report) => (
        <div key={report.folder}>
          <p className="soft">
            {reportText(report, now)}. Folder <code>{report.folder}</code>
          </p>
          <Rows>
            {report.findings.map((finding) => (
              // Two of one id have different sentences.
              <Group key={`${finding.id} ${finding.text}`} component="li" gap="2px 16px" px={14} py={8}>
                {finding.episode !== null && finding.episode_file !== null ? (
                  <Anchor
                    href={formatRoute({
                      view: "finding",
                      game,
                      folder: report.folder,
                      file: finding.episode_file,
                    })}
                  >
                    {titleOf(finding)}
                  </Anchor>
                ) : (
                  <span>{titleOf(finding)}</span>
                )}
                <span className="soft">{placeText(finding)}</span>
                {finding.problem !== null && <span className="soft">{finding.problem}</span>}
              </Group>
            ))}
          </Rows>
        </div>
      ))}
    </Part>
  );
}
