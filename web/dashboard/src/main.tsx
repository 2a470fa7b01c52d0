/** The dashboard's entry: trades the URL's token for a cookie, then draws the page. */

import "./styles/mantine.ts";
import "./styles/base.css";
import "./styles/start.css";
import "./styles/cabinet.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { api } from "./api/client.ts";
import { queryClient } from "./api/queries.ts";
import { App } from "./app.tsx";
import { isViewerToken, pageOfLink, tokenInFragment } from "./routes.ts";
import { cssVariables, theme } from "./theme.ts";

const token = tokenInFragment(location.hash);
// Removed before anything else happens: not in the history, not in a screenshot, not in a link someone copies.
if (token !== null) {
  history.replaceState(null, "", `${location.pathname}${location.search}${pageOfLink(location.hash)}`);
}

const session = token === null ? Promise.resolve() : openSession(token);

// A link that is opened in a tab which shows the dashboard already changes the fragment alone.
window.addEventListener("hashchange", () => {
  if (tokenInFragment(location.hash) !== null) location.reload();
});

/** An admin who opens a link for viewers stays an admin. */
async function openSession(token: string): Promise<void> {
  if (isViewerToken(token)) {
    const info = await api.info().catch(() => null);
    if (info?.role === "admin") return;
  }
  await api.openSession(token);
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <App session={session} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
