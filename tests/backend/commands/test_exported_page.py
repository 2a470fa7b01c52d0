"""The page that a game lives in as a site: which files are copied, and what its first play says."""

import os
from pathlib import Path

import pytest

from attract.commands import exported_page
from attract.commands.exported_page import ExportedPage, find_page_copy, left_out_text, write_site
from attract.commands.exported_trial import try_site
from attract.errors import ConfigurationError, FileError
from attract.games.page_files import PageFolder

PAGE = "<!doctype html><head><script type=module src=game.js></script></head>"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page at the root of a project, as many are kept, with all that lies beside it."""
    web = tmp_path / "web"
    (web / "sdk").mkdir(parents=True)
    (web / "sdk" / "page.js").write_text("sdk")
    (web / "agent.js").write_text("player")
    monkeypatch.setattr(exported_page, "WEB", web)
    monkeypatch.setattr(exported_page, "PLAYER", web / "agent.js")
    folder = tmp_path / "project"
    for name, size in {
        "art/ship.png": 10,
        "game.js": 10,
        "game.js.map": 70,
        "game.page.ts": 20,
        "package.json": 30,
        ".git/objects/pack": 5_000,
        "node_modules/three/three.js": 2_000_000,
        "node_modules/@scope/kit/kit.js": 300,
        "node_modules/vite/vite.js": 1_000_000,
        "trained/m/policy.onnx": 400,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(size))
    return folder


def written(project: Path, page: str) -> tuple[set[str], dict[str, int]]:
    """The site's files but the agent's, and what was left out; the site lies in the project itself."""
    (project / "index.html").write_text(page)
    out = project / "site"
    kept = project.parent / "kept.js"
    kept.write_text("game")
    copy = find_page_copy(project / "index.html", project, (out, project / "trained"))
    site = write_site(out, kept, copy, project / "trained")
    assert all(path.is_file() for path in site.written)
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    agent = {f"attract/{name}" for name in ("main.js", "agent.js", "page.js", "game.js")}
    assert agent <= files
    return files - agent, site.left_out


def test_what_a_page_does_not_load_is_left_out_and_said(project: Path) -> None:
    files, left_out = written(project, PAGE)
    assert files == {"index.html", "game.js", "art/ship.png"}
    # The runs and the site itself are nothing of the project's: nobody misses them.
    assert left_out == {
        ".git/": 5_000,
        "node_modules/": 3_000_300,
        "game.js.map": 70,
        "game.page.ts": 20,
        "package.json": 30,
    }
    text = left_out_text(left_out | {"runs/": 40, "venv/": 2})
    assert text == (
        "left out: node_modules/ (3 MB), .git/ (5 kB), game.js.map (70 B), runs/ (40 B), "
        "package.json (30 B), 2 more (22 B)"
    )
    assert left_out_text({}) == ""


def test_packages_that_the_page_names_where_they_are_installed_go_with_it(project: Path) -> None:
    imports = '{"three": "./node_modules/three/three.js", "kit": "./node_modules/@scope/kit/kit.js"}'
    page = f'<!doctype html><script type="importmap">{{"imports": {imports}}}</script>'
    files, left_out = written(project, page)
    packages = {"node_modules/three/three.js", "node_modules/@scope/kit/kit.js"}
    assert files == {"index.html", "game.js", "art/ship.png"} | packages
    assert left_out["node_modules/vite/"] == 1_000_000


@pytest.mark.parametrize("name", ["art/key.png", "assets", "art/hidden.png", "art/pipe", "art/none.png"])
def test_what_leads_elsewhere_is_refused_by_name_before_anything_is_written(
    project: Path, tmp_path: Path, name: str
) -> None:
    secret = tmp_path / "home"
    secret.mkdir()
    (secret / "id_rsa").write_text("PRIVATE KEY")
    (project / ".env").write_text("TOKEN=1")
    target = {
        "art/key.png": secret / "id_rsa",
        "assets": secret,
        "art/hidden.png": Path("../.env"),
        "art/none.png": Path("nothing"),
    }
    if name in target:
        (project / name).symlink_to(target[name])
    else:
        os.mkfifo(project / name)
    with pytest.raises(FileError) as refused:
        written(project, PAGE)
    assert refused.value.path == project / name
    assert not (project / "site").exists()


def test_links_inside_the_page_s_folder_are_copied_as_what_they_name(project: Path, tmp_path: Path) -> None:
    (project / "art" / "again.png").symlink_to("ship.png")
    (project / "pictures").symlink_to("art")
    # What is not copied may lead anywhere.
    (project / "node_modules" / "linked").symlink_to(tmp_path)
    files, _ = written(project, PAGE)
    assert files >= {"art/again.png", "pictures/ship.png", "pictures/again.png"}
    assert not (project / "site" / "pictures" / "again.png").is_symlink()


def test_a_folder_that_links_to_itself_ends(project: Path) -> None:
    (project / "art" / "up").symlink_to("..")
    files, _ = written(project, PAGE)
    assert files == {"index.html", "game.js", "art/ship.png"}


def test_a_page_that_is_a_link_out_is_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (project / "index.html").symlink_to(tmp_path / "secret")
    with pytest.raises(FileError, match="leads out of"):
        find_page_copy(project / "index.html", project, ())


def test_a_page_that_names_files_above_its_folder_keeps_its_place_below_the_one_that_holds_them(
    project: Path,
) -> None:
    (project / ".git").mkdir(exist_ok=True)
    folder = project / "games" / "puzzle"
    folder.mkdir(parents=True)
    for name in ("style.css", "lib/js/a.js", "lib/js/b.js", "lib/js/b.js.map", "lib/other.js"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name)
    (folder / "own.js").write_text("own")
    (project.parent / "secret.txt").write_text("secret")
    page = folder / "play.html"
    page.write_text('<head></head><link href="../../style.css"><script src="own.js"></script>')
    kept = project.parent / "kept.js"
    kept.write_text("game")
    out = project / "site"
    copy = find_page_copy(page, project, (out, project / "trained"))
    listed = [str(project / name) for name in ("style.css", "lib/js")]
    site = write_site(out, kept, copy, project / "trained", listed)
    assert site.page == "games/puzzle/play.html"
    assert '<script type="module" src="../../attract/main.js">' in (out / site.page).read_text()
    assert (out / "games" / "puzzle" / "own.js").is_file()

    assert site.add("style.css")
    # Others of a folder in the list may be asked for later.
    assert [site.add("lib/js/a.js"), site.add("lib/js/a.js")] == [True, False]
    for path in (
        "gone.js",
        "lib/other.js",
        "../secret.txt",
        "secret.txt",
        ".git/config",
        "trained/m/policy.onnx",
    ):
        assert not site.add(path), path
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert {name for name in files if not name.startswith("attract/")} == {
        "games/puzzle/play.html",
        "games/puzzle/own.js",
        "style.css",
        "lib/js/a.js",
        "lib/js/b.js",
    }


def test_of_files_above_a_page_only_those_that_the_list_names_are_copied(project: Path) -> None:
    page = project / "games" / "evil" / "esc.html"
    for name in ("infra/keys/prod.json", "infra/keys/db.pem", "service-account.json", "games/evil/esc.html"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("<head></head>")
    kept = project.parent / "kept.js"
    kept.write_text("game")
    asked = ("infra/keys/prod.json", "service-account.json")
    for number, listed in enumerate(([], ["infra/keys/prod.json"], ["."])):
        out = project.parent / f"site{number}"
        copy = find_page_copy(page, page.parent, (out,))
        site = write_site(out, kept, copy, project / "trained", [str(project / name) for name in listed])
        added = [site.add(path) for path in asked]
        assert added == [bool(listed), listed == ["."]]
        assert (out / asked[0]).exists() == bool(listed)
        assert not (out / "infra" / "keys" / "db.pem").exists()


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
