/** The version that plays on a run's page, remembered in the address once it has stood for a moment. */

import { useEffect, useRef, useState } from "react";
import type { Route } from "../routes.ts";
import { replaceRoute } from "./use-route.ts";

/** Browsers refuse an address that changes with every step of a drag. */
const REMEMBER_MS = 300;

/** The version, null for the newest, and what changes it. */
export function useVersion(
  route: Extract<Route, { view: "run" }>,
): [version: number | null, choose: (version: number | null) => void] {
  const [version, setVersion] = useState(route.version);
  const now = useRef(route);
  now.current = route;
  const { version: remembered } = route;
  // The address changed: by hand, or by the browser's buttons.
  useEffect(() => setVersion(remembered), [remembered]);
  useEffect(() => {
    if (version === remembered) return;
    const timer = setTimeout(() => replaceRoute({ ...now.current, version }), REMEMBER_MS);
    return () => clearTimeout(timer);
  }, [version, remembered]);
  return [version, setVersion];
}
