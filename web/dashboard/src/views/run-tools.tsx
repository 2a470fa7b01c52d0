/** Buttons beside the parts of a run: be told when something happens, and let others look. */

import type { RunView } from "@attract/schema";
import { Button } from "@mantine/core";
import { ServerButton } from "../components/server-button.tsx";
import { useNotices } from "../hooks/use-notices.ts";
import { isOver } from "../state/run-state.ts";

interface RunToolsProps {
  run: RunView;
  isSharing: boolean;
  onShare: () => void;
}

export function RunTools({ run, isSharing, onShare }: RunToolsProps) {
  const notices = useNotices(run);
  return (
    <span className="run-tools">
      {notices !== null && !isOver(run.state) && (
        <Button
          size="xs"
          variant={notices.isOn ? "light" : "subtle"}
          color="gray"
          aria-pressed={notices.isOn}
          disabled={notices.isRefused}
          title={
            notices.isRefused
              ? "This browser refuses notifications for this page"
              : "A notification when it is solved, does not learn, or ends"
          }
          onClick={notices.toggle}
        >
          Notify me
        </Button>
      )}
      <ServerButton size="xs" variant="subtle" color="gray" aria-expanded={isSharing} onClick={onShare}>
        Share
      </ServerButton>
    </span>
  );
}
