"""An exported policy's likeliest actions, or drawn ones, decide what it scores in a game."""

import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from attract.errors import ConfigurationError
from attract.policy.export import OnnxPatcher, policy_metadata, shipped_model
from attract.schema.spaces import BoxSpace, DiscreteSpace
from attract.vector.score import main, score
from policies import create_policy, describe, randomise

GUESS = """
import { defineGame, box, discrete } from "attract";
// The larger of the two numbers names the right action; an episode ends with a miss, or after five steps.
export default defineGame({
  id: "Guess-v1", tickSeconds: 0.1, observation: box({ shape: [2] }), action: discrete(2),
  create: () => {
    let ticks = 0, missed = 0, seen = [0, 0], random;
    const look = () => (seen = [random(), random()]);
    return {
      start(context) { random = context.random; ticks = missed = 0; return look(); },
      update(_, action) {
        const isRight = seen[action] > seen[1 - action];
        if (!isRight) missed++;
        ticks++;
        const terminated = missed > 0 || ticks === 5;
        return { observation: look(), reward: isRight ? 1 : -1, terminated };
      },
    };
  },
});
"""


def policy(folder: Path, operator: str, *, recurrent: bool = False) -> Path:
    """`action` is the place of the largest or smallest number of `obs`, or with `Sub` always 0.

    `logits` are 40 times `obs`: what is drawn by them is the place of the larger number, mostly.
    """
    is_place = operator != "Sub"
    nodes = [
        helper.make_node("Sub", ["obs", "obs"], ["zeros"]),
        helper.make_node(
            operator if is_place else "ArgMax",
            ["obs" if is_place else "zeros"],
            ["place"],
            axis=1,
            keepdims=0,
        ),
        helper.make_node("Cast", ["place"], ["action"], to=TensorProto.INT32),
        helper.make_node("Constant", [], ["factor"], value_float=40.0),
        helper.make_node("Mul", ["obs", "factor"], ["logits"]),
    ]
    inputs = [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["batch", 2])]
    if recurrent:
        inputs.append(helper.make_tensor_value_info("state_ins", TensorProto.FLOAT, ["batch", 8]))
    outputs = [
        helper.make_tensor_value_info("action", TensorProto.INT32, ["batch"]),
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 2]),
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "policy", inputs, outputs), opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 9
    path = folder / f"{operator}.onnx"
    onnx.save(model, path)
    return path


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "guess.js"
    path.write_text(GUESS)
    return path


def test_every_game_counts_once(module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert score(module, policy(tmp_path, "ArgMax"), games=8, seed=1) == [5.0] * 8
    assert score(module, policy(tmp_path, "ArgMin"), games=8, seed=1) == [-1.0] * 8
    assert main([str(module), str(tmp_path / "ArgMax.onnx"), "--games", "8"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"episodes": 8, "return_mean": 5.0, "return_std": 0.0, "won": 1.0}


def test_actions_are_drawn_by_the_logits_where_that_is_asked_for(module: Path, tmp_path: Path) -> None:
    worst = policy(tmp_path, "ArgMin")
    drawn = score(module, worst, games=64, seed=1, sampled=True)
    # Its likeliest action is always wrong; of two numbers near each other the smaller one is drawn too.
    assert sum(drawn) / 64 > 3 and min(drawn) < 5
    assert drawn == score(module, worst, games=64, seed=1, sampled=True)
    assert main([str(module), str(worst), "--games", "8", "--sampled"]) == 0


def test_it_is_the_first_episode_that_counts(module: Path, tmp_path: Path) -> None:
    # Some episodes are over sooner than others; the streams of the first four games are the same either way.
    returns = score(module, policy(tmp_path, "Sub"), games=32, seed=2)
    assert len(set(returns)) > 2
    assert score(module, policy(tmp_path, "Sub"), games=4, seed=2) == returns[:4]


def test_a_policy_with_a_state_is_refused(module: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="state_ins"):
        score(module, policy(tmp_path, "ArgMax", recurrent=True), games=8, seed=1)


MASKED = """
import { defineGame, box, discrete } from "attract";
// In every step one of three actions is allowed; each that was counts.
export default defineGame({
  id: "Masked-v1", tickSeconds: 0.1, observation: box({ shape: [2] }), action: discrete(3), actionMask: true,
  create: () => {
    let ticks = 0, allowed = 0, random;
    const look = (out) => {
      allowed = random.int(3);
      out.actionMask.fill(0);
      out.actionMask[allowed] = 1;
      out.observation.set([random(), random()]);
    };
    return {
      start({ random: given, out }) { random = given; ticks = 0; look(out); },
      update(_, action, out) {
        const reward = action === allowed ? 1 : -1;
        look(out);
        return { reward, terminated: ++ticks === 5 };
      },
    };
  },
});
"""


def test_nothing_is_done_that_a_mask_forbids(tmp_path: Path) -> None:
    module = tmp_path / "masked.js"
    module.write_text(MASKED)
    look, action = BoxSpace(shape=[2]), DiscreteSpace(n=3)
    network = create_policy(look, action)
    randomise(network, 3)
    bare = OnnxPatcher(network).patched(network.state_dict())
    path = tmp_path / "policy.onnx"
    for has_mask in (True, False):
        document = policy_metadata(network, describe(look, action, action_mask=has_mask), 0, {})
        path.write_bytes(shipped_model(bare, document))
        if has_mask:
            assert score(module, path, games=8, seed=1) == [5.0] * 8
            assert score(module, path, games=8, seed=1, sampled=True) == [5.0] * 8
        else:
            # As exports were before masks were an input of theirs.
            with pytest.raises(ConfigurationError, match="here it has to take action_mask, obs"):
                score(module, path, games=8, seed=1)
