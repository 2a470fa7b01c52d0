/** Code as a template, of which statements are left out whose slots have nothing. */

/** What fills a slot; lines are indented as it is. Nothing, `false`, "" and no lines leave its statement out. */
export type Slot = string | number | boolean | readonly string[] | null | undefined;

/** The template's code. A statement is a line with what is indented below it, and the comments above it. */
export function code(strings: TemplateStringsArray, ...slots: readonly Slot[]): string {
  const text = strings.reduce((all, part, i) => `${all}\0${i - 1}\0${part}`).replace(/^\n|\n *$/g, "");
  const [indent] = /^ */.exec(text) ?? [];
  const statements = text.split(new RegExp(`(?<!^ *//.*)\\n(?=${indent}[^ }\\])])`, "m"));
  const written = statements.flatMap((statement) => filled(statement, slots) ?? []).join("\n");
  return written.replaceAll(new RegExp(`^${indent}`, "gm"), "");
}

function filled(statement: string, slots: readonly Slot[]): string | null {
  let isWhole = true;
  const text = statement.replace(/(^ *)?\0(\d+)\0/gm, (_, indent = "", index: string) => {
    const slot = slots[Number(index)];
    const lines = typeof slot === "object" ? (slot?.join("\n") ?? "") : String(slot || "");
    if (lines === "") isWhole = false;
    return indent + lines.replaceAll("\n", `\n${indent}`);
  });
  return isWhole ? text : null;
}
