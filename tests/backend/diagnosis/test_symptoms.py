"""Every finding has a name of its own, a line in the guide, and a run or a test that shows it."""

from pathlib import Path

from attract.diagnosis.advice import advice_for
from attract.diagnosis.symptoms import SYMPTOMS
from attract.settings.presets import PRESET_HELP
from attract.settings.run import ALGORITHM_SETTINGS
from planted_failures import PLANTED, table

DOCS = Path(__file__).resolve().parents[3] / "docs"
GUIDE = DOCS / "not-learning.md"
WITHOUT_A_RUN = {
    *("return-fell", "no-improvement", "not-above-random", "evaluation-differs"),
    *("few-decisions", "values-too-high", "explores-long", "still-random", "buffer-small"),
}
"""They come of several faults, of a page or of a replay buffer, and stand in the tests of their signs."""


def test_names_are_unique_and_advised_upon() -> None:
    names = [symptom.finding_id for symptom in SYMPTOMS]
    assert len(set(names)) == len(names)
    advised = {key.partition("/")[0] for algorithm in ALGORITHM_SETTINGS for key in advice_for(algorithm)}
    assert advised == set(names)


def test_each_is_planted_in_a_real_game() -> None:
    planted = {finding_id for run in PLANTED for finding_id in run.expected}
    assert planted == {symptom.finding_id for symptom in SYMPTOMS} - WITHOUT_A_RUN


def test_the_notebook_shows_what_recorded_runs_say() -> None:
    notebook = DOCS / "notebook" / "diagnosis.md"
    assert table() in notebook.read_text(), "run `benchmarks/experiments/planted_failures.py --table`"


def test_the_guide_lists_every_preset() -> None:
    text = GUIDE.read_text()
    for name, when in PRESET_HELP.items():
        assert f"| `{name}` | {when} |" in text


def test_each_is_explained_in_the_guide() -> None:
    text = GUIDE.read_text()
    for symptom in SYMPTOMS:
        assert f"`{symptom.finding_id}`" in text
