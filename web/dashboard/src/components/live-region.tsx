/** The app's one live region: read aloud, not seen. */

import { useSyncExternalStore } from "react";
import { announcer } from "../state/announcer.ts";

export function LiveRegion() {
  const text = useSyncExternalStore(announcer.subscribe, announcer.text);
  return (
    <div role="status" className="unseen" data-testid="announcer">
      {text}
    </div>
  );
}
