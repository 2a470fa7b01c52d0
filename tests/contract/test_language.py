"""Comments, docstrings, messages and constants keep to the language of `check_language.py`."""

from pathlib import Path

import pytest

from check_language import language_problems, main, problems_in
from check_rules import ROOT

OF = "a comment begins with 'Of'"


def test_this_repository_has_no_problems_and_lists_no_folder_that_passes():
    assert language_problems(ROOT) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("backend/a.py", '"""Of a module."""\n'),
        ("backend/a.py", "LIMIT = 3  # Of a call.\n"),
        ("tests/a.py", 'LIMIT = 3\n"""Of a call."""\n'),
        ("tests/a.py", 'LIMIT = 3\n"""\nOf a call, in several lines.\n"""\n'),
        ("web/a.ts", "// Of a module.\n"),
        ("web/a.ts", "/** Of a module. */\n"),
        ("web/a.ts", "/**\n * Of a module.\n */\n"),
        ("web/a.css", "/* Of a page. */\n"),
        ("web/a.html", "<!-- Of a page. -->\n"),
    ],
)
def test_a_comment_must_not_begin_with_its_object(name: str, text: str):
    (problem,) = problems_in(name, text)
    assert problem.endswith(OF)


def test_a_problem_names_file_and_line():
    assert problems_in("web/a.ts", "const a = 1;\n// Of it.\n") == [f"web/a.ts:2: {OF}"]
    assert problems_in("web/a.ts", "/**\n * Of it.\n */\n") == [f"web/a.ts:2: {OF}"]
    assert problems_in("backend/a.py", "a = 1\nraise ValueError('Nobody')\n") == [
        "backend/a.py:2: 'Nobody': name the subject"
    ]
    assert problems_in("web/a.ts", "\n\nconst MOST_STEPS = 3;\n") == [
        "web/a.ts:3: MOST_STEPS: call it MAX_ or MIN_"
    ]


@pytest.mark.parametrize("word", ["whoever", "nobody", "somebody", "Anybody"])
def test_product_code_names_its_subjects_and_tests_need_not(word: str):
    assert len(problems_in("backend/a.py", f"# {word} calls\n")) == 1
    assert problems_in("tests/a.py", f"# {word} calls\n") == []


@pytest.mark.parametrize("name", ["MOST_STEPS", "FEWEST_ROWS", "_LEAST_SHARE"])
def test_a_bound_is_called_max_or_min(name: str):
    assert len(problems_in("tests/a.py", f"{name} = 3\n")) == 1


def test_other_words_and_names_pass():
    assert (
        problems_in("web/a.ts", "// Offers. A list of it. Often.\nconst ALMOST_ALL = most_of(MAX_STEPS);")
        == []
    )


def test_an_excepted_folder_hides_its_problems_until_it_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    bad, good = tmp_path / "backend" / "bad", tmp_path / "backend" / "good"
    for folder in (bad, good, bad / "inner", bad / "node_modules"):
        folder.mkdir(parents=True)
    (bad / "a.py").write_text("MOST_STEPS = 3\n")
    (bad / "node_modules" / "a.js").write_text("// Of a package.\n")
    (good / "a.py").write_text("MAX_STEPS = 3\n")

    assert language_problems(tmp_path, ()) == ["backend/bad/a.py:1: MOST_STEPS: call it MAX_ or MIN_"]
    assert main(tmp_path, ("backend/bad",)) == 0

    assert main(tmp_path, ("backend/bad", "backend/bad/inner", "backend/good")) == 1
    assert capsys.readouterr().err == (
        "backend/bad/inner passes: remove it from NOT_YET\nbackend/good passes: remove it from NOT_YET\n"
    )
