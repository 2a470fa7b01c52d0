"""Recorded episodes over HTTP: read by viewers, changed by the admin, of active and past runs."""

import base64
from pathlib import Path
from typing import Any

import pytest

from attract.playtest.match import Match
from attract.run.events import Listening
from attract.runs.directory import RunDirectory
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episodes import FOLDER, EpisodeStore, NewEpisode, written
from attract.runs.matches import keep_match
from attract.server.past_run_routes import MAX_BYTES
from gateway_world import GatewayWorld
from recorded_episodes import failed, found, recorded

PLAYED: dict[str, Any] = recorded(7.0, version=None).model_dump(mode="json")


@pytest.fixture
async def run_id(world: GatewayWorld) -> str:
    """A past run."""
    return await world.trained(128)


def store_of(world: GatewayWorld, run_id: str) -> EpisodeStore:
    return EpisodeStore(world.runs_dir / run_id, EpisodeLimits(1 << 20, 100))


async def next_event(listening: Listening) -> tuple[str, str]:
    event = await listening.next(20.0)
    assert event is not None
    return event.kind, event.data


async def test_what_a_person_played_is_kept_starred_listed_and_deleted(world: GatewayWorld, run_id: str):
    path = f"/api/runs/{run_id}/episodes"
    assert (await world.client.get(path)).json() == []
    with world.service.events.listen(run_id) as listening:
        response = await world.client.post(path, json=PLAYED)
        kind, data = await next_event(listening)
    assert response.status_code == 201
    kept = response.json()
    assert (kind, kept["id"] in data) == ("episode", True)
    assert (kept["source"], kept["starred"], kept["policy_version"]) == ("person", True, None)
    assert (await world.client.get(path)).json() == [kept]
    whole = (await world.client.get(f"{path}/{kept['id']}")).json()
    assert (whole["id"], whole["run_id"], whole["returns"]) == (kept["id"], run_id, [7.0])
    deleted = await world.client.post(f"{path}/{kept['id']}/delete", json={})
    assert (deleted.status_code, deleted.json()) == (200, [])


async def test_an_episode_is_starred_and_its_star_removed(world: GatewayWorld, run_id: str):
    (entry,) = store_of(world, run_id).add([NewEpisode(recorded(), "training", "best", 64)])
    path = f"/api/runs/{run_id}/episodes/{entry.id}/star"
    for starred in (True, False):
        with world.service.events.listen(run_id) as listening:
            answer = await world.client.post(path, json={"starred": starred})
            kind, _ = await next_event(listening)
        assert (answer.status_code, answer.json()["starred"], kind) == (200, starred, "episode")
        assert store_of(world, run_id).entries()[0].starred is starred
    for body in ({}, {"starred": "perhaps"}, {"starred": True, "more": 1}):
        assert (await world.client.post(path, json=body)).status_code == 422


async def test_the_newest_match_is_there_for_viewers(world: GatewayWorld, run_id: str):
    path = f"/api/runs/{run_id}/match"
    async with world.anonymous(authorization=f"Bearer {world.guard.issue('viewer')}") as viewer:
        assert (await viewer.get(path)).json() is None
        match = Match(["r", "random"], 2)
        match.count((0, 1), [1.0, 0.0])
        kept = keep_match(RunDirectory.view(world.runs_dir, run_id), match.report("Duel-v1"), {}, 640)
        found = await viewer.get(path)
        assert (found.status_code, found.json()) == (200, kept.model_dump(mode="json"))
    assert (await world.client.get("/api/runs/no-such-run/match")).status_code == 404


async def test_what_is_not_there_is_404_in_one_sentence(world: GatewayWorld, run_id: str):
    client = world.client
    for wrong, said in (
        (f"{run_id}/episodes/none", f"run {run_id} has no episode none"),
        (f"{run_id}/episodes/.lock", f"run {run_id} has no episode .lock"),
        ("no-such-run/episodes/none", "there is no run no-such-run"),
    ):
        found = await client.get(f"/api/runs/{wrong}")
        assert found.status_code == 404 and said in found.json()["error"], wrong
        for action, body in (("star", {"starred": True}), ("delete", {})):
            response = await client.post(f"/api/runs/{wrong}/{action}", json=body)
            assert response.status_code == 404 and said in response.json()["error"], wrong
    listed = await client.get("/api/runs/no-such-run/episodes")
    kept = await client.post("/api/runs/no-such-run/episodes", json=PLAYED)
    assert (listed.status_code, kept.status_code) == (404, 404)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"game_id": "CartPole-v1"}, "game_id: the episode is of CartPole-v1; the run's game is Counting-v1"),
        ({"num_steps": 3}, "actions.shape: 7 steps of actions, `num_steps` says 3"),
        ({"version": 1}, "version: Input should be 2"),
        ({"seats": []}, "seats: List should have at least 1 item"),
        ({"more": 1}, "more: Extra inputs are not permitted"),
    ],
)
async def test_what_is_no_episode_of_the_game_is_refused_by_name(
    world: GatewayWorld, run_id: str, change: dict[str, Any], said: str
):
    response = await world.client.post(f"/api/runs/{run_id}/episodes", json={**PLAYED, **change})
    assert response.status_code == 422 and response.json()["error"].startswith(said)
    assert not (world.runs_dir / run_id / FOLDER).exists()


async def test_an_episode_with_other_seats_is_refused(world: GatewayWorld, run_id: str):
    two = recorded([1.0, 2.0], version=None).model_dump(mode="json")
    response = await world.client.post(f"/api/runs/{run_id}/episodes", json=two)
    assert response.status_code == 422
    assert response.json()["error"] == "seats: the episode has 2 agents, the game 1"


async def test_a_long_episode_is_kept_as_small_as_it_is(world: GatewayWorld, run_id: str):
    steps = 200_000
    data = base64.b64encode(bytes(steps)).decode()
    actions = {"dtype": "uint8", "shape": [steps, 1], "deflated": False, "data": data}
    marks = {"interval": steps, "hashes": "0123abcd"}
    body = {**PLAYED, "num_steps": steps, "actions": actions, "marks": marks}
    response = await world.client.post(f"/api/runs/{run_id}/episodes", json=body)
    assert response.status_code == 201 and response.json()["num_bytes"] < 2000


async def test_a_body_that_is_too_large_is_not_read(world: GatewayWorld, run_id: str):
    body = b" " * (MAX_BYTES + 1)
    headers = {"content-type": "application/json"}
    path = f"/api/runs/{run_id}/episodes"
    assert (await world.client.post(path, content=body, headers=headers)).status_code == 413


async def test_a_damaged_file_is_listed_and_told_of(world: GatewayWorld, run_id: str):
    (entry,) = store_of(world, run_id).add([NewEpisode(recorded(), "training")])
    (world.runs_dir / run_id / FOLDER / f"{entry.id}.json").write_text("{")
    (listed,) = (await world.client.get(f"/api/runs/{run_id}/episodes")).json()
    assert listed["problem"].startswith("is not valid JSON")
    found = await world.client.get(f"/api/runs/{run_id}/episodes/{entry.id}")
    assert found.status_code == 422 and "is not valid JSON" in found.json()["error"]


async def test_a_disk_that_takes_nothing_is_507(world: GatewayWorld, run_id: str):
    (world.runs_dir / run_id / FOLDER).write_bytes(b"a file in its place")
    response = await world.client.post(f"/api/runs/{run_id}/episodes", json=PLAYED)
    assert response.status_code == 507 and "cannot be written" in response.json()["error"]


async def test_visitors_see_episodes_and_change_none(world: GatewayWorld, run_id: str, tmp_path: Path):
    (entry,) = store_of(world, run_id).add([NewEpisode(recorded(), "training")])
    path = f"/api/runs/{run_id}/episodes"
    viewer = world.anonymous(authorization=f"Bearer {world.guard.issue('viewer')}")
    async with viewer, world.anonymous() as nobody:
        for place in (path, f"{path}/{entry.id}"):
            assert (await viewer.get(place)).status_code == 200
            assert (await nobody.get(place)).status_code == 401
        for place, body in (
            (path, PLAYED),
            (f"{path}/{entry.id}/star", {"starred": True}),
            (f"{path}/{entry.id}/delete", {}),
        ):
            assert (await viewer.post(place, json=body)).status_code == 403
    assert store_of(world, run_id).entries() == [entry]


async def test_what_attract_ci_found_in_the_project_is_read_with_a_token(world: GatewayWorld):
    assert (await world.client.get("/api/findings")).json() == []
    folder = world.runs_dir.parent / "attract-ci"
    folder.mkdir()
    whole = failed(found(episode_file="01.episode.json"), game_id="Counting-v1")
    (folder / "report.json").write_text(whole.model_dump_json())
    (folder / "01.episode.json").write_bytes(written(recorded(7.0)))
    (report,) = (await world.client.get("/api/findings")).json()
    (finding,) = report["findings"]
    assert (report["game_id"], finding["id"], finding["episode"]["returns"]) == (
        "Counting-v1",
        "error",
        [7.0],
    )
    async with world.anonymous() as stranger:
        assert (await stranger.get("/api/findings")).status_code == 401
