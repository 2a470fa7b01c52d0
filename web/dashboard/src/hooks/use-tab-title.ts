/** Title and icon of the browser's tab; both are the page's own again afterwards. */

import { useLayoutEffect } from "react";

const NAME = "Attract";

/** `icon`: a data URL; null: the page's own. `title` null: the page's name alone. */
export function useTabTitle(title: string | null, icon: string | null = null): void {
  // A view that is still shown while the next one loads has no other effects undone.
  useLayoutEffect(() => {
    document.title = title ?? NAME;
    return () => {
      document.title = NAME;
    };
  }, [title]);
  useLayoutEffect(() => {
    const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (link === null || icon === null) return;
    const own = link.href;
    link.href = icon;
    return () => {
      link.href = own;
    };
  }, [icon]);
}
