/** Every study of `attract tune`, the one that changed last first. */

import { Code, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { Fact } from "../components/fact.tsx";
import { Page } from "../components/page.tsx";
import { Part } from "../components/part.tsx";
import { StudyPill } from "../components/state-pill.tsx";
import { formatRoute } from "../routes.ts";
import { formatAge, formatNumber } from "../state/format.ts";
import { Row, Rows } from "./run-rows.tsx";

const RELOAD_MS = 5000;

export function TuningView() {
  const query = useQuery(polled(["studies"], api.studies, RELOAD_MS));
  const { data: studies } = query;
  return (
    <Page
      title="Tuning"
      lede="Searches for the settings that suit a game, by score and by seconds."
      query={query}
    >
      {studies?.length === 0 && (
        <Part title="No studies yet">
          <Text c="dimmed" mb={8}>
            Start one in a terminal, in the folder of this server, and it shows here while it runs:
          </Text>
          <Code block>attract tune GAME --minutes 10</Code>
        </Part>
      )}
      {studies !== undefined && studies.length > 0 && (
        <Rows>
          {studies.map((one) => (
            <Row
              key={one.study}
              href={formatRoute({ view: "study", name: one.study })}
              name={
                <>
                  <strong>{one.study}</strong>
                  <Text fz={13} c="dimmed">
                    {formatAge(one.changed, Date.now())}
                  </Text>
                </>
              }
              facts={[
                <Fact key="best" label="Best score" value={formatNumber(one.best_score)} />,
                <Fact key="trials" label="Trials" value={`${one.num_done} of ${one.num_trials}`} />,
                <Fact
                  key="winner"
                  label="Winner"
                  value={one.winner === null ? "-" : `trial ${one.winner}`}
                />,
              ]}
              pill={<StudyPill state={one.state} />}
            />
          ))}
        </Rows>
      )}
    </Page>
  );
}
