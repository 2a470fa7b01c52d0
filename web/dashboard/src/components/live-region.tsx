/** The app's one live region: read aloud, not seen. */

import { VisuallyHidden } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { announcer } from "../state/announcer.ts";

export function LiveRegion() {
  const text = useSyncExternalStore(announcer.subscribe, announcer.text);
  return (
    <VisuallyHidden role="status" data-testid="announcer">
      {text}
    </VisuallyHidden>
  );
}
