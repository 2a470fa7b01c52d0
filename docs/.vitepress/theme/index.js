import DefaultTheme from "vitepress/theme";
import "./commands.css";

export default DefaultTheme;
