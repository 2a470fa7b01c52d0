"""What `attract check`, `attract probe` and `attract new` are called with, and what the last one says."""

from collections.abc import Callable
from pathlib import Path

import pytest

from attract.commands import check, probe
from attract.commands.check import CheckOptions
from attract.commands.probe import ProbeOptions
from attract.settings.run import ServerSettings


def test_check_serves_the_project_of_a_module_of_ones_own(
    attract: Callable[..., object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checked: list[tuple[CheckOptions, ServerSettings]] = []

    async def check_game(order: CheckOptions, server: ServerSettings) -> int:
        checked.append((order, server))
        return 1

    monkeypatch.setattr(check, "check_game", check_game)
    monkeypatch.chdir(tmp_path)
    assert attract("check", "mine/walk.ts", "--json") == 1
    assert attract("check", "snake") == 1
    (own, own_server), (bundled, bundled_server) = checked
    assert own == CheckOptions(str(tmp_path / "mine" / "walk.ts"), True)
    assert (own_server.project_dir, own_server.port) == (tmp_path, 0)
    assert bundled == CheckOptions("snake", False)
    assert bundled_server.project_dir == ServerSettings().project_dir


def test_probe_takes_a_window_of_two_numbers(
    attract: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    probed: list[ProbeOptions] = []

    async def probe_page(order: ProbeOptions, server: ServerSettings) -> int:
        probed.append(order)
        return server.port

    monkeypatch.setattr(probe, "probe_page", probe_page)
    assert attract("probe", "./dist", "--size", "640", "480", "--out", "a.ts", "--force") == 0
    assert probed == [ProbeOptions("./dist", Path("a.ts"), (640, 480), True, False)]


def test_new_lists_what_it_wrote_and_what_to_type_next(
    attract: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert attract("new", "my-walk", "--template", "physics") == 0
    output = capsys.readouterr().out
    wrote, _, following = output.partition("\n\nNext:\n\n")
    files = [Path(line.removeprefix("wrote ")) for line in wrote.splitlines()]
    assert Path("my-walk/src/game.ts") in files and all(path.is_file() for path in files)
    assert following.startswith("cd my-walk\nattract train src/game.ts ")
