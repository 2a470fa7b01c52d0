/** The list of the page's keys, with the switch that turns them off. */

import { Button, Switch } from "@mantine/core";
import { useState } from "react";
import { useModal } from "../hooks/use-modal.ts";
import { areKeysOn, KEYS, keepKeysOn, PART_KEYS } from "../state/keys.ts";

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const dialog = useModal();
  const [areOn, setOn] = useState(areKeysOn);
  const change = (isOn: boolean) => {
    keepKeysOn(isOn);
    setOn(isOn);
  };
  return (
    <dialog ref={dialog} className="confirm keys-dialog" aria-labelledby="keys-title" onClose={onClose}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {[...KEYS, ...PART_KEYS].map(({ keys, does }) => (
          <div key={does}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <Switch
        color="teal.8"
        label="Use these keys"
        description="Off: only Tab, arrows, Enter and Escape work."
        checked={areOn}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      <div className="actions">
        <Button onClick={() => dialog.current?.close()}>Close</Button>
      </div>
    </dialog>
  );
}
