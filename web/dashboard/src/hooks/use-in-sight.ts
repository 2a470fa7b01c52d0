/** Whether an element can be seen: in the window, or nearly, of a page that is not hidden. */

import { type RefObject, useEffect, useState, useSyncExternalStore } from "react";

/** Drawn before it is scrolled into sight. */
const MARGIN = "120px";

export function useInSight(element: RefObject<Element | null>): boolean {
  const [isInWindow, setInWindow] = useState(false);
  const isHidden = useSyncExternalStore(onVisibility, () => document.hidden);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver(
      (entries) => setInWindow(entries[entries.length - 1].isIntersecting),
      { rootMargin: MARGIN },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return isInWindow && !isHidden;
}

function onVisibility(onChange: () => void): () => void {
  document.addEventListener("visibilitychange", onChange);
  return () => document.removeEventListener("visibilitychange", onChange);
}
