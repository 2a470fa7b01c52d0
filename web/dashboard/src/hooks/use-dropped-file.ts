/** A file that a person drops anywhere on the page. */

import { useEffect, useState } from "react";

/** The newest one; null: none. @param onDrop called with each. */
export function useDroppedFile(onDrop: () => void): File | null {
  const [file, setFile] = useState<File | null>(null);
  useEffect(() => {
    const over = (event: DragEvent) => {
      // Without this the browser leaves the page for the file.
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      const dropped = event.dataTransfer?.files[0];
      if (dropped === undefined) return;
      event.preventDefault();
      setFile(dropped);
      onDrop();
    };
    window.addEventListener("dragover", over);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragover", over);
      window.removeEventListener("drop", drop);
    };
  }, [onDrop]);
  return file;
}
