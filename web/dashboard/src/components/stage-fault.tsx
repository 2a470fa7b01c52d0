/** In the place of a game that cannot be shown: why, and a button to try again. */

import { Button } from "@mantine/core";
import { useEffect } from "react";
import { describeError } from "../api/client.ts";
import { announcer } from "../state/announcer.ts";
import { Over } from "./over.tsx";

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
    <Over title={title} text={describeError(error).text}>
      <Button size="xs" onClick={onRetry}>
        Try again
      </Button>
    </Over>
  );
}
