"""`attract.config.ts` and `.yaml`: where it is looked for, what it may say, and that none of it is run."""

import re
import time
from pathlib import Path

import pytest

from attract.commands import flags
from attract.commands.project_play import ProjectPlay, planned
from attract.commands.verify import VerifyOptions
from attract.errors import ConfigurationError
from attract.games.project import REPOSITORY_DIR
from attract.playtest.project_file import (
    NAMES,
    ProjectFile,
    ProjectSettings,
    find_project_file,
    read_project_file,
)
from attract.playtest.report import ORACLES
from attract.playtest.rules import THRESHOLDS, Rule, Rules
from attract.settings.run import ServerSettings

TYPESCRIPT = """\
import type { AttractConfig } from "attract/config";

// Quotes, comments and commas as people write them.
const config: AttractConfig = {
  page: './dist', /* built */
  devices: [`desktop`, "phone"],
  seconds: 1_20.5,
  "junit": 'reports/a "b" \\u{e9}\\x41.xml',
  rules: { 'soft-lock': "off", slow: ["warn", { times: 1e1, }], "changed:return": 'warn' },
};
export default config satisfies AttractConfig;
"""
YAML = """\
page: ./dist
devices: [desktop, phone]
seconds: 120.5
junit: 'reports/a "b" éA.xml'
rules: {soft-lock: off, slow: [warn, {times: 10}], 'changed:return': warn}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, which is the current folder."""
    folder = tmp_path / "project"
    for name in (".git", "dist", "src/deep"):
        (folder / name).mkdir(parents=True)
    (folder / "dist" / "index.html").write_text("<canvas>")
    monkeypatch.chdir(folder)
    # A flag sets it for what a command starts: it is put back afterwards.
    monkeypatch.setenv("ATTRACT_PAGE_DEVICE", "")
    return folder


def read(folder: Path, text: str, name: str = "attract.config.ts") -> ProjectFile:
    (folder / name).write_text(text)
    return read_project_file(folder / name)


def problem(folder: Path, text: str, name: str = "attract.config.ts") -> str:
    with pytest.raises(ConfigurationError) as refused:
        read(folder, text, name)
    assert name in str(refused.value)
    return str(refused.value)


def test_typescript_and_yaml_say_the_same(project: Path) -> None:
    one, other = read(project, TYPESCRIPT), read(project, YAML, "attract.config.yaml")
    assert one.settings == other.settings
    assert one.settings.devices == ("desktop", "phone") and one.settings.seconds == 120.5
    assert one.place("junit") == project / "reports" / 'a "b" éA.xml'
    assert one.game == "./dist"
    for name, text in (("attract.config.mjs", "export default { game: 'src/g.ts', seed: 0x10 };"),):
        assert read(project, text, name).settings.seed == 16


@pytest.mark.parametrize("suffix", ["", "src/deep"])
def test_it_is_found_from_the_current_folder_up_to_the_repository(
    project: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is above a repository is none of it.
    (project.parent / "attract.config.yaml").write_text("page: elsewhere")
    monkeypatch.chdir(project / suffix)
    assert find_project_file(Path.cwd()) is None
    (project / "attract.config.ts").write_text(TYPESCRIPT)
    found = find_project_file(Path.cwd())
    assert found is not None and found.path == project / "attract.config.ts"
    assert Path(found.game).resolve() == project / "dist"


def test_without_a_repository_only_the_current_folder_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "attract.config.yaml").write_text("page: elsewhere")
    monkeypatch.chdir(tmp_path / "inner")
    assert find_project_file(Path.cwd()) is None
    # Nor is the home directory that of a project.
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()
    assert find_project_file(Path.cwd()) is None


def test_two_files_are_refused(project: Path) -> None:
    for name in NAMES[:2]:
        (project / name).write_text("export default { page: 'dist' }")
    with pytest.raises(ConfigurationError, match=r"attract\.config\.ts and attract\.config\.js"):
        find_project_file(project)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("scnds: 30", "did you mean 'seconds'?"),
        ("devices: ['fone']", "did you mean 'phone'?"),
        ("players: ['rando']", "did you mean 'random'?"),
        ("seconds: 5", "seconds in attract.config.ts: must be a number from 10 to 3600"),
        ("rules: { slow: 'wran' }", "did you mean 'warn'?"),
        ("rules: { 'soft-lok': 'warn' }", "did you mean 'soft-lock'?"),
        ("rules: { slow: ['warn', { tims: 3 }] }", "did you mean 'times'?"),
        ("rules: { nan: ['warn', { share: 1 }] }", "there are none"),
        (
            "rules: { slow: ['warn', { share: 0 }] }",
            "rules.slow.thresholds.share in attract.config.ts: must be",
        ),
        ("rules: { slow: 3 }", "is off, warn or error"),
        ("rules: { 'slow:x': 'warn' }", "only changed and unreached"),
        ("game: 'src/game.ts'", "keep one"),
        ("junit: '../../junit.xml'", "leads out of"),
        ("out: '/etc'", "leads out of"),
        ("junit: 'a\\0b'", "junit in attract.config.ts"),
    ],
)
def test_what_is_wrong_is_named_with_its_field(project: Path, value: str, said: str) -> None:
    assert said in problem(project, f"export default {{ page: './dist', {value} }}")


def test_it_names_something_to_play(project: Path) -> None:
    assert "names nothing to play" in problem(project, "export default { seconds: 20 }")
    assert "devices are those of a page" in problem(
        project, "export default {game: 'g.ts', devices: ['phone']}"
    )


HOSTILE = {
    "loops": "for (;;); export default { page: 'dist' }",
    "loops in a value": "export default { page: (() => { for (;;); })() }",
    "prints": "for (let i = 0; i < 1e9; i++) console.log('x'.repeat(1e6)); export default { page: 'dist' }",
    "throws": "throw new Error('no'); export default { page: 'dist' }",
    "writes": "import fs from 'node:fs'; fs.writeFileSync('victim', ''); export default { page: 'dist' }",
    "reads the environment": "export default { page: process.env.HOME }",
    "imports its page": "import page from './page.ts'; export default { page }",
    "spreads": "export default { ...globalThis, page: 'dist' }",
    "has a getter": "export default { get page() { return 'dist' } }",
    "computes": "export default { ['pa' + 'ge']: 'dist' }",
    "has a template": "export default { page: `${'dist'}` }",
    "is no object": "export default ['dist']",
    "is a function": "export default () => ({ page: 'dist' })",
    "has no default": "export const page = 'dist'",
    "is of CommonJS": "module.exports = { page: 'dist' }",
    "says it twice": "export default { page: 'dist', page: 'other' }",
    "is no TypeScript": "export default { page: ",
    "is empty": "",
    "is deep": f"export default {{ page: {'[' * 20_000}{']' * 20_000} }}",
    "is large": f"export default {{ page: '{'x' * 70_000}' }}",
    "has half a character": "export default { page: '\\ud800' }",
    "has half a character as a name": "export default { page: 'dist', '\\ud800': 1 }",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_nothing_in_it_is_run(project: Path, what: str) -> None:
    began = time.monotonic()
    said = problem(project, HOSTILE[what])
    assert len(said) < 2_000
    assert time.monotonic() - began < 10
    assert not (project / "victim").exists()


@pytest.mark.parametrize(
    "text",
    [
        "page: &a [x, x]\nrules: [*a, *a]",
        "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
        "page: &a [*a]",
        "page: !!python/object/apply:os.system [touch victim]",
        "- page",
        "page: dist\npage: other",
    ],
)
def test_hostile_yaml_is_refused(project: Path, text: str) -> None:
    problem(project, text, "attract.config.yaml")
    assert not (project / "victim").exists()


def test_a_link_out_of_the_project_is_not_followed(project: Path) -> None:
    (project.parent / "secret").write_text("page: secret")
    (project / "attract.config.yaml").symlink_to(project.parent / "secret")
    with pytest.raises(ConfigurationError, match="leads out of"):
        find_project_file(project)


def test_the_type_of_the_package_has_the_same_fields() -> None:
    text = (
        (REPOSITORY_DIR / "web" / "sdk" / "src" / "config.ts")
        .read_text()
        .partition("interface AttractConfig")[2]
    )
    assert re.findall(r"readonly (\w+)\?:", text) == list(ProjectSettings.model_fields)


def test_rules_are_those_of_the_oracles() -> None:
    assert set(THRESHOLDS) <= set(ORACLES)
    rules = Rules(
        {
            "changed": Rule.model_validate("off"),
            "changed:return": Rule.model_validate("warn"),
            "slow": Rule.model_validate(["off"]),
            "score-exploit": Rule.model_validate(["error", {"deviations": 3}]),
        }
    )
    levels = [rules.level(name) for name in ("changed:length:lower", "changed:return:lower", "nan")]
    assert levels == ["off", "warn", "error"]
    # Of `changed` a number is judged.
    assert rules.off == {"slow"}
    assert rules.threshold("score-exploit", "deviations") == 3
    assert rules.threshold("endless", "steps") == 3_000


def plan(game: str | None, **given: object) -> tuple[str, VerifyOptions, ServerSettings, ProjectPlay]:
    options = VerifyOptions(**given)  # type: ignore[arg-type]
    return planned(game, options, flags.server_settings(options), "attract verify ./dist CLAIM")


def test_flags_and_variables_win_over_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "page: ./dist\nseconds: 30\nseed: 7\ndevices: [phone]\npolicy: latest\nplayers: [random, hold]"
    (project / "attract.config.yaml").write_text(text)
    game, options, _, play = plan(None)
    assert (game, options.seconds, options.seed, options.policy) == ("./dist", 30, 7, "latest")
    assert play.devices == ("phone",)
    assert play.crowd(["idle", "random", "sticky", "hold-0", "trained:greedy"]) == [
        "idle",
        "random",
        "hold-0",
    ]
    _, options, _, _ = plan(None, seconds=120.0, seed=0)
    assert (options.seconds, options.seed, options.policy) == (120, 0, "latest")
    _, _, server, play = plan(None, page_device="tablet")
    assert (server.page_device, play.devices) == ("tablet", ())
    monkeypatch.setenv("ATTRACT_PAGE_DEVICE", "desktop@2x")
    _, _, server, play = plan(None)
    assert (server.page_device, play.devices) == ("desktop@2x", ())


def test_its_settings_are_for_its_own_game_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "attract.config.yaml").write_text("page: ./dist\nseconds: 30\nrules: {slow: off}")
    for named in ("dist", "./dist/index.html", str(project / "dist"), "."):
        _, options, _, play = plan(named)
        assert (options.seconds, play.rules.off) == (30, {"slow"}), named
    (project / "other").mkdir()
    (project / "other" / "index.html").write_text("<canvas>")
    for named in ("other", "cartpole", "src/game.ts"):
        _, options, _, play = plan(named)
        assert (options.seconds, play) == (None, ProjectPlay())
    assert (
        "attract.config.yaml is of another game: nothing of it is used for cartpole"
        in capsys.readouterr().out
    )


def test_the_folder_of_a_page_configures_nothing(project: Path) -> None:
    (project / "dist" / "attract.config.ts").write_text("export default { page: '.', seconds: 10, out: 'x' }")
    _, options, _, play = plan("dist")
    assert (options.seconds, play) == (None, ProjectPlay())
    # Nor is it read: it would be refused.
    (project / "dist" / "attract.config.ts").write_text("throw 1")
    plan("dist")


def test_without_a_file_a_game_is_asked_for(project: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"attract verify \./dist CLAIM"):
        plan(None)
