/** The frame of the page: marquee, navigation, and the view that the address names. */

import {
  ActionIcon,
  Anchor,
  Box,
  Button,
  Group,
  Loader,
  Paper,
  PasswordInput,
  Stack,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { ApiError, api, isNoAnswer } from "./api/client.ts";
import { useServerAway } from "./api/queries.ts";
import { LiveRegion } from "./components/live-region.tsx";
import { ErrorNotice } from "./components/notice.tsx";
import { ServerButton, ServerStrip } from "./components/server-button.tsx";
import { Wordmark } from "./components/wordmark.tsx";
import { useAnnounce } from "./hooks/use-announce.ts";
import { useDroppedFile } from "./hooks/use-dropped-file.ts";
import { useKeys } from "./hooks/use-keys.ts";
import { RoleContext } from "./hooks/use-role.ts";
import { goTo, useRoute } from "./hooks/use-route.ts";
import { useTabTitle } from "./hooks/use-tab-title.ts";
import { formatRoute, type Route, runRoute, runsRoute } from "./routes.ts";
import { keptTable } from "./state/kept-view.ts";
import type { KeyCommand } from "./state/keys.ts";
import { HomeView } from "./views/home-view.tsx";

/** Views that are loaded when they are gone to, or a moment after the first one: the server may be away later. */
const LATER = {
  access: () => import("./views/access-view.tsx"),
  episode: () => import("./views/episode-view.tsx"),
  file: () => import("./views/file-view.tsx"),
  finding: () => import("./views/finding-view.tsx"),
  game: () => import("./views/game-view.tsx"),
  keys: () => import("./components/keys-dialog.tsx"),
  run: () => import("./views/run-view.tsx"),
  runs: () => import("./views/runs-view.tsx"),
  study: () => import("./views/study-view.tsx"),
  tuning: () => import("./views/tuning-view.tsx"),
};
const LATER_MS = 1000;
const AccessView = lazy(async () => ({ default: (await loaded(LATER.access)).AccessView }));
const EpisodeView = lazy(async () => ({ default: (await loaded(LATER.episode)).EpisodeView }));
const FileView = lazy(async () => ({ default: (await loaded(LATER.file)).FileView }));
const FindingView = lazy(async () => ({ default: (await loaded(LATER.finding)).FindingView }));
const GameView = lazy(async () => ({ default: (await loaded(LATER.game)).GameView }));
const KeysDialog = lazy(async () => ({ default: (await loaded(LATER.keys)).KeysDialog }));
const RunView = lazy(async () => ({ default: (await loaded(LATER.run)).RunView }));
const RunsView = lazy(async () => ({ default: (await loaded(LATER.runs)).RunsView }));
const StudyView = lazy(async () => ({ default: (await loaded(LATER.study)).StudyView }));
const TuningView = lazy(async () => ({ default: (await loaded(LATER.tuning)).TuningView }));

/** A part that is not there any more is one of another build: the page begins anew once the server answers. */
async function loaded<View>(load: () => Promise<View>): Promise<View> {
  try {
    return await load();
  } catch {
    while (isNoAnswer(await api.info().catch((error: unknown) => error)))
      await new Promise((resolve) => setTimeout(resolve, LATER_MS));
    location.reload();
    return new Promise(() => undefined);
  }
}

function loadLater(): void {
  for (const load of Object.values(LATER)) load().catch(() => undefined);
}

const INFO_EVERY_MS = 5000;

const openFile = () => goTo({ view: "file" });

/** `session` settles once the token of the URL, if there was one, has become a cookie. */
export function App({ session }: { session: Promise<void> }) {
  const [isReady, setReady] = useState(false);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    session.then(() => setReady(true), setError);
  }, [session]);
  return (
    <>
      <LiveRegion />
      <ServerStrip />
      {error !== null ? (
        <SignedOut error={error} />
      ) : isReady ? (
        <SignedIn />
      ) : (
        <Loader m="xl" aria-label="Opening" />
      )}
    </>
  );
}

function SignedIn() {
  const route = useRoute();
  const isAway = useServerAway();
  const dropped = useDroppedFile(openFile);
  const key = routeKey(route);
  const {
    data: known = null,
    error,
    refetch,
  } = useQuery({
    queryKey: ["info"],
    queryFn: api.info,
    refetchInterval: INFO_EVERY_MS,
    // It finds out when the server answers again.
    networkMode: "always",
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a run just started or ended shows at once in another view
  useEffect(() => {
    void refetch();
  }, [key, refetch]);
  const runNow = known?.live_run ?? null;
  const [areKeysShown, setKeysShown] = useState(false);
  const [isLater, setLater] = useState(false);
  useKeys((command) => (command === "help" ? setKeysShown(true) : goByKey(command, runNow)));
  useEffect(() => {
    const timer = setTimeout(() => {
      setLater(true);
      loadLater();
    }, LATER_MS);
    return () => clearTimeout(timer);
  }, []);
  if (error instanceof ApiError && (error.status === 401 || error.status === 403))
    return <SignedOut error={error} />;
  const activeRun = isAway ? null : (known?.active_run ?? null);
  const liveRun = isAway ? null : runNow;
  return (
    <RoleContext value={known?.role ?? null}>
      <Frame
        size={
          route.view === "runs" ? 1900 : route.view === "run" ? "clamp(1240px, 100vw - 280px, 1640px)" : 1240
        }
      >
        <Button className="skip" variant="default" onClick={focusContent}>
          Skip to content
        </Button>
        <Marquee
          route={route}
          liveRun={liveRun}
          isAdmin={known?.role === "admin"}
          isViewer={known?.role === "viewer"}
          onKeys={() => setKeysShown(true)}
        />
        {route.view !== "run" && <PageTitle name={PAGE_NAMES[route.view]} />}
        {known !== null && <ActiveRunAnnouncement runId={runNow} isMuted={route.view === "run"} />}
        <Suspense>
          {(isLater || areKeysShown) && (
            <KeysDialog opened={areKeysShown} onClose={() => setKeysShown(false)} />
          )}
        </Suspense>
        <Suspense fallback={<Loader aria-label="Loading the page" />}>
          {route.view === "start" && !isAboutOneGame(route) && (
            <HomeView chosen={route.game} activeRun={activeRun} liveRun={liveRun} />
          )}
          {route.view === "start" && isAboutOneGame(route) && (
            <GameView
              key={route.game}
              name={route.game}
              from={route.from}
              set={route.set}
              activeRun={activeRun}
            />
          )}
          {route.view === "game" && (
            <GameView key={route.name} name={route.name} from={null} set={undefined} activeRun={activeRun} />
          )}
          {route.view === "runs" && <RunsView route={route} isAdmin={known?.role === "admin"} />}
          {route.view === "access" && <AccessView />}
          {route.view === "tuning" && <TuningView />}
          {route.view === "study" && <StudyView key={route.name} name={route.name} />}
          {route.view === "finding" && <FindingView key={formatRoute(route)} route={route} />}
          {route.view === "file" && <FileView dropped={dropped} />}
          {route.view === "episode" && (
            <EpisodeView
              key={`${route.runId} ${route.episodeId} ${route.beside} ${route.at}`}
              route={route}
            />
          )}
          {route.view === "run" && <RunView key={route.runId} route={route} isLan={known?.lan ?? false} />}
          <FocusOfView view={key} />
        </Suspense>
      </Frame>
    </RoleContext>
  );
}

const PAGE_NAMES: Readonly<Record<Exclude<Route["view"], "run">, string>> = {
  start: "Home",
  game: "Game",
  runs: "Runs",
  access: "Access",
  tuning: "Tuning",
  study: "Study",
  file: "Episode",
  finding: "Finding",
  episode: "Episode",
};

/** A run's page names itself. */
function PageTitle({ name }: { name: string }) {
  useTabTitle(`${name} · Attract`);
  return null;
}

interface MarqueeProps {
  route: Route;
  liveRun: string | null;
  isAdmin: boolean;
  isViewer: boolean;
  onKeys: () => void;
}

function Marquee({ route, liveRun, isAdmin, isViewer, onKeys }: MarqueeProps) {
  const { view } = route;
  const links: [name: string, href: string, isCurrent: boolean][] = [
    ["Home", "#/", view === "start"],
    ["Runs", formatRoute(runsRoute(keptTable())), view === "runs"],
    ["Tuning", "#/tuning", view === "tuning" || view === "study"],
  ];
  if (liveRun !== null)
    links.push(["Live", formatRoute(runRoute(liveRun)), view === "run" && route.runId === liveRun]);
  if (isAdmin) links.push(["Access", "#/access", view === "access"]);
  return (
    <header>
      <Group className="marquee" gap="8px 10px" pt={18} pb={14}>
        <Anchor href="#/" aria-label="Attract, start page">
          <Wordmark />
        </Anchor>
        <nav className="nav" aria-label="Main">
          {links.map(([name, href, isCurrent]) => (
            <a key={name} href={href} aria-current={isCurrent ? "page" : undefined}>
              {name}
            </a>
          ))}
        </nav>
        {isViewer && <span className="label">may only look</span>}
        {/* A phone has no room for it: the page of who may come in has another. */}
        <ServerButton
          forViewers
          visibleFrom="sm"
          variant="subtle"
          color="gray"
          size="compact-sm"
          onClick={logOut}
        >
          Log out
        </ServerButton>
        <ActionIcon variant="default" size="lg" aria-label="Keys" aria-haspopup="dialog" onClick={onKeys}>
          ?
        </ActionIcon>
        <SchemeToggle />
      </Group>
      <Bulbs areLit={liveRun !== null} />
    </header>
  );
}

/** The page's margins, and how wide it is at most. */
function Frame({ size = 1240, children }: { size?: number | string; children: ReactNode }) {
  return (
    <Box maw={size} mx="auto" px={{ base: 14, xs: 20 }} pb={64}>
      {children}
    </Box>
  );
}

function Bulbs({ areLit }: { areLit: boolean }) {
  return <div className="bulbs" data-lit={areLit} aria-hidden="true" />;
}

/** Reloads the page after any answer; the fresh page shows whether the session still exists. */
function logOut(): void {
  const reload = () => location.reload();
  api.logOut().then(reload, reload);
}

function SchemeToggle() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme("light") === "dark";
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={isDark ? "Use light colours" : "Use dark colours"}
      onClick={() => setColorScheme(isDark ? "light" : "dark")}
    >
      <svg
        width="18"
        height="18"
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        aria-hidden="true"
      >
        {isDark ? (
          <>
            <circle cx="12" cy="12" r="4.5" />
            <path
              strokeLinecap="round"
              d="M12 2v2M12 20v2M2 12h2M20 12h2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4"
            />
          </>
        ) : (
          <path strokeLinejoin="round" d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z" />
        )}
      </svg>
    </ActionIcon>
  );
}

function SignedOut({ error }: { error: unknown }) {
  const isKnown = error instanceof ApiError && (error.status === 401 || error.status === 403);
  return (
    <Frame>
      <Box pt={18} pb={14}>
        <Wordmark />
      </Box>
      <Bulbs areLit={false} />
      <Paper component="main" p="lg" maw={560}>
        {isKnown ? (
          <>
            <h1>Open the printed address</h1>
            <p className="soft">
              This page needs the key at the end of the address that the terminal printed, the part after{" "}
              <code>#token=</code>. A browser that has opened it stays signed in until it logs out.
            </p>
            <TokenForm />
          </>
        ) : (
          <>
            <ErrorNotice error={error} />
            <Button onClick={() => location.reload()}>Try again</Button>
          </>
        )}
      </Paper>
    </Frame>
  );
}

/** Login for a person who has the token, from a file of the server, but no address that contains it. */
function TokenForm() {
  const [token, setToken] = useState("");
  const { mutate, error } = useMutation({
    mutationFn: () => api.openSession(token.trim()),
    onSuccess: () => location.reload(),
  });
  const signIn = (event: FormEvent) => {
    event.preventDefault();
    mutate();
  };
  return (
    <Stack component="form" gap={12} align="flex-start" onSubmit={signIn}>
      <PasswordInput
        w="100%"
        label="Or the key alone"
        value={token}
        autoComplete="off"
        onChange={(event) => setToken(event.currentTarget.value)}
      />
      <Button type="submit" disabled={token.trim() === ""}>
        Open
      </Button>
      <ErrorNotice error={error} />
    </Stack>
  );
}

function routeKey(route: Route): string {
  if (route.view === "game") return `game ${route.name}`;
  return route.view === "run" || route.view === "episode" ? route.runId : route.view;
}

/** Has it announced when a run begins or ends; the page of a run says itself what becomes of it. */
function ActiveRunAnnouncement({ runId, isMuted }: { runId: string | null; isMuted: boolean }) {
  useAnnounce(runId === null ? "No run goes on" : `A run goes on: ${runId}`, isMuted);
  return null;
}

type StartRoute = Extract<Route, { view: "start" }>;

/** Whether the form begins with a run's settings: then the page is its game's. */
function isAboutOneGame(route: StartRoute): route is StartRoute & { game: string } {
  return route.game !== null && (route.from !== null || route.set !== undefined);
}

function goByKey(command: Exclude<KeyCommand, "help">, runId: string | null): void {
  if (command === "search") {
    const field = document.querySelector<HTMLInputElement>("input[type=search]");
    field?.focus();
    field?.select();
  } else if (command === "home") goTo({ view: "start", game: null, from: null });
  else if (command === "runs") goTo(runsRoute(keptTable()));
  else if (command !== "live") goTo({ view: command });
  else if (runId !== null) goTo(runRoute(runId));
}

/** The focus goes to a new view when the old one has taken what had it along. */
function FocusOfView({ view }: { view: string }) {
  const shown = useRef(view);
  useEffect(() => {
    if (shown.current === view) return;
    shown.current = view;
    if (document.activeElement === document.body) focusContent();
  }, [view]);
  return null;
}

/** The fragment holds the route, so this is a button and no link to `#content`. */
function focusContent(): void {
  const content = document.getElementById("content");
  content?.setAttribute("tabindex", "-1");
  content?.focus();
}
