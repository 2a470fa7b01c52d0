"""What commands write: checked before the work, in one way that follows no link of a stranger's project."""

import ast
import errno
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from attract.cli import COMMANDS
from attract.commands import exported_page
from attract.commands.check import save_checked
from attract.commands.ci import CiOptions
from attract.commands.ci_outputs import DevicePlay, write_outputs
from attract.commands.destination import check_writable, write_output, writing
from attract.commands.evaluating import save_episodes
from attract.commands.export import write_page
from attract.commands.exported_page import find_page_copy, write_site
from attract.commands.init import write_new
from attract.commands.new import WORKFLOW, create_project
from attract.commands.probe import write_adapter
from attract.commands.report import _write as write_report  # pyright: ignore[reportPrivateUsage]
from attract.commands.skill import SKILLS, install_skills
from attract.errors import ConfigurationError
from attract.games.library import GameModule
from attract.games.page_places import page_place
from attract.playtest.baseline import write_baseline
from attract.playtest.findings import Build
from attract.playtest.playwright_test import TestedPage
from attract.policy.export import write_export
from attract.runs.exports import PART_BYTES, split_models
from attract.schema.api import CheckView
from fake_worker import counting_game
from recorded_episodes import baseline, failed, found, outcomes, recorded
from socket_fleet import DESCRIPTION

PACKAGE = Path(exported_page.__file__).parents[1]


def test_what_can_be_written_is_left_alone(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "new", tmp_path / "a" / "b" / "c.json"):
        check_writable(path)
    assert list(tmp_path.iterdir()) == []


def test_what_lies_below_a_file_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    check_writable(tmp_path / "file")
    monkeypatch.chdir(tmp_path)
    for path in (Path("file/mine"), tmp_path / "file" / "mine"):
        with pytest.raises(ConfigurationError) as caught:
            check_writable(path)
        assert str(caught.value) == "file/mine cannot be written: Not a directory"
        assert caught.value.exit_code == 2


def test_an_error_while_writing_names_the_path() -> None:
    with (
        pytest.raises(ConfigurationError, match=r"^/elsewhere/b\.json cannot be written: No space left on"),
        writing(Path("/elsewhere/b.json")),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(BrokenPipeError), writing(Path("b.json")):
        raise BrokenPipeError


def page_in(project: Path) -> Path:
    page = project / "page" / "index.html"
    (page.parent / "art").mkdir(parents=True, exist_ok=True)
    (page.parent / "art" / "ship.png").write_bytes(b"ship")
    page.write_text("<head></head>")
    return page


def check(out: Path) -> None:
    view = CheckView(game="counting", findings=[], description=None, play=None, unplayable=False, seconds=1)
    save_checked(out, view.model_copy(update={"first_episode": recorded()}))


def ci(out: Path) -> None:
    description = DESCRIPTION.model_copy(update={"page": "index.html"})
    module = GameModule(counting_game(), b"adapter", None)
    outputs = CiOptions(out=out, junit=out / "junit.xml", html=out / "report.html")
    finding = failed(found(recorded(error="gone"), episode_file=None, test_file=None))
    tested = TestedPage("..", description.page or "")
    write_outputs(outputs, [DevicePlay(finding, Build(module, description), tested)])
    with writing(out / "base.json"):
        write_baseline(out / "base.json", baseline(), outcomes(1), 1)


def export(out: Path) -> None:
    check_writable(out)
    write_export(out, {"policy.onnx": bytes(PART_BYTES + 1)}, {})
    split_models(out, [out / "policy.onnx"])
    kept, page = write_output(Path("kept.js"), b"game"), page_in(Path.cwd())
    write_page(out, kept, "Title")
    write_site(out / "site", kept, find_page_copy(page, page.parent, ()), Path("runs"))


def probe(out: Path) -> None:
    write_adapter(out / "game.page.ts", page_place("http://localhost:1/", Path("runs")), "adapter")


WRITERS: dict[str, Callable[[Path], object]] = {
    "check": check,
    "ci": ci,
    "difficulty": lambda out: write_output(out / "difficulty.html", b"page"),
    "eval": lambda out: save_episodes(out, [recorded(run_id="run", id="one")]),
    "export": export,
    "init": lambda out: write_new(out, {Path("attract.config.ts"): "", WORKFLOW: ""}),
    "look": lambda out: write_output(out / "look.png", b"picture"),
    "new": lambda out: create_project(out / "my-game", "page"),
    "probe": probe,
    "report": lambda out: write_report(out / "report.zip", {"a": "b"}),
    "skill": lambda out: install_skills(out, SKILLS, force=True),
    "tune": lambda out: write_output(out / "tuned.yaml", b"settings"),
    "verify": lambda out: write_output(out / "claim.episode.json", b"episode"),
}
"""By command, what writes its files into the folder `out`."""
KEEPS_WHAT_IS_THERE = ("init", "new", "report")
WRITE_NONE = {
    *("doctor", "health", "join", "match", "metrics", "replay", "runs"),
    # Folders of runs, whose links `RunDirectory` checks.
    *("cluster", "imitate", "rollback", "serve", "train"),
    # In a clone of Attract, and about it.
    *("bench", "results"),
}


def test_every_command_that_writes_is_walked() -> None:
    assert WRITERS.keys() | WRITE_NONE == COMMANDS.keys() | {"bench", "results"}
    assert not WRITERS.keys() & WRITE_NONE


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's project, the current folder; what is beside it is none of its business."""
    folder = tmp_path / "project"
    (folder / "out").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("command", WRITERS)
def test_a_file_that_is_a_link_is_replaced_and_not_written_through(project: Path, command: str) -> None:
    out, victim = project / "out", project.parent / "home" / "authorized_keys"
    WRITERS[command](out)
    written = [path for path in out.rglob("*") if path.is_file()]
    assert written
    for path in written:
        path.unlink()
        path.symlink_to(victim)
    for content in (None, "own key"):
        if content is not None:
            victim.write_text(content)
        if command in KEEPS_WHAT_IS_THERE:
            try:
                WRITERS[command](out)
            except ConfigurationError as error:
                assert "already exists" in str(error)
        else:
            WRITERS[command](out)
            assert not any(path.is_symlink() for path in written if path.exists())
        assert (victim.read_text() if victim.exists() else None) == content


@pytest.mark.parametrize("command", WRITERS)
@pytest.mark.parametrize("place", ["out", "out/below", "out/below/deeper"])
def test_a_folder_that_leads_out_of_the_project_is_refused_by_name(
    project: Path, command: str, place: str
) -> None:
    home = project.parent / "home"
    link = project / place.split("/deeper")[0]
    if link.name == "out":
        link.rmdir()
    link.symlink_to(home)
    with pytest.raises(ConfigurationError, match=r"out.* is a link that leads out of .*project"):
        WRITERS[command](project / place)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("below", ["attract", "art"])
def test_a_folder_of_a_site_that_leads_out_of_it_is_refused(tmp_path: Path, below: str) -> None:
    """A folder that was named itself may lie anywhere, and its links still lead nowhere else."""
    page, home, site = page_in(tmp_path), tmp_path / "home", tmp_path / "site"
    home.mkdir()
    site.mkdir()
    (site / below).symlink_to(home)
    kept = write_output(tmp_path / "kept.js", b"game")
    with pytest.raises(ConfigurationError, match=f"{below}: is a link that leads out of"):
        write_site(site, kept, find_page_copy(page, page.parent, ()), tmp_path / "runs")
    assert list(home.iterdir()) == []


def test_a_folder_that_was_named_itself_may_be_a_link(project: Path) -> None:
    (project.parent / "link").symlink_to(project.parent / "home")
    write_output(project.parent / "link" / "a.json", b"{}")
    write_output(Path("../link/b.json"), b"{}")
    (project / "inner").symlink_to("out")
    write_output(project / "inner" / "c.json", b"{}")
    assert (project.parent / "home" / "a.json").is_file() and (project / "out" / "c.json").is_file()


RAW = frozenset({"write_text", "write_bytes", "copyfile", "copy", "copy2", "copytree"})
ALLOWED = {
    "commands/evaluating.py": {"copytree", "copyfile"},  # into a temporary folder
    "commands/new.py": {"copytree", "copyfile", "write_text"},  # into a folder that it has made
    "commands/output.py": {"open"},  # /dev/null
    "commands/report.py": {"open"},  # O_EXCL
    "playtest/github_report.py": {"open"},  # the file that GitHub names
}


def test_no_command_writes_in_another_way() -> None:
    for path in (*(PACKAGE / "commands").glob("*.py"), *(PACKAGE / "playtest").glob("*.py")):
        calls = {
            ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        }
        opened = {"open" for call in calls if re.search(r"""\bopen\(.*(O_WRONLY|'[wax]b?')""", call)}
        names = opened | {name for name in RAW for call in calls if re.search(rf"\b{name}\(", call)}
        name = path.relative_to(PACKAGE).as_posix()
        assert names <= ALLOWED.get(name, set()), name
