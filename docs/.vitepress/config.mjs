/** The guide as a site: its pages are those of `docs/`, where they are read in a checkout as well. */

import { defineConfig } from "vitepress";

const page = (text, link) => ({ text, link });

export default defineConfig({
  title: "Attract",
  description: "Train an agent to play your browser game, in browsers, and ship it inside the game.",
  lang: "en",
  head: [["link", { rel: "icon", href: "/icon.svg" }]],
  // What a page frames is no page of the guide.
  ignoreDeadLinks: [/^\/agent\//],
  themeConfig: {
    search: { provider: "local" },
    nav: [
      page("Tutorial", "/tutorial"),
      page("Guide", "/games"),
      page("Reference", "/reference/commands"),
      page("Notebook", "/notebook/results"),
    ],
    outline: [2, 3],
    sidebar: [
      {
        text: "Guide",
        items: [
          page("Ten minutes", "/tutorial"),
          page("A game in its page", "/page-games"),
          page("Look at a page", "/look"),
          page("Write a game", "/games"),
          page("It does not learn", "/not-learning"),
          page("Settings that suit it", "/tuning"),
          page("The dashboard", "/dashboard"),
          page("Ship it", "/shipping"),
          page("Play every build", "/ci"),
          page("The project's file, and CI", "/project-file"),
          page("Can it happen?", "/verify"),
          page("Test in Playwright", "/playwright"),
          page("Operate a trainer", "/operating"),
        ],
      },
      {
        text: "More",
        items: [
          page("Several agents, memory", "/several-agents"),
          page("Opponents", "/opponents"),
          page("Train from few steps", "/few-steps"),
          page("Lessons and parameters", "/curriculum"),
          page("Recorded episodes", "/episodes"),
          page("How hard it is", "/difficulty"),
          page("Find and compare runs", "/runs"),
          page("Games in Python", "/python"),
          page("Central inference", "/central-inference"),
          page("Several machines, by Ray", "/contributing/ray"),
          page("Security", "/SECURITY"),
        ],
      },
      {
        text: "Reference",
        items: [
          page("Commands", "/commands"),
          page("Configuration", "/configuration"),
          page("Every command", "/reference/commands"),
          page("Every setting", "/reference/settings"),
          page("Types of a game", "/reference/game"),
          page("Adapters of page games", "/adapter"),
          page("What an agent sees of a page", "/page-views"),
          page("What a page gets", "/page-clock"),
          page("The server's API", "/api"),
          page("The wire", "/reference/protocol"),
          page("Performance", "/performance"),
        ],
      },
      {
        text: "Contributing",
        collapsed: true,
        items: [
          page("Rules", "/contributing/rules"),
          page("Reliability and security", "/contributing/reliability"),
          page("What the dashboard can do", "/contributing/dashboard"),
          page("Words", "/contributing/words"),
        ],
      },
      {
        text: "Notebook",
        collapsed: true,
        items: [
          page("Results", "/notebook/results"),
          page("How speed is measured", "/notebook/performance"),
          page("What was tried in learning", "/notebook/learning"),
          page("What runs say of planted mistakes", "/notebook/diagnosis"),
          page("Games in a page", "/notebook/page-games"),
          page("Faults that were planted in builds", "/notebook/ci"),
          page("Faults and attacks", "/notebook/reliability"),
          page("Web Platform Tests", "/notebook/web-platform-tests"),
          page("Engines", "/notebook/engines"),
          page("On a GPU", "/notebook/gpu"),
          page("Walks through the tree", "/notebook/walks"),
        ],
      },
    ],
  },
});
