"""What a run says of its own learning: once, kept, withdrawn."""

from pathlib import Path

from attract.runs.metrics import MetricsStore
from attract.schema.api import RandomPlay, RunView
from gateway_world import GatewayWorld, finished, gateway, kinds, start_run, until_update
from socket_fleet import DESCRIPTION, random_play

UNPAID = {"rollout/reward_min": 0.0, "rollout/reward_max": 0.0}
"""Rewards of every step of the fake learner's updates."""


async def test_what_keeps_a_run_from_learning_is_told_once_kept_and_in_its_result(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.metrics = UNPAID
        view = await world.start(total_steps=640)
        result = await finished(world)
        (finding,) = kinds(world, "finding")
        # A batch is a target (S1): each may be larger than 64 steps.
        metrics = (await world.client.get(f"/api/runs/{view.run_id}/metrics")).json()
        steps = dict(zip(metrics["updates"], metrics["agent_steps"], strict=True))
        # From 80 steps on, an eighth of the run; said with the third update that shows it.
        first = min(update for update in steps if steps[update] >= 80)
        assert (finding.finding_id, finding.value) == ("reward-constant", 0.0)
        assert (finding.first_update, finding.first_agent_steps) == (first, steps[first])
        assert f"{steps[first + 2]:.0f} steps" in finding.text
        (held,) = result.findings
        assert held.finding_id == finding.finding_id and f"{result.agent_steps} steps" in held.text
        kept = (await world.client.get(f"/api/runs/{view.run_id}")).json()["findings"]
        assert kept == [held.model_dump(mode="json")]
        shown = [body for body in kinds(world, "status") if body.findings and body.state == "running"]
        assert shown, "pages do not hear of it while the run goes on"
        store = MetricsStore(world.runs_dir / view.run_id / "metrics.db")
        assert [event.kind for event in store.events_after(0)].count("finding") == 1
        store.close()


async def test_what_was_found_before_still_holds_after_a_resume_and_is_not_said_again(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.metrics = UNPAID
        first = await world.start(total_steps=640)
        before = await finished(world)
        (said,) = kinds(world, "finding")
        more = {"total_steps": before.agent_steps + 64}
        await start_run(world.service, "", more, run_id=first.run_id, resume=True)
        result = await finished(world)
        # A batch is a target (S1): it may be larger than 64 steps.
        assert result.updates == before.updates + 1
        (held,) = result.findings
        assert (held.first_update, held.first_agent_steps) == (said.first_update, said.first_agent_steps)
        assert len(kinds(world, "finding")) == 1


async def test_a_finding_is_withdrawn_when_it_no_longer_holds(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.metrics = UNPAID
        await world.start(total_steps=64 * 40)
        await until_update(world, 10)
        world.learner.metrics = {**UNPAID, "rollout/reward_max": 1.0}
        result = await finished(world)
        assert [kind.withdrawn for kind in kinds(world, "finding")] == [False, True]
        # Whoever reads the result alone is told of it, too.
        assert [(finding.finding_id, finding.withdrawn) for finding in result.findings] == [
            ("reward-constant", True)
        ]


async def view_of(world: GatewayWorld, run_id: str) -> RunView:
    """As pages get it."""
    return RunView.model_validate((await world.client.get(f"/api/runs/{run_id}")).json())


async def test_a_run_that_is_no_better_than_random_play_says_so_at_its_end(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(random_play=random_play(11.0)).joined() as fleet:
        first = await world.start(total_steps=640)
        result = await finished(world)
        # Each episode of the fleet returns 10.
        assert result.verdict.text == "return 10, random play 11: not better than random play"
        (finding,) = kinds(world, "finding")
        assert finding == result.findings[0]
        assert (finding.finding_id, finding.value) == ("not-above-random", 10.0)
        assert finding.advice == "Train longer: `--total-steps 200000`"
        kept = await view_of(world, first.run_id)
        assert kept.random_play == RandomPlay(episodes=100, return_mean=11.0, standard_error=0.0)
        assert (kept.learned, [finding.finding_id for finding in kept.findings]) == (
            False,
            ["not-above-random"],
        )
        # What was measured holds for the run that goes on: no browser is asked again.
        assert len(fleet.checks) == 1
        await start_run(world.service, "", {"total_steps": 704}, run_id=first.run_id, resume=True)
        assert (await finished(world)).verdict.random == result.verdict.random
        assert len(fleet.checks) == 1


async def test_a_run_that_is_better_than_random_play_has_no_such_finding(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(random_play=random_play(9.0)).joined():
        first = await world.start(total_steps=640)
        result = await finished(world)
        assert (result.verdict.learned, result.findings) == (True, [])
        assert (await view_of(world, first.run_id)).learned is True
        assert await world.service.random_play(first.run_id) == RandomPlay(
            episodes=100, return_mean=9.0, standard_error=0.0
        )


async def test_a_run_without_random_play_has_no_verdict_and_an_evaluation_measures_it(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        first = await world.start(total_steps=640, parameters={"size": 7})
        result = await finished(world)
        assert (result.verdict.learned, result.verdict.text, result.findings) == (None, None, [])
        fleet.random_play = random_play(9.0)
        found = await world.service.random_play(first.run_id)
        assert found is not None and found.return_mean == 9.0
        assert [list(order.parameters) for order in fleet.checks] == [["size"]] * 3


async def test_an_evaluation_of_a_page_is_compared_with_random_play_in_fresh_pages(tmp_path: Path):
    async with gateway(tmp_path) as world:
        game = DESCRIPTION.model_copy(update={"page": "index.html"})
        async with world.fleet(random_play=random_play(9.0), description=game).joined() as fleet:
            run = await world.start(total_steps=128)
            await finished(world)
            assert [order.is_fresh for order in fleet.checks] == [False]
            fleet.random_play = random_play(23.0)
            found = await world.service.random_play(run.run_id)
            assert found is not None and found.return_mean == 23.0
            assert fleet.checks[-1].is_fresh
