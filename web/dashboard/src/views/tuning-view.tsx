/** Every study of `attract tune`, the one that changed last first. */

import { Loader } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { Fact } from "../components/fact.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { formatRoute } from "../routes.ts";
import { formatAge, formatNumber } from "../state/format.ts";
import { StudyPill } from "./study-pill.tsx";

const RELOAD_MS = 5000;

export function TuningView() {
  const { data: studies = null, error, refetch } = useQuery(polled(["studies"], api.studies, RELOAD_MS));
  return (
    <main id="content">
      <h1>Tuning</h1>
      <p className="lede">Searches for the settings that suit a game, by score and by seconds.</p>
      {error !== null && <ErrorNotice error={error} onRetry={refetch} />}
      {studies === null && error === null && <Loader aria-label="Loading studies" />}
      {studies !== null && studies.length === 0 && (
        <div className="card">
          <h2>No studies yet</h2>
          <p className="soft">
            Start one in a terminal, in the folder of this server, and it shows here while it runs:
          </p>
          <pre className="command">attract tune GAME --minutes 10</pre>
        </div>
      )}
      <ul className="run-rows">
        {(studies ?? []).map((one) => (
          <li key={one.study}>
            <a href={formatRoute({ view: "study", name: one.study })}>
              <span>
                <strong>{one.study}</strong>
                <br />
                <span className="soft run-id">{formatAge(one.changed, Date.now())}</span>
              </span>
              <Fact label="Best score" value={formatNumber(one.best_score)} />
              <Fact label="Trials" value={`${one.num_done} of ${one.num_trials}`} />
              <Fact label="Winner" value={one.winner === null ? "-" : `trial ${one.winner}`} />
              <StudyPill state={one.state} />
            </a>
          </li>
        ))}
      </ul>
    </main>
  );
}
