/** A choice with its label before it, in one line. */

import { Group, NativeSelect, type NativeSelectProps } from "@mantine/core";
import { useId } from "react";

interface SelectProps extends Omit<NativeSelectProps, "onChange" | "label"> {
  /** "": `aria-label` is its name. */
  label?: string;
  onChange: (value: string) => void;
}

export function Select({ label = "", onChange, ...props }: SelectProps) {
  const id = useId();
  const select = (
    <NativeSelect
      id={id}
      size="xs"
      maw="100%"
      miw={0}
      {...props}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
  if (label === "") return select;
  return (
    <Group component="span" gap={6} wrap="nowrap" miw={0}>
      <label htmlFor={id} style={{ whiteSpace: "nowrap" }}>
        {label}
      </label>
      {select}
    </Group>
  );
}
