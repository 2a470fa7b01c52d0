"""The player that ships inside a game decides as ONNX Runtime does, for every kind of policy."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from playwright.async_api import Browser, expect

from attract.games.library import GameLibrary
from attract.policy.export import OnnxPatcher, policy_metadata, shipped_model, write_export
from attract.policy.network import Policy, build_policy
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiBinarySpace, MultiDiscreteSpace
from attract.settings.run import PolicySettings
from attract.vector.environments.environment import VectorEnvironment
from attract_command import run_attract
from policies import create_policy, describe, randomise
from servers import served_folder

ROOT = Path(__file__).parents[2]
AGENT = ROOT / "backend" / "attract" / "web" / "play" / "agent.js"
DRIVER = Path(__file__).with_name("play-driver.mjs")
TOLERANCE = 1e-5
EPISODE = 50
"""Decisions after which memory begins anew."""
LARGEST_BYTES = 10 * 1024
"""Size limit of the player, compressed as servers do."""


@dataclass(frozen=True)
class Case:
    """A game's spaces, and the network that plays it."""

    observation: Any = None
    action: Any = None
    has_mask: bool = False
    settings: Any = ()
    share: float = 1.0
    """Share of the observations: a picture costs a thousand times a handful of numbers."""


BOARD = DictSpace(
    spaces={
        "tool": DiscreteSpace(n=3),
        "view": BoxSpace(shape=[9, 7, 3], dtype="uint8"),
        "speed": BoxSpace(shape=[2, 2]),
        "doors": MultiBinarySpace(n=4),
        "cards": MultiDiscreteSpace(nvec=[2, 5]),
    }
)
CASES = {
    "mlp": Case(),
    "mlp of two trunks, bytes": Case(
        BoxSpace(shape=[3, 2], dtype="uint8"), settings={"shared_trunk": False, "activation": "relu"}
    ),
    "one number": Case(BoxSpace(shape=[]), settings={"hidden_sizes": ()}),
    "masks": Case(action=DiscreteSpace(n=5), has_mask=True),
    "several choices with masks": Case(action=MultiDiscreteSpace(nvec=[3, 2, 4]), has_mask=True),
    "switches": Case(action=MultiBinarySpace(n=5)),
    "continuous": Case(action=BoxSpace(shape=[3], low=[-2.0, 0.0, -1.0], high=[2.0, 5.0, 1.0])),
    "lstm": Case(settings={"recurrent": "lstm", "recurrent_size": 12}),
    "gru": Case(settings={"recurrent": "gru", "recurrent_size": 12}, action=MultiDiscreteSpace(nvec=[2, 3])),
    "picture": Case(BoxSpace(shape=[13, 10, 2], dtype="uint8"), share=0.2),
    "dictionary, impala, gru, continuous": Case(
        BOARD,
        BoxSpace(shape=[1], low=0.0, high=1.0),
        settings={"cnn": "impala", "recurrent": "gru", "recurrent_size": 8},
        share=0.05,
    ),
}


def observed(policy: Policy, count: int, seed: int) -> dict[str, np.ndarray]:
    """[count, ...] of each input: all bytes and choices, floats over a few deviations."""
    generator = torch.Generator().manual_seed(seed)
    found: dict[str, np.ndarray] = {}
    for entry in policy.entries:
        shape = (count, *entry.shape)
        if entry.dtype.is_floating_point:
            values = torch.randn(shape, generator=generator) * 3
        else:
            limits = {"bits": 2, "one_hot": min(entry.choices, default=1)}
            limit = limits.get(entry.kind, 256)
            values = torch.randint(0, limit, shape, dtype=entry.dtype, generator=generator)
        found[entry.input_name] = values.numpy()
    return found


def masks_of(game: GameDescription, count: int) -> np.ndarray | None:
    """[count, width] of 0 and 1, of each component at least one 1."""
    if not game.action_mask:
        return None
    generator = np.random.default_rng(0)
    action = game.action
    sizes = [action.n] if isinstance(action, DiscreteSpace) else action.nvec  # type: ignore[union-attr]
    parts = []
    for size in sizes:
        part = generator.integers(0, 2, (count, size), dtype=np.uint8)
        part[np.arange(count), generator.integers(0, size, count)] = 1
        parts.append(part)
    return np.concatenate(parts, 1)


def by_onnx_runtime(model: bytes, feeds: dict[str, np.ndarray], state_size: int) -> dict[str, Any]:
    """Each output of the graph for all of them; memory begins anew every `EPISODE`."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    if not state_size:
        return dict(zip(names, session.run(names, feeds), strict=True))
    count = len(next(iter(feeds.values())))
    state = np.zeros((count // EPISODE, state_size), np.float32)
    steps: list[dict[str, Any]] = []
    for step in range(EPISODE):
        feed = {name: values[step::EPISODE] for name, values in feeds.items()}
        steps.append(dict(zip(names, session.run(names, {**feed, "state_ins": state}), strict=True)))
        state = steps[-1]["state_outs"]
    return {name: np.stack([step[name] for step in steps], 1).reshape(count, -1) for name in names}


def likeliest(logits: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """[N] the largest of each row that is allowed."""
    return np.where(mask == 1, logits, -np.inf).argmax(1)


def compare(case: Case, folder: Path, count: int) -> tuple[float, float]:
    """As `compare_policy`, with `case.share` of `count`."""
    settings = dict(case.settings)
    game = describe(case.observation, case.action, action_mask=case.has_mask)
    policy = create_policy(case.observation, case.action, **{"hidden_sizes": (16, 8), **settings})
    return compare_policy(policy, game, folder, int(count * case.share))


def compare_bundled(name: str, folder: Path, count: int) -> tuple[float, float]:
    """As `compare_policy`, with the network that a bundled game is trained with."""
    with VectorEnvironment(name, 1, async_factor=1) as environment:
        game = environment.description
    settings = PolicySettings(**GameLibrary(folder).recommended(name).get("policy", {}))
    return compare_policy(build_policy(settings, game), game, folder, count)


def compare_policy(policy: Policy, game: GameDescription, folder: Path, count: int) -> tuple[float, float]:
    """Plays both ways; the share of actions that differ, and microseconds a decision."""
    randomise(policy, 3)
    document = policy_metadata(policy, game, 1, {})
    model = shipped_model(OnnxPatcher(policy).patched(policy.state_dict()), document)
    write_export(folder, {"policy.onnx": model}, document)
    count = max(EPISODE, count // EPISODE * EPISODE)
    observations, masks = observed(policy, count, 1), masks_of(game, count)
    for name, values in observations.items():
        (folder / f"{name}.bin").write_bytes(values.tobytes())
    if masks is not None:
        (folder / "mask.bin").write_bytes(masks.tobytes())
    timed = subprocess.run(
        ["node", str(DRIVER), str(AGENT), str(folder), str(count), str(EPISODE)],
        capture_output=True,
        text=True,
    )
    assert timed.returncode == 0, timed.stderr
    given = observations if masks is None else {**observations, "action_mask": masks}
    expected = by_onnx_runtime(model, given, policy.state_size)
    played = {
        path.name.split(".")[1]: np.fromfile(path, np.float32).reshape(count, -1)
        for path in folder.glob("played.*.bin")
    }
    expected["likeliest"] = expected["action"]
    assert played.keys() == expected.keys()
    for name in expected.keys() - {"action", "likeliest"}:
        want = expected[name].reshape(count, -1)
        assert np.abs((played[name] - want) / np.maximum(1.0, np.abs(want))).max() <= TOLERANCE, name
    wanted = expected["action"].reshape(count, -1)
    if masks is not None:
        sizes = [game.action.n] if isinstance(game.action, DiscreteSpace) else game.action.nvec  # type: ignore[union-attr]
        ends = np.cumsum(sizes)[:-1]
        pairs = zip(np.split(expected["logits"], ends, 1), np.split(masks, ends, 1), strict=True)
        wanted = np.stack([likeliest(*pair) for pair in pairs], 1)
        # The graph's own `action` knows the mask.
        np.testing.assert_array_equal(expected["action"].reshape(count, -1), wanted)
    if game.action.kind == "box":
        assert np.abs(played["action"] - wanted).max() <= 5 * TOLERANCE
        return 0.0, json.loads(timed.stdout)["microseconds"]
    differing = (played["action"] != wanted).any(1)
    differing |= (played["likeliest"] != expected["likeliest"].reshape(count, -1)).any(1)
    return float(differing.mean()), json.loads(timed.stdout)["microseconds"]


@pytest.mark.parametrize("name", CASES)
def test_it_decides_as_onnx_runtime_does(name: str, tmp_path: Path) -> None:
    differing, _ = compare(CASES[name], tmp_path, 2000)
    # Where two choices are equal to the last digit but one, either is the likeliest.
    assert differing <= 0.001


BUNDLED = ("cartpole", "snake", "lander", "pendulum", "harvest", "memory", "keydoor", "foragers")


def test_it_decides_so_for_the_networks_of_bundled_games(tmp_path: Path) -> None:
    for name in BUNDLED:
        differing, _ = compare_bundled(name, tmp_path / name, 200)
        assert differing == 0, name


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", BUNDLED)
def test_it_decides_so_100_000_times_for_the_networks_of_bundled_games(name: str, tmp_path: Path) -> None:
    differing, microseconds = compare_bundled(name, tmp_path, 100_000)
    print(f"{name}: {differing:.4%} of the actions differ, {microseconds:.1f} us a decision")
    assert differing <= 0.0001


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", CASES)
def test_it_decides_as_onnx_runtime_does_100_000_times(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    differing, microseconds = compare(case, tmp_path, round(100_000 / case.share))
    print(f"{name}: {differing:.4%} of the actions differ, {microseconds:.1f} us a decision")
    assert differing <= 0.0001


PAGE = """<!doctype html><title>CartPole</title><script type="module" src="page.js"></script>"""
SCRIPT = """
import game from "./cartpole.js";
import { loadAgent } from "./policy/agent.js";

const out = { observation: new Float32Array(4) };
let seed = 7;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;

async function lengthsOf(folder, options) {
  const agent = await loadAgent(folder, { ...options, random });
  const lengths = [];
  for (let episode = 0; episode < 20; episode++) {
    const cart = game.create();
    cart.start({ random, out });
    agent.reset();
    let [ticks, isOver] = [0, false];
    for (; ticks < 500 && !isOver; ticks++) {
      const action = agent.tick(() => out.observation);
      isOver = cart.update(game.tickSeconds, action, out).terminated;
    }
    lengths.push(ticks);
  }
  return lengths;
}

const played = {
  trained: await lengthsOf("policy/", {}),
  young: await lengthsOf("policy-young/", {}),
  careless: await lengthsOf("policy/", { mistakeRate: 0.7 }),
  slow: await lengthsOf("policy/", { reactionSteps: 8 }),
};
document.title = JSON.stringify(played);
"""
POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'"


async def test_a_trained_policy_plays_in_a_page_that_allows_nothing_but_its_own_scripts(
    trained_cartpole: Path, tmp_path: Path, browser: Browser
) -> None:
    runs = trained_cartpole
    site = tmp_path / "site"
    exported = run_attract("export", "p", "--out", str(site / "policy"), "--format", "js", runs_dir=runs)
    assert exported.code == 0, exported.stderr
    assert {path.name for path in (site / "policy").iterdir()} == {"agent.js", "policy.json", "policy.onnx"}
    assert 'await loadAgent("./policy/")' in exported.stdout
    shutil.copyfile(AGENT.parents[1] / "games" / "cartpole.js", site / "cartpole.js")
    # The same player plays both.
    young = run_attract("export", "p", "--out", str(site / "policy-young"), "--version", "0", runs_dir=runs)
    assert young.code == 0, young.stderr
    (site / "index.html").write_text(PAGE)
    (site / "page.js").write_text(SCRIPT)
    problems: list[str] = []
    with served_folder(site, POLICY) as address:
        page = await browser.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text))
        await page.goto(address)
        # Not `wait_for_function`, which evaluates what this page forbids to be evaluated.
        await expect(page).to_have_title(re.compile(r"^\{"), timeout=60_000)
        means = {who: np.mean(lengths) for who, lengths in json.loads(await page.title()).items()}
    # A browser asks for an icon on its own, which this page does not allow.
    assert [problem for problem in problems if "favicon" not in problem] == []
    assert means["trained"] >= 450
    # Each of the three is a weaker opponent (docs/shipping.md): 50, 62, 10 where they were measured.
    assert max(means["young"], means["careless"], means["slow"]) < 250, means


def test_it_is_small() -> None:
    compressed = subprocess.run(["gzip", "-9", "-c", str(AGENT)], capture_output=True, check=True).stdout
    assert len(compressed) <= LARGEST_BYTES
    source = AGENT.read_text()
    for word in ("eval(", "Function(", "WebAssembly", "import("):
        assert word not in source
