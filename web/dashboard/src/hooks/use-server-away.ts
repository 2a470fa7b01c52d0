/** Whether the server does not answer now; what needs it is disabled meanwhile. */

import { useSyncExternalStore } from "react";
import { serverLink } from "../state/server-link.ts";

export function useServerAway(): boolean {
  return useSyncExternalStore(serverLink.subscribe, serverLink.isAway);
}
