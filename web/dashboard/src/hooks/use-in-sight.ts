/** Whether an element is in the window, or nearly. */

import { type RefObject, useEffect, useState } from "react";

/** Drawn before it is scrolled into sight. */
const MARGIN = "120px";

export function useInSight(element: RefObject<Element | null>): boolean {
  const [isInSight, setInSight] = useState(false);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver(
      (entries) => setInSight(entries[entries.length - 1].isIntersecting),
      {
        rootMargin: MARGIN,
      },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return isInSight;
}
