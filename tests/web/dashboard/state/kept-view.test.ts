/** N6, N12: how one looks is there one click later. */

import { beforeEach, describe, expect, it } from "vitest";
import { formatRoute, parseRoute, runRoute, runsRoute } from "../../../../web/dashboard/src/routes.ts";
import { keepCharts, keepTable, keptTable } from "../../../../web/dashboard/src/state/kept-view.ts";
import { PLAIN_VIEW } from "../../../support/plain-view.ts";

beforeEach(() => {
  keepCharts(PLAIN_VIEW);
  keepTable("");
});

describe("charts", () => {
  it("are looked at in the next run as in the last one, but for what is of that run", () => {
    keepCharts({
      ...PLAIN_VIEW,
      smooth: 0.8,
      isCut: true,
      pinned: ["train/loss"],
      find: "kl",
      range: { last: 9 },
    });
    expect(formatRoute(runRoute("b", "charts"))).toBe("#/runs/b/charts?smooth=0.8&cut=1&pin=train%2Floss");
    expect(formatRoute(runsRoute("ticked=a"))).toContain("ticked=a&smooth=0.8");
  });

  it("are as the address says where one is opened", () => {
    keepCharts({ ...PLAIN_VIEW, smooth: 0.8 });
    expect(parseRoute("#/runs/b?x=time")).toMatchObject({ charts: { axis: "time", smooth: 0 } });
    expect(parseRoute("#/runs/b")).toMatchObject({ charts: PLAIN_VIEW });
  });
});

describe("the table of runs", () => {
  it("keeps search, order, groups and columns, not what is ticked, and not the trash", () => {
    keepTable(
      "q=game%3Acartpole&sort=-return&group=seeds&hide=note%2Ctags&ticked=a%2Cb&unseen=a&base=b&difference=1",
    );
    keepTable("q=is%3Adeleted");
    expect(keptTable()).toBe("q=game%3Acartpole&sort=-return&group=seeds&hide=note%2Ctags");
  });
});
