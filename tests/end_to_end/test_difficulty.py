"""`attract difficulty` in a real browser: a module whose episodes are won, a page that reads its address."""

from pathlib import Path

import pytest

from attract_command import Outcome, run_attract

GAME = """\
import { box, defineGame, discrete } from "attract";
class Cross {
  start({ random, parameters }) {
    this.random = random;
    this.danger = parameters.danger;
    this.step = 0;
    return [0];
  }
  update() {
    this.step++;
    const isHit = this.random() < this.danger;
    const isWon = !isHit && this.step === 10;
    const info = { won: isWon ? 1 : 0 };
    return { observation: [this.step / 10], reward: 0, terminated: isHit || isWon, info };
  }
}
export default defineGame({
  id: "Cross-v1",
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1, shape: [1] }),
  action: discrete(["wait", "go"]),
  parameters: { danger: { default: 0.1, low: 0, high: 1 } },
  metrics: { won: "last" },
  create: () => new Cross(),
});
"""
PAGE = """\
<!doctype html><canvas></canvas><script>
  const limit = Number(new URLSearchParams(location.search).get("limit"));
  let ticks = 0;
  const frame = () => { ticks++; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  window.look = () => ({ ticks, limit });
</script>
"""
ADAPTER = """\
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Address-v1",
  page: "index.html",
  maxSeconds: 5,
  parameters: { limit: { default: 40, low: 4, high: 200 } },
  observation: box({ shape: [1] }),
  action: discrete(["wait", "jump"]),
  keys: { wait: [], jump: ["Space"] },
  prepare: (w, { limit }) => w.history.replaceState(null, "", `?limit=${limit}`),
  observe: (w) => [w.look().ticks / 100],
  score: (w) => w.look().ticks,
  over: (w) => w.look().ticks >= w.look().limit,
});
"""


def difficulty(folder: Path, game: str, over: str, *more: str) -> Outcome:
    order = ("difficulty", game, "--over", over, "--seconds", "10", *more)
    return run_attract(*order, runs_dir=folder / "runs", folder=folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "cross.ts").write_text(GAME)
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "address.page.ts").write_text(ADAPTER)
    return tmp_path


def test_more_danger_is_harder_and_bands_judge_it(project: Path) -> None:
    (project / "bands.yaml").write_text("win_rate: [0.2, 0.9]\n")
    outcome = difficulty(
        project, "cross.ts", "danger=0.02,0.15,0.4", "--json", "--html", "chart.html", "--bands", "bands.yaml"
    )
    report = outcome.json
    assert (outcome.code, report["verdict"]) == (1, "outside"), outcome.stderr
    assert (report["win_rule"], report["win_metric"], report["difficulty_of"]) == (
        "metric",
        "won",
        "win_rate",
    )
    assert report["rank_correlation"] == 1.0
    for row, danger in zip(report["values"], (0.02, 0.15, 0.4), strict=True):
        # Ten steps without a hit.
        assert row["win_rate"]["mean"] == pytest.approx((1 - danger) ** 10, abs=0.15)
        assert row["difficulty"]["mean"] == pytest.approx(1 - row["win_rate"]["mean"])
    assert [row["outside"] for row in report["values"]][-1] == {"win_rate": "below"}
    assert report["steps"][0]["differs"]
    assert "<svg" in (project / "chart.html").read_text()
    assert not (project / "runs").exists()


# `make test` gives a page its parameters in page-game.browser.test.ts.
@pytest.mark.long
def test_a_page_gets_its_parameter_by_its_address(project: Path) -> None:
    outcome = difficulty(project, "address.page.ts", "limit=20,60")
    assert outcome.code == 0, outcome.stderr
    assert "rank correlation of limit and difficulty: -1.00" in outcome.stdout
    assert "won: the episode reaches the time limit" in outcome.stdout


def test_a_parameter_that_is_not_there_is_refused_with_those_that_are(project: Path) -> None:
    unknown = difficulty(project, "cross.ts", "speed=1,2")
    assert (unknown.code, unknown.stdout) == (2, "")
    assert "Cross-v1 has no parameter 'speed'\n  it has danger" in unknown.stderr


# `make test` has its exit code in backend/commands/test_difficulty.py.
@pytest.mark.long
def test_a_game_that_breaks_is_not_played_and_says_why(project: Path) -> None:
    (project / "cross.ts").write_text(GAME.replace("this.step = 0;", "throw new Error('no road');"))
    broken = difficulty(project, "cross.ts", "danger=0.1,0.2", "--json")
    assert (broken.code, broken.json["verdict"]) == (2, "not_played")
    assert "no road" in broken.json["problem"]
