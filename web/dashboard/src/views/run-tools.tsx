/** Buttons beside the parts of a run: be told when something happens, let others look, put the run away. */

import type { RunRow, RunView } from "@attract/schema";
import { Button } from "@mantine/core";
import { ServerButton } from "../components/server-button.tsx";
import { useNotices } from "../hooks/use-notices.ts";
import { isOver } from "../state/run-state.ts";
import { Action } from "./run-labels.tsx";

interface RunToolsProps {
  run: RunView;
  /** null: not known yet. */
  row: RunRow | null;
  onArchive: () => void;
  onDelete: () => void;
  isSharing: boolean;
  onShare: () => void;
}

export function RunTools({ run, row, isSharing, onShare, onArchive, onDelete }: RunToolsProps) {
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
      {row !== null && (
        <>
          <Action title={row.archived ? "Unarchive" : "Archive"} onClick={onArchive} />
          <Action title="Delete" disabled={!isOver(run.state)} onClick={onDelete} />
        </>
      )}
    </span>
  );
}
