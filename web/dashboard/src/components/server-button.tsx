/** Buttons and links that need the server: disabled while it does not answer, absent for those whom it would refuse. */

import { Button, type ButtonProps, Code, Text } from "@mantine/core";
import type { ComponentPropsWithoutRef, ReactNode } from "react";
import { useServerAway } from "../api/queries.ts";
import { useAnnounce } from "../hooks/use-announce.ts";
import { useMayChange } from "../hooks/use-role.ts";

interface ServerButtonProps extends ButtonProps, Omit<ComponentPropsWithoutRef<"button">, keyof ButtonProps> {
  /** Also for viewers, who may only look. */
  forViewers?: boolean;
}

export function ServerButton({ disabled, forViewers = false, ...props }: ServerButtonProps) {
  const isAway = useServerAway();
  const mayChange = useMayChange();
  if (!mayChange && !forViewers) return null;
  return <Button {...props} disabled={disabled === true || isAway} />;
}

interface ServerLinkProps extends ButtonProps {
  href: string;
  /** Name of the file that it is saved as; undefined: it is a page. */
  download?: string;
  children: ReactNode;
}

export function ServerLink({ href, download, ...props }: ServerLinkProps) {
  const isAway = useServerAway();
  if (isAway) return <Button {...props} disabled />;
  return <Button {...props} component="a" href={href} download={download} />;
}

/** What every page says at its top while the server does not answer. */
export function ServerStrip() {
  const isAway = useServerAway();
  useAnnounce(isAway ? "No answer from the server" : "The server answers again");
  if (!isAway) return null;
  return (
    <Text
      component="aside"
      bg="var(--bad)"
      c="var(--card)"
      ta="center"
      px={20}
      py={10}
      aria-label="The server"
      data-testid="server-strip"
    >
      No answer from the server; trying again.
      {isThisMachine(location.hostname) && (
        <>
          {" "}
          If it has ended, start it:{" "}
          <Code bg="none" c="inherit" fz="inherit" fw={600} style={{ whiteSpace: "nowrap" }}>
            attract serve
          </Code>
        </>
      )}
    </Text>
  );
}

/** Whether an address means the machine that the browser runs on. */
export function isThisMachine(hostname: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}
