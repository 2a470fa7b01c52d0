/** What the server has answered, kept for the whole page; nothing is asked of a server that does not answer. */

import { onlineManager, QueryClient, type QueryKey } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { isNoAnswer } from "./client.ts";

const RETRY_MS = 2000;

// "Online" is a server that answers, which each request reports: it may be on this machine, without any network.
onlineManager.setEventListener(() => undefined);

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (_count, error) => isNoAnswer(error),
      retryDelay: RETRY_MS,
      // What changes is polled.
      refetchOnWindowFocus: false,
    },
    // What a person asks for fails at once; it does not wait for the server.
    mutations: { networkMode: "always" },
  },
});

/** Whether the server does not answer now; what needs it is disabled meanwhile. */
export function useServerAway(): boolean {
  return !useSyncExternalStore(
    (onChange) => onlineManager.subscribe(onChange),
    () => onlineManager.isOnline(),
  );
}

/** A question that is asked again while the page is seen; `everyMs` false: it is not. */
export function polled<Answer>(queryKey: QueryKey, queryFn: () => Promise<Answer>, everyMs: number | false) {
  return { queryKey, queryFn, refetchInterval: everyMs };
}
