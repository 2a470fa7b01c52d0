/** A link for people who may only look: made by a click, shown once, with a QR code. */

import { useMutation } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { isThisMachine, ServerButton } from "../components/server-button.tsx";
import { SharedLink } from "../components/shared-link.tsx";

interface ViewerLinkProps {
  /** The run whose page it opens; null: the start page. */
  runId: string | null;
  onMade?: () => void;
}

export function ViewerLink({ runId, onMade }: ViewerLinkProps) {
  const {
    data: link,
    mutate,
    error,
  } = useMutation({ mutationFn: () => api.viewerLink(runId), onSuccess: onMade });
  if (link === undefined) {
    return (
      <>
        <ServerButton variant="default" size="xs" onClick={() => mutate()}>
          Make a link for viewers
        </ServerButton>
        <ErrorNotice error={error} />
      </>
    );
  }
  const { href, hostname } = new URL(link.url, new URL(".", document.baseURI));
  const isHere = isThisMachine(hostname);
  return (
    <SharedLink
      name="link for viewers"
      intro="A browser that opens this address can look but change nothing:"
      url={href}
      testId="viewer-url"
    >
      It can be opened for {Math.round(link.expires_seconds / 3600)} hours. A browser that has opened it stays
      signed in until the link is revoked under <i>Access</i>.
      {isHere && (
        <>
          {" "}
          It works on this machine alone. Start the server with <code>--lan</code> for other devices.
        </>
      )}
    </SharedLink>
  );
}
