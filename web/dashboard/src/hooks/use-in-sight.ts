/** Whether an element can be seen: in the window, or nearly, of a page that is not hidden. */

import { useDocumentVisibility, useIntersection } from "@mantine/hooks";
import type { RefCallback } from "react";

/** Drawn before it is scrolled into sight. */
const MARGIN = { rootMargin: "120px" };

export function useInSight(): { sight: RefCallback<Element>; isInSight: boolean } {
  const { ref, entry } = useIntersection(MARGIN);
  return {
    sight: ref,
    isInSight: useDocumentVisibility() === "visible" && entry?.isIntersecting === true,
  };
}
