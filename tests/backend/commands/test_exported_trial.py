"""An exported page is opened once: it is completed, plays a step, or is refused as dead."""

from pathlib import Path

import pytest

from attract.commands.exported_page import ExportedPage
from attract.commands.exported_trial import try_site
from attract.errors import ConfigurationError
from attract.games.page_files import PageFolder

pytestmark = pytest.mark.usefixtures("one_browser")

AGENT = {
    "game.js": "export default {};",
    "agent.js": "export const loadAgent = async () => ({ act: () => 0, reset() {} });",
    # Plays where the page has left what it needs.
    "page.js": "export const attachAgent = (_d, agent) => { if (window.engine) agent.act(); };",
    "main.js": "throw new Error('this one waits for ten seconds');",
}
PAGE = """<!doctype html><head><script type="module" src="attract/main.js"></script></head>
<script src="lib/first.js"></script>"""
FIRST = """const script = document.createElement("script");
script.src = "lib/second.js"; script.onload = () => { window.engine = true; };
document.currentScript.after(script);"""


def exported(tmp_path: Path, page: str = PAGE, include: tuple[str, ...] = ("lib",)) -> ExportedPage:
    """A site with its agent and its page, whose source lies beside `lib`."""
    project, out = tmp_path / "project", tmp_path / "site"
    for name, text in {"lib/first.js": FIRST, "lib/second.js": "", "page/index.html": page}.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    for name, text in AGENT.items():
        (out / "attract" / name).parent.mkdir(parents=True, exist_ok=True)
        (out / "attract" / name).write_text(text)
    (out / "index.html").write_text(page)
    source = project / "page" / "index.html"
    files = PageFolder(source.parent, tmp_path / "runs", [str(project / name) for name in include])
    return ExportedPage(out, "index.html", source, frozenset({out}), files, [])


async def test_what_the_page_asks_for_is_copied_until_it_plays(tmp_path: Path) -> None:
    site = exported(tmp_path, PAGE.replace("<script src", "<script>window.engine = true</script><script src"))
    (note,) = await try_site(site)
    assert note.startswith("it has ") and note.endswith("project/lib of --include")
    assert (site.out / "lib" / "first.js").is_file()
    assert (site.out / "lib" / "second.js").is_file()


async def test_what_lies_above_and_is_not_listed_is_refused_and_named_with_its_flag(tmp_path: Path) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    site = exported(tmp_path, PAGE.replace("</head>", "<script>engine = 1</script></head>"), include=())
    (note,) = await try_site(site)
    assert note.startswith("it requests /lib/first.js, which is above the page's folder: add --include ")
    assert note.endswith("project/lib/first.js if the page may have it")
    assert not (site.out / "lib").exists()


async def test_what_a_page_that_plays_asks_for_in_vain_is_said(tmp_path: Path) -> None:
    page = PAGE.replace("lib/first.js", "gone.js").replace("</head>", "<script>engine = 1</script></head>")
    assert await try_site(exported(tmp_path, page)) == ["it requests /gone.js, which does not exist"]


async def test_a_page_that_lacks_a_file_and_throws_is_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attract.commands.exported_trial.STEP_SECONDS", 2.0)
    page = PAGE.replace("lib/first.js", "gone.js") + "<script>state.x = 1</script>"
    with pytest.raises(ConfigurationError, match="the exported page does not work") as refused:
        await try_site(exported(tmp_path, page))
    assert "it requests /gone.js, which does not exist" in str(refused.value)
    assert "state is not defined" in str(refused.value)


async def test_a_page_that_only_takes_long_is_not_called_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attract.commands.exported_trial.STEP_SECONDS", 1.0)
    page = PAGE.replace('<script src="lib/first.js"></script>', "")
    (note,) = await try_site(exported(tmp_path, page))
    assert note == "the agent played no step within 1 s: open the page to see why"


async def test_without_a_browser_the_page_is_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attract.commands.exported_trial.find_chromium", lambda: None)
    assert await try_site(exported(tmp_path)) == ["the page was not tested: there is no Chromium"]
