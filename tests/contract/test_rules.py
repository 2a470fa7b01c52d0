"""Every built rule has a test with its id, and the protocol text is complete."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from attract.schema import PROTOCOL_VERSION, close_codes, learner, messages
from check_rules import MAX_LINES, ROOT, length_problems, rule_problems, rules, rules_with_tests

PROTOCOL = (ROOT / "shared_schema" / "PROTOCOL.md").read_text()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A small repository with one rule and its test."""
    files = {
        "docs/contributing/rules.md": "- **E2** (built) One.\n- **E9** (planned) Two.\n",
        "tests/backend/algorithm/test_advantages.py": "async def test_E2_value():\n    pass\n",
        "tests/web/worker/policy/session.browser.test.ts": "it('swaps', () => {});",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def test_a_complete_repository_has_no_problems(repository: Path):
    assert rule_problems(repository) + length_problems(repository) == []


def test_a_long_file_is_a_problem(repository: Path):
    path = repository / "tests" / "test_long.py"
    path.write_text("\n" * (MAX_LINES + 1))
    assert length_problems(repository) == ["tests/test_long.py has 501 lines, 500 at the most: split it"]


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
