/** Colours and shapes of the dashboard: paper by day, a dark arcade by night, a coin-yellow start button. */

import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from "@mantine/core";

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
  defaultRadius: "md",
  cursorType: "pointer",
  breakpoints: { xs: "37.5em", sm: "47.5em", md: "61.25em", lg: "75em", xl: "88em" },
  components: {
    ActionIcon: {
      defaultProps: { size: 24, variant: "transparent", color: "gray", c: "inherit" },
    },
    // The primary colour is too light for a text on paper.
    Anchor: { defaultProps: { c: "inherit", underline: "always" } },
    Badge: {
      defaultProps: {
        variant: "dot",
        size: "lg",
        tt: "none",
        fz: 14,
        fw: 600,
        bg: "var(--card)",
        miw: "max-content",
      },
    },
    Code: {
      styles: (_theme: unknown, { block }: { block?: boolean }) => ({
        root: block ? { whiteSpace: "pre-wrap", overflowWrap: "anywhere" } : {},
      }),
    },
    // A name needs a role; each page has its one live region already.
    Loader: { defaultProps: { role: "img" } },
    // With the default radius it looks like a radio button.
    Checkbox: { defaultProps: { radius: "xs", color: "teal.8" } },
    Modal: {
      defaultProps: {
        centered: true,
        transitionProps: { duration: 0 },
        closeButtonProps: { "aria-label": "Close" },
        // A `header` in a dialog is taken for the page's own.
        attributes: { header: { role: "none" } },
      },
      styles: { title: { fontWeight: 700 } },
    },
    Paper: {
      defaultProps: { radius: "lg", withBorder: true, miw: 0 },
      vars: () => ({ root: { "--paper-border-color": "var(--line)" } }),
    },
    // A run moves its bar twice a second: a transition of the width lays the page out again in every frame.
    Progress: { defaultProps: { transitionDuration: 0 } },
    Table: {
      defaultProps: {
        tabularNums: true,
        fz: 14,
        borderColor: "var(--line)",
        verticalSpacing: 7,
        horizontalSpacing: 6,
      },
      styles: { thead: { fontSize: 12, color: "var(--soft)" } },
    },
  },
  radius: { xs: "4px", sm: "7px", md: "10px", lg: "16px", xl: "22px" },
});

/** Mantine's own greys are too light on paper. */
const MANTINE_COLORS = {
  "--mantine-color-text": "var(--ink)",
  "--mantine-color-dimmed": "var(--soft)",
  "--mantine-color-placeholder": "var(--soft)",
  "--mantine-color-error": "var(--bad)",
};

/** Colours by name for Mantine's components and our styles, by scheme. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: { "--coin": coin[4] },
  light: {
    ...MANTINE_COLORS,
    "--paper": "#f6f5f1",
    "--card": "#ffffff",
    "--line": "#e3e0d6",
    "--soft": "#5b6177",
    "--ink": "#1b1d27",
    "--dots": "rgba(27, 29, 39, 0.055)",
    "--stick": "#d9442f",
    "--bad": "#b3301d",
    "--go": "#0f7a58",
    "--wait": "#8a5d00",
    "--focus": "#4c3fd1",
    "--bezel": "#1b1d27",
  },
  dark: {
    ...MANTINE_COLORS,
    "--paper": "#101219",
    "--card": "#191c26",
    "--line": "#2a2e3d",
    "--soft": "#9aa1b9",
    "--ink": "#eceef6",
    "--dots": "rgba(236, 238, 246, 0.05)",
    "--stick": "#ff7a66",
    "--bad": "#ff9a8a",
    "--go": "#3ddc97",
    "--wait": "#ffc53d",
    "--focus": "#a99fff",
    "--bezel": "#07080c",
  },
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
