/** Something went wrong, or there is nothing yet: one sentence, and what to do about it. */

import { Alert, Button, Text } from "@mantine/core";
import { describeError, isNoAnswer } from "../api/client.ts";

/** Nothing while there is no error. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  // The strip at the page's top says so, once.
  if (error === null || isNoAnswer(error)) return null;
  const { text, fix } = describeError(error);
  return (
    <Alert color="red" variant="light" title={text} role="alert">
      {fix !== null && <Text size="sm">{fix}</Text>}
      {onRetry !== undefined && (
        <Button mt="sm" size="xs" variant="default" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}
