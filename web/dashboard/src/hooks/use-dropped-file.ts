/** A file that a person drops anywhere on the page. */

import { useWindowEvent } from "@mantine/hooks";
import { useState } from "react";

/** The newest one; null: none. @param onDrop called with each. */
export function useDroppedFile(onDrop: () => void): File | null {
  const [file, setFile] = useState<File | null>(null);
  useWindowEvent("dragover", (event) => {
    // Without this the browser leaves the page for the file.
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  useWindowEvent("drop", (event) => {
    const dropped = event.dataTransfer?.files[0];
    if (dropped === undefined) return;
    event.preventDefault();
    setFile(dropped);
    onDrop();
  });
  return file;
}
