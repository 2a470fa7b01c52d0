/** One run, live or past, in parts: the game beside its learning curve, charts, versions, workers, settings, log. */

import "../styles/run.css";
import { Anchor, Flex, Loader, Paper, SimpleGrid, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { ApiError, api, isNoAnswer } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { Part } from "../components/part.tsx";
import { useChartView, useVersion } from "../hooks/use-in-address.ts";
import { useMayChange } from "../hooks/use-role.ts";
import { replaceRoute } from "../hooks/use-route.ts";
import { useRun } from "../hooks/use-run.ts";
import { useRunRow } from "../hooks/use-run-row.ts";
import { useTabTitle } from "../hooks/use-tab-title.ts";
import { formatRoute, type Route, type RunTab, runsRoute } from "../routes.ts";
import { resolveRange } from "../state/chart-view.ts";
import { LESSON_METRIC, lessonMarks, lessonNames } from "../state/lessons.ts";
import { isOver, newestModel, numWorkers, waitsForWorkers } from "../state/run-state.ts";
import { RETURN, spanOf } from "../state/series.ts";
import { iconOf, titleOf, toneOf } from "../state/tab-title.ts";
import { placedVersions, standingAt } from "../state/versions.ts";
import { Charts, PinnedCharts, ReturnChart } from "./charts.tsx";
import { Episodes } from "./episodes.tsx";
import { FindingsCard } from "./findings-card.tsx";
import { FleetCard } from "./fleet-card.tsx";
import { GamePanel } from "./game-panel.tsx";
import { JoinCard } from "./join-card.tsx";
import { LadderCard } from "./ladder-card.tsx";
import { MatchCard } from "./match-card.tsx";
import { PlaytestReports } from "./playtest-reports.tsx";
import { FaultStrip, Reports } from "./reports.tsx";
import { RunHead } from "./run-head.tsx";
import { RunLog } from "./run-log.tsx";
import { RunSettings } from "./run-settings.tsx";
import { RunStats } from "./run-stats.tsx";
import { RunTabs } from "./run-tabs.tsx";
import { RunTools } from "./run-tools.tsx";
import { ShipCard } from "./ship-card.tsx";
import { VersionSlider } from "./version-slider.tsx";
import { VersionsCard } from "./versions-card.tsx";
import { ViewerLink } from "./viewer-link.tsx";

const VERSIONS_MS = 3000;

type RunRoute = Extract<Route, { view: "run" }>;

export function RunView({ route, isLan }: { route: RunRoute; isLan: boolean }) {
  const live = useRun(route.runId);
  const mayChange = useMayChange();
  const [isSharing, setSharing] = useState(false);
  const [row, edit] = useRunRow(route.runId);
  const [failure, setFailure] = useState<unknown>(null);
  const isWaiting = live.run !== null && waitsForWorkers(live.run, live.fleet);
  useTabTitle(
    live.run === null ? null : titleOf(live.run, isWaiting, row?.name),
    live.run === null ? null : iconOf(toneOf(live.run, isWaiting)),
  );
  const { run } = live;
  const [version, setVersion] = useVersion(route);
  const [view, onView] = useChartView(route);
  const isGoingOn = run !== null && !isOver(run.state);
  const found = useQuery(
    polled(["versions", route.runId, isGoingOn], () => api.versions(route.runId), isGoingOn && VERSIONS_MS),
  ).data?.versions;
  const versions = useMemo(
    () => placedVersions(found ?? [], live.series[RETURN]),
    [found, live.series[RETURN]],
  );
  // One list as long as they are equal: a new one would draw every chart again.
  const begun = JSON.stringify(run === null ? [] : lessonMarks(live.series[LESSON_METRIC], lessonNames(run)));
  // A lesson is another task than the one that was played at random.
  const randomReturn = run === null || run.lesson !== null ? null : (run.random_play?.return_mean ?? null);
  const marks = useMemo(
    () => ({ goal: run?.goal ?? null, randomReturn, lessons: JSON.parse(begun), versions }),
    [run?.goal, randomReturn, begun, versions],
  );
  const runs = useMemo(
    () => [{ id: route.runId, name: route.runId, colour: null, series: live.series }],
    [route.runId, live.series],
  );
  if (live.error !== null && run === null && !isNoAnswer(live.error)) {
    const isUnknown = live.error instanceof ApiError && live.error.status === 404;
    if (isUnknown) return <UnknownRun runId={route.runId} />;
    const query = { data: null, error: live.error, refetch: () => location.reload() };
    return <Page title={route.runId} query={query} />;
  }
  if (run === null) return <Loader aria-label="Loading the run" />;
  const isRunning = !isOver(run.state);
  // A run that was killed has exported nothing: its last version is the one to watch.
  const [model, last] = [newestModel(live), versions.at(-1)?.policy_version ?? null];
  const marked = version === null ? undefined : standingAt(versions, version);
  const charts = {
    name: run.run_id,
    runs,
    names: Object.keys(live.series),
    view,
    onView,
    marks,
    baseline: null,
    nothing: live.early !== null ? "Loading" : isRunning ? null : "The run ended before there was any",
  };
  const { tab = "overview" } = route;
  const at = (part: RunTab) => formatRoute({ ...route, tab: part });
  return (
    <Stack component="main" id="content" gap={12} data-tab={tab}>
      <RunHead
        run={run}
        row={row}
        edit={edit}
        fleet={live.fleet}
        connection={isRunning ? live.connection : "live"}
        workersHref={at("workers")}
        onChange={live.accept}
        onRestart={live.restart}
      />
      <RunTabs route={route} marks={{ play: live.episodes.length, workers: numWorkers(live.fleet) ?? 0 }}>
        <RunTools
          run={run}
          row={row}
          isSharing={isSharing}
          onShare={() => setSharing(!isSharing)}
          edit={edit}
          onError={setFailure}
        />
      </RunTabs>
      {failure !== null && <ErrorNotice error={failure} />}
      {isSharing && mayChange && (
        <Paper p="lg">
          <ViewerLink runId={run.run_id} />
        </Paper>
      )}
      {tab === "overview" && !isRunning && run.newest_model !== null && <ShipCard run={run} />}
      {tab === "overview" && <FaultStrip reports={live.reports} />}
      {/* One place for both parts that show the game, so that it plays on between them. */}
      {(tab === "overview" || tab === "play") && (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing={20}>
          <GamePanel
            run={run}
            version={model ?? last}
            hasWorkers={(numWorkers(live.fleet) ?? 0) > 0}
            chosen={version ?? (model === null ? last : null)}
            onNewest={() => setVersion(null)}
            stage={route.stage}
            onStage={(stage) => replaceRoute({ ...route, stage })}
            onKept={live.list}
          />
          {tab === "overview" ? (
            <ReturnChart {...charts} mark={marked}>
              <VersionSlider
                run={run}
                versions={versions}
                chosen={version}
                onChoose={setVersion}
                series={live.series[RETURN]}
                axis={view.axis}
                range={resolveRange(view.range, ...spanOf(live.series[RETURN], view.axis))}
              />
            </ReturnChart>
          ) : (
            <VersionsCard versions={versions} chosen={version} onChoose={setVersion} />
          )}
        </SimpleGrid>
      )}
      {tab === "overview" && (
        <>
          <PinnedCharts {...charts} />
          <RunStats run={run} fleet={live.fleet} />
          <LadderCard run={run} chartsHref={at("charts")} />
          <FindingsCard run={run} />
          <Reports reports={live.reports} run={run} onChange={live.accept} />
        </>
      )}
      {tab === "charts" && (
        <Part isPlain title="Progress">
          <Charts {...charts} />
        </Part>
      )}
      {tab === "play" && (
        <>
          {(run.description?.num_agents ?? 1) > 1 && <MatchCard runId={run.run_id} entries={live.episodes} />}
          <Episodes runId={run.run_id} entries={live.episodes} />
          {run.description !== null && <PlaytestReports gameId={run.description.id} game={run.game} />}
        </>
      )}
      {tab === "workers" && (
        <Flex direction={{ base: "column", md: "row" }} align={{ md: "flex-start" }} gap={20}>
          {isRunning && mayChange && !run.is_elsewhere && <JoinCard run={run} isLan={isLan} />}
          <FleetCard fleet={live.fleet} version={run.policy_version} runId={run.run_id} isOver={!isRunning} />
        </Flex>
      )}
      {tab === "settings" && <RunSettings run={run} />}
      {tab === "log" && <RunLog runId={run.run_id} isOver={!isRunning} />}
    </Stack>
  );
}

/** Trying again cannot help. */
function UnknownRun({ runId }: { runId: string }) {
  const id = <span className="mono">{runId}</span>;
  return (
    <Page
      title="No such run"
      lede={
        <>
          This server knows no run called {id}. It may have been moved away, or it belongs to another server.
        </>
      }
    >
      <Anchor href={formatRoute(runsRoute())}>See all runs</Anchor>
    </Page>
  );
}
