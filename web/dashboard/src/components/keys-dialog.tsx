/** The list of the page's keys, with the switch that turns them off. */

import { Kbd, Modal, Switch, Table } from "@mantine/core";
import { useState } from "react";
import { areKeysOn, KEYS, keepKeysOn, PART_KEYS } from "../state/keys.ts";

export function KeysDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [areOn, setOn] = useState(areKeysOn);
  const change = (isOn: boolean) => {
    keepKeysOn(isOn);
    setOn(isOn);
  };
  return (
    <Modal opened={opened} title="Keys" onClose={onClose}>
      <Table mb="md" verticalSpacing={6} withRowBorders={false}>
        <Table.Tbody>
          {[...KEYS, ...PART_KEYS].map(({ keys, does }) => (
            <Table.Tr key={does}>
              <Table.Th scope="row" fw="normal">
                {keys.map((key) => (
                  <Kbd key={key} mr={4}>
                    {key}
                  </Kbd>
                ))}
              </Table.Th>
              <Table.Td>{does}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Switch
        color="teal.8"
        label="Use these keys"
        description="Off: only Tab, arrows, Enter and Escape work."
        checked={areOn}
        onChange={(event) => change(event.currentTarget.checked)}
      />
    </Modal>
  );
}
