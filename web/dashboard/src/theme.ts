/** Colours and shapes of the dashboard: paper by day, a dark arcade by night, a coin-yellow start button. */

import {
  Anchor,
  Checkbox,
  createTheme,
  Loader,
  type MantineColorsTuple,
  Modal,
  Progress,
} from "@mantine/core";

const coin: MantineColorsTuple = [
  "#fff8e1",
  "#ffeebb",
  "#ffe08f",
  "#ffd25f",
  "#ffc53d",
  "#f5b416",
  "#d99a00",
  "#a87700",
  "#7d5900",
  "#523a00",
];

const ink: MantineColorsTuple = [
  "#e8eaf3",
  "#c3c8da",
  "#9aa1b9",
  "#6c7390",
  "#434961",
  "#2c3040",
  "#212430",
  "#191c26",
  "#12141b",
  "#0c0e13",
];

const SANS = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';
const MONO = 'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, monospace';

export const theme = createTheme({
  primaryColor: "coin",
  primaryShade: 4,
  autoContrast: true,
  luminanceThreshold: 0.35,
  colors: { coin, dark: ink },
  fontFamily: SANS,
  fontFamilyMonospace: MONO,
  headings: { fontFamily: SANS, fontWeight: "700" },
  defaultRadius: "md",
  cursorType: "pointer",
  components: {
    // The primary colour is too light for a text on paper.
    Anchor: Anchor.extend({ defaultProps: { c: "inherit", underline: "always" } }),
    // A name needs a role; each page has its one live region already.
    Loader: Loader.extend({ defaultProps: { role: "img" } }),
    // With the default radius it looks like a radio button.
    Checkbox: Checkbox.extend({ defaultProps: { radius: "xs", color: "teal.8" } }),
    Modal: Modal.extend({
      defaultProps: {
        centered: true,
        transitionProps: { duration: 0 },
        closeButtonProps: { "aria-label": "Close" },
        // A `header` in a dialog is taken for the page's own.
        attributes: { header: { role: "none" } },
      },
      styles: { title: { fontWeight: 700 } },
    }),
    // A run moves its bar twice a second: a transition of the width lays the page out again in every frame.
    Progress: Progress.extend({ defaultProps: { transitionDuration: 0 } }),
  },
  radius: { xs: "4px", sm: "7px", md: "10px", lg: "16px", xl: "22px" },
});

/** Colours of charts, by scheme: of their lines in order, of the grid, of texts. */
export const CHART_COLORS = {
  light: {
    lines: ["#d9442f", "#2563c9", "#1a7f4e", "#8a4bd0", "#a66a00", "#0f7d8c", "#b5337f", "#5b6177"],
    grid: "#e7e4db",
    text: "#5b6177",
    back: "#ffffff",
  },
  dark: {
    lines: ["#ff7a66", "#7aa7ff", "#5fd39a", "#c49bff", "#ffc53d", "#57cbdc", "#ff8ac4", "#9aa1b9"],
    grid: "#272b39",
    text: "#9aa1b9",
    back: "#191c26",
  },
} as const;
