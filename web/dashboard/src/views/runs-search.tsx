/** The search field above the runs, with completions. */

import { Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useRef, useState } from "react";
import { completions } from "../state/run-table.ts";

const TYPED_MS = 150;

interface SearchProps {
  query: string;
  /** Paths of the settings that are offered. */
  settings: readonly string[];
  onSearch: (query: string) => void;
  /** Whether the query is being typed. */
  onTyping: (isTyping: boolean) => void;
}

export function Search({ query, settings, onSearch, onTyping }: SearchProps) {
  const [text, setText] = useState(query);
  const asked = useRef(query);
  // A query that came from elsewhere, a link for example, is shown; one's own is not put over what was typed since.
  if (asked.current !== query) {
    asked.current = query;
    if (text.trim() !== query) setText(query);
  }
  const search = useDebouncedCallback((typed: string) => {
    if (typed === asked.current) return;
    asked.current = typed;
    onSearch(typed);
  }, TYPED_MS);
  return (
    <search>
      <TextInput
        type="search"
        size="md"
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        aria-label="Search runs"
        aria-describedby="search-help"
        list="search-terms"
        placeholder="game:snake return>20 lr<0.001 tag:good"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          search(event.currentTarget.value.trim());
          onTyping(true);
        }}
        onBlur={() => onTyping(false)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Escape") currentTarget.blur();
          if (key === "Enter") onTyping(false);
        }}
      />
      <datalist id="search-terms">
        {completions(text, settings).map((term) => (
          <option key={term} value={term} />
        ))}
      </datalist>
      <Text id="search-help" mt={6} mb={12} fz={13} c="dimmed">
        Words, fields (<code>game: tag: state: return best eval steps seed created</code>),{" "}
        <code>is:starred</code> or any setting, such as <code>lr&lt;0.001</code>. Keys: <kbd>/</kbd> search,{" "}
        <kbd>j</kbd> <kbd>k</kbd> move, <kbd>x</kbd> tick, <kbd>Enter</kbd> open.
      </Text>
    </search>
  );
}
