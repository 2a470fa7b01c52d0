/** Whether this person may change things; buttons that the server would refuse are not shown. */

import type { ServerInfo } from "@attract/schema";
import { createContext, useContext } from "react";

/** Null until the server has said it. */
export const RoleContext = createContext<ServerInfo["role"] | null>(null);

export function useMayChange(): boolean {
  return useContext(RoleContext) === "admin";
}
