/** Title and icon of the browser's tab; both are the page's own again afterwards. */

import { useEffect } from "react";

const NAME = "Attract";

/** `icon`: a data URL; null: the page's own. `title` null: the page's name alone. */
export function useTabTitle(title: string | null, icon: string | null = null): void {
  useEffect(() => {
    document.title = title ?? NAME;
    return () => {
      document.title = NAME;
    };
  }, [title]);
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (link === null || icon === null) return;
    const own = link.href;
    link.href = icon;
    return () => {
      link.href = own;
    };
  }, [icon]);
}
