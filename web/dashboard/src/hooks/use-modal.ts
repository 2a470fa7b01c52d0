/** A dialog over the page; the focus goes back to what had it. */

import { type RefObject, useEffect, useRef } from "react";

/** The ref of a `dialog` that is open as long as its component is there. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return dialog;
}
