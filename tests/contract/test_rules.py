"""Every built rule has a test with its id, tests mirror the source, and the protocol text is complete."""

import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest

from attract.schema import PROTOCOL_VERSION, close_codes, learner, messages
from check_rules import (
    EXCEPTIONS,
    MAX_CASTS,
    MAX_LINES,
    ROOT,
    UNTESTED,
    cast_problems,
    length_problems,
    mirror_problems,
    rule_problems,
    rules,
    rules_with_tests,
    untested_problems,
    untested_web_problems,
)

PROTOCOL = (ROOT / "shared_schema" / "PROTOCOL.md").read_text()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A small repository with one rule, its test, and a mirrored module in each language."""
    files = {
        "docs/rules.md": "- **E2** (built) One.\n- **E9** (planned) Two.\n",
        "backend/attract/algorithm/advantages.py": "",
        "tests/backend/algorithm/test_advantages.py": "async def test_E2_value():\n    pass\n",
        "tests/backend/algorithm/advantages/test_holes.py": "",
        "web/worker/src/policy/session.ts": "",
        "tests/web/worker/policy/session/swaps.test.ts": "",
        "tests/web/worker/policy/session.browser.test.ts": "it('swaps', () => {});",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def test_this_repositorys_rules_are_tested_and_its_tests_mirrored():
    assert len(rules(ROOT)) == 49, "the rules of docs/rules.md, each on a line of its own"
    assert rule_problems(ROOT) + mirror_problems(ROOT) == []
    assert untested_problems(ROOT) + untested_web_problems(ROOT) + cast_problems(ROOT) == []
    assert length_problems(ROOT) == []


def test_a_complete_repository_has_no_problems(repository: Path):
    assert rule_problems(repository) + mirror_problems(repository) == []
    assert untested_problems(repository) + untested_web_problems(repository) + cast_problems(repository) == []


def test_a_module_of_the_worker_without_a_test_needs_a_reason(repository: Path):
    (repository / "web/worker/src/policy/sampler.ts").write_text("")
    [problem] = untested_web_problems(repository)
    assert problem.startswith("web/worker/src/policy/sampler.ts has no test of its name")
    exceptions = repository / UNTESTED
    exceptions.parent.mkdir(parents=True)
    exceptions.write_text('"web/worker/src/policy/sampler.ts" = " "\n')
    assert len(untested_web_problems(repository)) == 1
    exceptions.write_text('"web/worker/src/policy/sampler.ts" = "types alone"\n')
    assert untested_web_problems(repository) == []


def test_few_modules_are_without_tests():
    entries = tomllib.loads((ROOT / EXCEPTIONS).read_text())["exception"]
    # Modules, not entries: one reason may excuse many.
    assert sum(len(entry["modules"]) for entry in entries) < 25, "write tests rather than excuses"


def write_exception(repository: Path, text: str) -> None:
    (repository / EXCEPTIONS).write_text(f"[[exception]]\n{text}\n")


def test_a_module_without_tests_is_a_problem_unless_it_is_excepted_with_a_reason(repository: Path):
    (repository / "backend/attract/algorithm/__init__.py").write_text("")
    (repository / "backend/attract/algorithm/losses.py").write_text("")
    [problem] = untested_problems(repository)
    assert problem == (
        "backend/attract/algorithm/losses.py has no tests: write tests/backend/algorithm/test_losses.py, "
        "or say why not in tests/untested_modules.toml"
    )
    write_exception(repository, 'modules = ["algorithm/losses.py"]\nreason = "Protocols."')
    assert untested_problems(repository) == []
    write_exception(repository, 'modules = ["algorithm/losses.py"]\nreason = " "')
    [problem] = untested_problems(repository)
    assert "needs `modules` and a `reason`" in problem
    (repository / EXCEPTIONS).unlink()
    folder = repository / "tests/backend/algorithm/losses"
    folder.mkdir()
    assert len(untested_problems(repository)) == 1, "a folder without tests in it"
    (folder / "test_clipping.py").write_text("")
    assert untested_problems(repository) == []


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('modules = ["algorithm/gone.py"]\nreason = "R."', "algorithm/gone.py is gone"),
        ('modules = ["algorithm/advantages.py"]\nreason = "R."', "advantages.py has tests of its own"),
        ('modules = []\nreason = "R."', "needs `modules` and a `reason`"),
    ],
)
def test_an_exception_that_is_not_true_is_a_problem(repository: Path, entry: str, said: str):
    write_exception(repository, entry)
    [problem] = untested_problems(repository)
    assert said in problem


def test_an_exception_names_tests_that_are_there_and_each_module_once(repository: Path):
    (repository / "backend/attract/algorithm/losses.py").write_text("")
    entry = 'modules = ["algorithm/losses.py"]\nreason = "R."\nshown_by = ["tests/end_to_end/test_all.py"]'
    write_exception(repository, entry)
    [problem] = untested_problems(repository)
    assert "tests/end_to_end/test_all.py is to show algorithm/losses.py, and is not there" in problem
    write_exception(repository, 'modules = ["algorithm/losses.py", "algorithm/losses.py"]\nreason = "R."')
    [problem] = untested_problems(repository)
    assert "stands in two entries" in problem


@pytest.mark.parametrize(
    ("module", "says"), [("session.ts", "has a test of its name"), ("gone.ts", "is not there")]
)
def test_a_reason_that_no_module_needs_is_a_problem(repository: Path, module: str, says: str):
    (repository / UNTESTED).parent.mkdir(parents=True)
    (repository / UNTESTED).write_text(f'"web/worker/src/policy/{module}" = "types alone"\n')
    [problem] = untested_web_problems(repository)
    assert problem.endswith(says)


def test_a_cast_to_never_says_why_and_is_one_of_few(repository: Path):
    module = repository / "web/worker/src/policy/session.ts"
    module.write_text("/** Nobody was as never heard. */\n// Because.\nf(x as never);\n")
    assert cast_problems(repository) == []
    module.write_text("const y = 1;\nf(x as never);\n")
    [problem] = cast_problems(repository)
    assert problem.startswith("web/worker/src/policy/session.ts:2 casts to never")
    module.write_text("// Because.\nf(x as never);\n" * (MAX_CASTS + 1))
    [problem] = cast_problems(repository)
    assert problem.startswith(f"{MAX_CASTS + 1} casts to never")


@pytest.mark.parametrize(
    "name",
    [
        "backend/attract/algorithm/advantages.py",
        "web/worker/src/policy/session.ts",
        "web/dashboard/src/styles/run.css",
        "tests/support/long.mjs",
        "shared_schema/generate.py",
    ],
)
def test_a_file_that_somebody_writes_is_not_long(repository: Path, name: str):
    (repository / name).parent.mkdir(parents=True, exist_ok=True)
    (repository / name).write_text("\n" * MAX_LINES)
    assert length_problems(repository) == []
    (repository / name).write_text("\n" * (MAX_LINES + 1))
    assert length_problems(repository) == [f"{name} has 501 lines, 500 at the most: split it"]


@pytest.mark.parametrize(
    "name",
    [
        "web/schema/src/messages.gen.ts",
        "web/node_modules/uplot/uplot.js",
        "backend/attract/web/dashboard/assets/index.js",
        "tests/contract/golden/philox.json",
    ],
)
def test_what_is_generated_or_installed_may_be_long(repository: Path, name: str):
    (repository / name).parent.mkdir(parents=True, exist_ok=True)
    (repository / name).write_text("\n" * (MAX_LINES + 1))
    assert length_problems(repository) == []


def test_a_built_rule_without_a_test_is_a_problem(repository: Path):
    test = repository / "tests/backend/algorithm/test_advantages.py"
    test.write_text("def check_E2_value():\n    pass\n# test_E2_value\n")
    assert rule_problems(repository) == [
        "E2 is built, but no test carries its id (test_E2_... or vitest 'E2: ...')"
    ]
    (repository / "tests/web/worker/policy/session.browser.test.ts").write_text('it("E2: swaps", f)')
    assert rule_problems(repository) == []


def test_one_test_may_carry_several_rules(repository: Path):
    test = repository / "tests/backend/algorithm/test_advantages.py"
    test.write_text("def test_E2_C1_value():\n    pass\n")
    (repository / "tests/web/worker/policy/session.browser.test.ts").write_text('it("E9, S1: swaps", f)')
    assert sorted(rules_with_tests(repository)) == ["C1", "E2", "E9", "S1"]


def test_a_test_of_an_unknown_rule_is_a_problem(repository: Path):
    (repository / "tests/backend/algorithm/test_advantages.py").write_text(
        "def test_E2_a():\n    pass\ndef test_E77_b():\n    pass\n"
    )
    [problem] = rule_problems(repository)
    assert "test of E77" in problem


@pytest.mark.parametrize(
    "stray",
    [
        "tests/backend/algorithm/test_losses.py",
        "tests/backend/test_advantages.py",
        "tests/elsewhere/test_x.py",
        "tests/web/worker/session.test.ts",
        "tests/web/sdk/check.test.ts",
        "tests/backend/losses/test_holes.py",
        "tests/web/worker/swaps/session.test.ts",
    ],
)
def test_a_test_that_mirrors_nothing_is_a_problem(repository: Path, stray: str):
    (repository / stray).parent.mkdir(parents=True, exist_ok=True)
    (repository / stray).write_text("")
    [problem] = mirror_problems(repository)
    assert problem.startswith(f"{stray} mirrors no module")


def types_of(union: Any) -> set[str]:
    return {model.model_fields["type"].default for model in get_args(get_args(union)[0])}


def test_the_protocol_text_names_every_message():
    for union in (messages.FromBrowser, messages.ToBrowser, learner.ToLearner, learner.FromLearner):
        for name in types_of(union):
            assert f"`{name}`" in PROTOCOL, name


def test_the_protocol_text_lists_every_close_code_and_only_those():
    listed = {name: int(code) for code, name in re.findall(r"^\| (\d{4}) \| `([A-Z_]+)` ", PROTOCOL, re.M)}
    defined = {name: value for name, value in vars(close_codes).items() if isinstance(value, int)}
    assert listed == defined
    retried = set(re.findall(r"^\| (\d{4}) .*\| reconnects with back-off \|$", PROTOCOL, re.M))
    assert {str(code) for code in close_codes.RETRY} == retried | {"1005", "1006", "1011", "1012"}


def test_the_protocol_text_states_the_version_and_cites_only_rules_there_are():
    assert f"Protocol version: **{PROTOCOL_VERSION}**." in PROTOCOL
    cited = set(re.findall(r"\b([TESPCID]\d{1,2})\b", PROTOCOL))
    assert cited
    assert cited <= set(rules(ROOT))
