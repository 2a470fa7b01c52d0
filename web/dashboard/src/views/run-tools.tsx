/** Buttons beside the parts of a run: notify, share, archive and delete. */

import type { RunRow, RunView } from "@attract/schema";
import { Button, Group } from "@mantine/core";
import { api } from "../api/client.ts";
import { ServerButton } from "../components/server-button.tsx";
import { useNotices } from "../hooks/use-notices.ts";
import { goTo } from "../hooks/use-route.ts";
import type { Edit } from "../hooks/use-run-row.ts";
import { runsRoute } from "../routes.ts";
import { isOver } from "../state/run-state.ts";
import { TRASH } from "../state/run-table.ts";
import { Action } from "./run-labels.tsx";

const goToTrash = () => goTo(runsRoute(`q=${TRASH}`));

interface RunToolsProps {
  run: RunView;
  /** null: not known yet. */
  row: RunRow | null;
  edit: Edit;
  onError: (error: unknown) => void;
  isSharing: boolean;
  onShare: () => void;
}

export function RunTools({ run, row, edit, isSharing, onShare, onError }: RunToolsProps) {
  const notices = useNotices(run);
  return (
    <Group component="span" gap={0} wrap="nowrap" flex="none">
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
          <Action
            title={row.archived ? "Unarchive" : "Archive"}
            onClick={() => edit({ archived: !row.archived }).catch(onError)}
          />
          <Action
            title="Delete"
            disabled={!isOver(run.state)}
            onClick={() => api.deleteRun(row.run_id).then(goToTrash, onError)}
          />
        </>
      )}
    </Group>
  );
}
