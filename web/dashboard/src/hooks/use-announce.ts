/** Has changes of a text announced: what it was when the component came stands on the page already. */

import { useEffect, useRef } from "react";
import { announcer } from "../state/announcer.ts";

/**
 * @param text without seconds and counts, which change all the time; null: nothing to say.
 * @param isMuted another part of the page says it now.
 */
export function useAnnounce(text: string | null, isMuted = false): void {
  const said = useRef(text);
  useEffect(() => {
    if (text !== null && text !== said.current && !isMuted) announcer.say(text);
    said.current = text;
  }, [text, isMuted]);
}
