/** In the place of a game that cannot be shown: why, and a button to try again. */

import { Button } from "@mantine/core";
import { useEffect } from "react";
import { describeError } from "../api/client.ts";
import { announcer } from "../state/announcer.ts";

interface StageFaultProps {
  title: string;
  /** null: there is none. */
  error: unknown;
  onRetry: () => void;
}

export function StageFault({ title, error, onRetry }: StageFaultProps) {
  const isShown = error !== null;
  useEffect(() => {
    if (isShown) announcer.say(title);
  }, [isShown, title]);
  if (!isShown) return null;
  return (
    <div className="over">
      <strong>{title}</strong>
      <span className="small">{describeError(error).text}</span>
      <Button size="xs" onClick={onRetry}>
        Try again
      </Button>
    </div>
  );
}
