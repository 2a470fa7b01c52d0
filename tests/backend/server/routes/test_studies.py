"""Studies are shown to who may look, as their folders say."""

import pytest

from attract.runs.studies import locked_study, study_folder, write_view
from attract.schema.studies import StudyTrial, StudyView
from gateway_world import GatewayWorld


def view() -> StudyView:
    return StudyView(
        study="snake",
        game="snake",
        state="searching",
        total_steps=100,
        num_trials=8,
        parallel=1,
        elapsed_seconds=1.0,
        trials=[StudyTrial(number=0, state="running", settings={"policy.hidden_sizes": [64]})],
    )


async def test_a_study_that_runs_is_listed_and_shown(world: GatewayWorld):
    assert (await world.client.get("/api/studies")).json() == []
    folder = study_folder(world.settings.runs_dir, "snake")
    with locked_study(folder):
        write_view(folder, view())
        (listed,) = (await world.client.get("/api/studies")).json()
        assert (listed["study"], listed["state"], listed["num_trials"]) == ("snake", "searching", 8)
        shown = (await world.client.get("/api/studies/snake")).json()
        assert StudyView.model_validate(shown) == view()
    assert (await world.client.get("/api/studies/snake")).json()["state"] == "stopped"


@pytest.mark.parametrize("name", ["nothing", "..", "%2e%2e%2fsecret", ".trash"])
async def test_what_is_no_study_is_not_found(world: GatewayWorld, name: str):
    response = await world.client.get(f"/api/studies/{name}")
    assert response.status_code == 404
    assert "error" in response.json()


async def test_who_has_no_token_sees_none(world: GatewayWorld):
    response = await world.client.get("/api/studies", headers={"authorization": "Bearer nonsense"})
    assert response.status_code == 401
