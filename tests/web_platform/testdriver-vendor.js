// Hands what a test asks of its driver to what plays it: `__td` of the window around all.
(() => {
  const NAMES =
    "Enter:6 Enter:7 Escape:C Space:D Tab:4 Backspace:3 Delete:17 ShiftLeft:8 ControlLeft:9 AltLeft:A MetaLeft:3D";
  const ARROWS = "ArrowLeft:12 ArrowUp:13 ArrowRight:14 ArrowDown:15 End:10 Home:11 PageUp:E PageDown:F";
  const codes = { " ": "Space", "\n": "Enter", "\t": "Tab" };
  for (const [name, code] of `${NAMES} ${ARROWS}`.split(" ").map((pair) => pair.split(":")))
    codes[String.fromCharCode(0xe000 + Number.parseInt(code, 16))] = name;
  const codeOf = (key) => codes[key] ?? (/\d/.test(key) ? `Digit${key}` : `Key${key.toUpperCase()}`);
  const send = (commands) => window.top.__td(JSON.stringify(commands));
  const inTop = (element, x, y) => {
    for (
      let view = element.ownerDocument.defaultView;
      view !== window && view.frameElement;
      view = view.parent
    ) {
      const { left, top } = view.frameElement.getBoundingClientRect();
      [x, y] = [x + left, y + top];
    }
    return [x, y];
  };
  const middle = (element) => {
    const { left, top, right, bottom } = element.getClientRects()[0] ?? element.getBoundingClientRect();
    const [x, y] = [
      Math.max(0, left) + Math.min(innerWidth, right),
      Math.max(0, top) + Math.min(innerHeight, bottom),
    ];
    return inTop(element, x / 2, y / 2);
  };
  const driver = window.test_driver_internal;
  driver.in_automation = true;
  driver.click = (element, place) => {
    const [x, y] = inTop(element, place.x, place.y);
    return send([
      { t: "move", x, y },
      { t: "down", b: 0 },
      { t: "up", b: 0 },
    ]);
  };
  driver.send_keys = (element, keys) => {
    element.focus();
    return send(
      [...keys].map(codeOf).flatMap((code) => [
        { t: "keydown", code },
        { t: "keyup", code },
      ]),
    );
  };
  driver.action_sequence = async (sources) => {
    const commands = [];
    let [x, y] = [0, 0];
    for (let i = 0; i < Math.max(...sources.map(({ actions }) => actions.length)); i++)
      for (const { type, parameters, actions } of sources) {
        const one = actions[i] ?? { type: "none" };
        if (type === "pointer" && (parameters?.pointerType ?? "mouse") !== "mouse")
          throw new Error("a mouse alone");
        if (one.type === "pointerMove") {
          const isElement = one.origin instanceof Object;
          const [left, top] = one.origin === "pointer" ? [x, y] : isElement ? middle(one.origin) : [0, 0];
          [x, y] = [left + (one.x || 0), top + (one.y || 0)];
          commands.push({ t: "move", x, y });
        } else if (/pointer(Down|Up)/.test(one.type))
          commands.push({ t: one.type.slice(7).toLowerCase(), b: one.button ?? 0 });
        else if (/key/.test(one.type)) commands.push({ t: one.type.toLowerCase(), code: codeOf(one.value) });
        else if (one.duration) commands.push({ t: "pause", ms: one.duration });
      }
    await send(commands);
  };
})();
