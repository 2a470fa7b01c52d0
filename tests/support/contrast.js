/** Contrast of every text on the page against what it stands on, by WCAG 2.2, 1.4.3. Source of one function. */

(least) => {
  const parse = (text) => {
    const numbers = text.match(/-?[\d.]+(?:e-?\d+)?/g)?.map(Number) ?? [0, 0, 0, 0];
    const scale = text.startsWith("color(") ? 255 : 1;
    const [red, green, blue] = numbers.map((value) => value * scale);
    return { rgb: [red, green, blue], alpha: numbers[3] ?? 1 };
  };
  const over = ({ rgb, alpha }, below) => rgb.map((value, i) => value * alpha + below[i] * (1 - alpha));
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ancestors = (element) => (element === null ? [] : [...ancestors(element.parentElement), element]);
  // Where no element has a colour the browser paints its own, which follows the page's colour scheme.
  const blank = document.body.appendChild(document.createElement("div"));
  blank.style.backgroundColor = "Canvas";
  const canvas = parse(getComputedStyle(blank).backgroundColor).rgb;
  blank.remove();
  // The dots of the page are a picture on its colour, which is all that counts here.
  const behind = (element) =>
    ancestors(element).reduce(
      (below, one) => over(parse(getComputedStyle(one).backgroundColor), below),
      canvas,
    );
  const opacity = (element) =>
    ancestors(element).reduce((all, one) => all * Number(getComputedStyle(one).opacity), 1);
  const isShown = (element) => {
    const box = element.getBoundingClientRect();
    const isOnPage = box.width > 1 && box.height > 1 && box.right > 0 && box.bottom + scrollY > 0;
    return isOnPage && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const isDisabled = (element) =>
    element.closest(":disabled, [data-disabled], [aria-disabled=true]") !== null;
  const found = [];
  const look = (element, text, style) => {
    if (text.trim() === "" || !isShown(element) || isDisabled(element)) return;
    const background = behind(element);
    const colour = parse(element instanceof SVGElement ? style.fill : style.color);
    const drawn = over({ rgb: colour.rgb, alpha: colour.alpha * opacity(element) }, background);
    const [dark, light] = [luminance(drawn), luminance(background)].sort((one, other) => one - other);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < least)
      found.push(
        `${contrast.toFixed(2)}:1: ${text.trim().slice(0, 60)} (${element.outerHTML.slice(0, 120)})`,
      );
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement: element, data } = walker.currentNode;
    if (!["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(element.tagName))
      look(element, data, getComputedStyle(element));
  }
  for (const field of document.querySelectorAll(
    "input:not([type=checkbox], [type=radio], [type=range]), select, textarea",
  )) {
    const isEmpty = field.value === "";
    look(
      field,
      isEmpty ? (field.placeholder ?? "") : field.value,
      getComputedStyle(field, isEmpty ? "::placeholder" : null),
    );
  }
  return found;
};
