"""The games in Node worker threads behind reset(), recv() and send(); real threads, real games."""

import json
from pathlib import Path

import numpy as np
import pytest

from attract.errors import ConfigurationError, GameError, ProtocolError
from attract.vector import VectorEnvironment
from attract.vector.batch import StepBatch

OWN_GAME = """
import {{ defineGame, box, discrete }} from "attract";
export default defineGame({{
  id: "Own-v1", tickSeconds: 0.1, observation: box({{ shape: [2] }}), action: discrete(3),
  create: () => {{
    let ticks = 0, total = 0;
    return {{
      start({{ random }}) {{ ticks = 0; total = random(); return [ticks, total]; }},
      update(_, action) {{
        ticks++;
        {body}
        return {{ observation: [ticks, total], reward: action, terminated: ticks === 5 }};
      }},
    }};
  }},
}});
"""


def own_game(folder: Path, body: str = "") -> Path:
    (folder / "own.js").write_text(OWN_GAME.format(body=body))
    return folder


def actions_of(batch: StepBatch) -> np.ndarray:
    """Depends on the slot and its own step alone."""
    return ((batch.slot_id * 7 + batch.slot_step * 3) % 5 % 2).astype(np.int32)


def play(env: VectorEnvironment, num_recvs: int) -> list[tuple[np.ndarray, ...]]:
    """Per step of all groups, what came: observations, rewards, flags, in the order of slots."""
    for batch in env.reset():
        env.send(actions_of(batch))
    parts: list[tuple[np.ndarray, ...]] = []
    for _ in range(num_recvs):
        for _ in range(env.num_groups):
            batch = env.recv()
            parts.append(
                (
                    batch.slot_id.copy(),
                    batch.observation["obs"].copy(),
                    batch.reward.copy(),
                    batch.terminated.copy(),
                    batch.truncated.copy(),
                    batch.final_column.copy(),
                )
            )
            env.send(actions_of(batch))
    return parts


def by_slot(parts: list[tuple[np.ndarray, ...]]) -> np.ndarray:
    """[steps, slots, numbers] whatever the grouping was."""
    rows = np.concatenate(
        [
            np.column_stack([slot, observation, reward, terminated, truncated])
            for slot, observation, reward, terminated, truncated, _ in parts
        ]
    )
    order = np.argsort(rows[:, 0], kind="stable")
    num_slots = len(np.unique(rows[:, 0]))
    return rows[order].reshape(num_slots, -1, rows.shape[1])


def test_C5_the_same_seed_gives_the_same_numbers_whatever_the_workers_and_groups():
    with VectorEnvironment("cartpole", 12, 2, num_workers=1, seed=5) as env:
        one = by_slot(play(env, 40))
    with VectorEnvironment("cartpole", 12, 3, num_workers=2, seed=5) as env:
        two = by_slot(play(env, 40))
    with VectorEnvironment("cartpole", 12, 2, num_workers=1, seed=6) as env:
        other = by_slot(play(env, 40))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)
    assert one[:, :, -2].sum() > 12, "episodes must end within the test"


def test_I1_slots_of_a_thread_that_hangs_come_back_invalid_after_the_lease_timeout(tmp_path: Path):
    project = own_game(tmp_path, "if (ticks === 3 && total > 0.9) for (;;);")
    with VectorEnvironment(
        "own.js", 16, 2, num_workers=4, seed=1, project_dir=project, lease_seconds=0.5
    ) as env:
        for batch in env.reset():
            env.send(actions_of(batch))
        valid = np.zeros((4, 16), bool)
        for step in range(4):
            for _ in range(2):
                batch = env.recv()
                valid[step, batch.slots] = batch.valid
                env.send(actions_of(batch))
    assert valid[:2].all()
    lost = ~valid[3]
    # Whole threads, and not all of them: of each group a thread has two games side by side.
    assert 0 < lost.sum() < 16
    assert (lost.reshape(8, 2).all(axis=1) | ~lost.reshape(8, 2).any(axis=1)).all()


def test_a_game_that_throws_costs_its_slot_one_step(tmp_path: Path):
    project = own_game(tmp_path, "if (ticks === 3 && total < 0.2) throw new Error('no such door');")
    with VectorEnvironment("own.js", 8, 2, num_workers=1, seed=1, project_dir=project) as env:
        for batch in env.reset():
            env.send(actions_of(batch))
        invalid = 0
        for _ in range(12):
            batch = env.recv()
            invalid += int((~batch.valid).sum())
            assert batch.active.all()
            env.send(actions_of(batch))
    assert 0 < invalid < 8


def test_a_game_that_cannot_be_loaded_says_why(tmp_path: Path):
    (tmp_path / "own.js").write_text("throw new Error('not today');\nexport default 1;")
    with pytest.raises(GameError, match="not today"):
        VectorEnvironment("own.js", 4, project_dir=tmp_path)


def test_a_game_may_import_from_beside_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "proj" / "train").mkdir(parents=True)
    game = own_game(tmp_path / "proj" / "train") / "own.js"
    game.write_text(f'import "../../shared.js";\n{game.read_text()}')
    (tmp_path / "shared.js").write_text("globalThis.shared = 1;\n")
    monkeypatch.chdir(tmp_path / "proj")
    with pytest.raises(ConfigurationError, match=rf"shared\.js, outside .*\n.*`project_dir` is {Path.cwd()}"):
        VectorEnvironment("train/own.js", 1, 1, num_workers=1)
    monkeypatch.setenv("ATTRACT_PROJECT_DIR", str(tmp_path))
    with VectorEnvironment("train/own.js", 1, 1, num_workers=1) as env:
        assert env.description.id
    monkeypatch.delenv("ATTRACT_PROJECT_DIR")
    monkeypatch.chdir(tmp_path)
    with VectorEnvironment("proj/train/own.js", 1, 1, num_workers=1) as env:
        assert env.description.id


def test_a_game_that_always_throws_ends_the_environment_with_its_report(tmp_path: Path):
    project = own_game(tmp_path, "throw new Error('out of order');")
    with (
        VectorEnvironment("own.js", 16, 1, num_workers=1, project_dir=project) as env,
        pytest.raises(GameError, match=r"failed 10 times .* out of order"),
    ):
        (batch,) = env.reset()
        env.send(actions_of(batch))
        env.recv()


@pytest.mark.alone
def test_the_trace_shows_one_groups_games_stepping_while_the_other_is_with_the_policy(tmp_path: Path):
    trace = tmp_path / "trace.json"
    # Slow games, so that none is done before the policy is.
    project = own_game(tmp_path, "const end = performance.now() + 2; while (performance.now() < end);")
    with VectorEnvironment("own.js", 8, 2, num_workers=1, trace=trace, project_dir=project) as env:
        play(env, 20)
    events = json.loads(trace.read_text())["traceEvents"]
    tracks = {event["args"]["name"]: event["tid"] for event in events if event["ph"] == "M"}
    assert set(tracks) == {"policy", "games of group 0", "games of group 1"}
    spans = {
        name: [
            (event["ts"], event["ts"] + event["dur"])
            for event in events
            if event["ph"] == "X" and event["tid"] == tid
        ]
        for name, tid in tracks.items()
    }
    assert [len(spans[f"games of group {group}"]) for group in (0, 1)] == [20, 20]
    # Group 1's games are under way from before group 0 comes back until after it is sent again.
    policy = [event for event in events if event.get("args", {}).get("group") == 0][1:-1]
    for decision in policy:
        start, end = decision["ts"], decision["ts"] + decision["dur"]
        assert any(a <= start and end <= b for a, b in spans["games of group 1"])


def test_groups_of_nothing_are_refused():
    with pytest.raises(ConfigurationError, match="at least 4 games"):
        VectorEnvironment("cartpole", 3, 2, num_workers=2)


def test_C5_restart_begins_as_one_made_with_that_seed_whatever_was_under_way():
    with VectorEnvironment("cartpole", 12, 2, num_workers=2, seed=5) as env:
        expected = by_slot(play(env, 20))
    with VectorEnvironment("cartpole", 12, 2, num_workers=2, seed=6) as env:
        env.restart(5)
        np.testing.assert_array_equal(by_slot(play(env, 20)), expected)
        # Both groups have actions now, which are never received.
        env.restart(5)
        np.testing.assert_array_equal(by_slot(play(env, 20)), expected)
        env.restart(7)
        assert not np.array_equal(by_slot(play(env, 20)), expected)


def test_I1_a_thread_that_was_given_up_is_not_restarted(tmp_path: Path):
    project = own_game(tmp_path, "if (ticks === 2 && total > 0.9) for (;;);")
    with VectorEnvironment(
        "own.js", 16, 1, num_workers=4, seed=1, project_dir=project, lease_seconds=0.5
    ) as env:
        (batch,) = env.reset()
        for _ in range(2):
            env.send(actions_of(batch))
            batch = env.recv()
        assert not batch.valid.all()
        with pytest.raises(ProtocolError, match="make another"):
            env.restart(2)


def test_E2_final_observations_of_terminated_slots_are_told_where_they_are_asked_for(tmp_path: Path):
    for wants_finals in (False, True):
        with VectorEnvironment(
            "own.js", 3, 1, num_workers=1, tells_terminal=wants_finals, project_dir=own_game(tmp_path)
        ) as env:
            (batch,) = env.reset()
            for _ in range(5):
                env.send(actions_of(batch))
                batch = env.recv()
            assert batch.terminated.all()
            assert batch.final_column.tolist() == ([0, 1, 2] if wants_finals else [])
            assert batch.final_observation["obs"][:, 0].tolist() == ([5, 5, 5] if wants_finals else [])
            assert batch.observation["obs"][:, 0].tolist() == [0, 0, 0]
