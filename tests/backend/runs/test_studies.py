"""The folders of studies: whose they are, and what is shown of them."""

from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.runs.studies import list_studies, locked_study, read_view, study_folder, write_view
from attract.schema.studies import StudyTrial, StudyView


def view(**changes: object) -> StudyView:
    trials = [
        StudyTrial(number=0, state="finished", settings={}, score=1.0, seconds=2.0),
        StudyTrial(number=1, state="pruned", settings={"ppo.gamma": 0.9}, score=9.0, seconds=1.0),
        StudyTrial(number=2, state="running", settings={"policy.hidden_sizes": [64]}),
    ]
    whole: dict[str, object] = {
        "study": "s",
        "game": "snake",
        "state": "searching",
        "total_steps": 100,
        "num_trials": 8,
        "parallel": 1,
        "elapsed_seconds": 1.0,
        "trials": trials,
    }
    return StudyView.model_validate(whole | changes)


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "x" * 121])
def test_a_name_that_could_be_another_folder_is_refused(tmp_path: Path, name: str):
    with pytest.raises(ConfigurationError, match="is no study's name"):
        study_folder(tmp_path, name)


def test_one_process_alone_works_at_a_study(tmp_path: Path):
    folder = study_folder(tmp_path, "s")
    with (
        locked_study(folder),
        pytest.raises(ConfigurationError, match="another process works at study s"),
        locked_study(folder),
    ):
        pass
    with locked_study(folder):
        pass


def test_a_study_that_nobody_works_at_is_stopped_and_nothing_of_it_runs(tmp_path: Path):
    folder = study_folder(tmp_path, "s")
    with locked_study(folder):
        write_view(folder, view())
        live = read_view(folder)
        assert live is not None
        assert (live.state, len(live.trials)) == ("searching", 3)
    left = read_view(folder)
    assert left is not None
    assert left.state == "stopped"
    assert [trial.number for trial in left.trials] == [0, 1]


@pytest.mark.parametrize("state", ["finished", "failed", "stopped"])
def test_one_that_is_over_is_shown_as_it_ended(tmp_path: Path, state: str):
    folder = study_folder(tmp_path, "s")
    with locked_study(folder):
        write_view(folder, view(state=state))
    left = read_view(folder)
    assert left is not None
    assert left.state == state


def test_what_cannot_be_read_is_left_out(tmp_path: Path):
    for name, text in (("a", "{"), ("b", '{"study": "b"}')):
        folder = study_folder(tmp_path, name)
        folder.mkdir(parents=True)
        (folder / "study.json").write_text(text)
    outside = tmp_path / "outside.json"
    outside.write_text(view(state="finished").model_dump_json())
    linked = study_folder(tmp_path, "c")
    linked.mkdir()
    (linked / "study.json").symlink_to(outside)
    assert list_studies(tmp_path) == []
    assert list_studies(tmp_path / "nowhere") == []


def test_the_list_names_the_best_finished_score_under_the_folders_name(tmp_path: Path):
    folder = study_folder(tmp_path, "other")
    with locked_study(folder):
        write_view(folder, view(state="finished"))
    (found,) = list_studies(tmp_path)
    # The pruned trial's 9 is of a quarter of its steps.
    assert (found.study, found.best_score, found.num_done, found.num_trials) == ("other", 1.0, 2, 8)
