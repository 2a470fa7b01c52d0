import pytest

from attract import errors
from attract.errors import (
    AttractError,
    CheckpointError,
    ConfigurationError,
    GameError,
    NonFiniteUpdateError,
    PolicyError,
    ProtocolError,
    nearest_name,
)


def test_a_wrong_setting_exits_2_and_everything_else_1():
    assert ConfigurationError("x").exit_code == 2
    assert {
        error.exit_code
        for error in (
            GameError("throw", "x"),
            ProtocolError("x"),
            CheckpointError("p", "x"),
            PolicyError("x"),
        )
    } == {1}


def test_the_tree_in_the_docstring_is_the_tree():
    drawn = {
        word
        for line in errors.__doc__.splitlines()
        for word in line.replace("│", "").replace("├── ", "").replace("└── ", "").split()[:1]
    }
    ours = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, AttractError)
    }
    assert ours <= drawn


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConfigurationError("is 3", setting="a.b", fix="try 4"), "a.b: is 3\n  try 4"),
        (ProtocolError("no", close_code=4001, fix="reload"), "malformed (4001): no; reload"),
        (CheckpointError("runs/x/3", "cut short"), "checkpoint runs/x/3: cut short"),
        (PolicyError("no fit", expected="1", got="2"), "no fit: expected 1, got 2"),
    ],
)
def test_texts_are_built_from_the_fields(error, text):
    assert str(error) == text


def test_a_games_failure_says_where_and_from_which_seed():
    error = GameError("throw", "boom", name="TypeError", stack="at snake.ts:3", slot_id=5, seed=(1, 0xAB))
    assert str(error) == (
        "the game failed (throw) in slot 5 (seed 00000001000000ab, low word first): TypeError: boom\n"
        "at snake.ts:3"
    )
    assert "no stack" in str(GameError("hang", "silent for 5 s"))
    assert str(GameError("load", "it is empty")) == "the game failed (load): Error: it is empty"


def test_P8_the_minibatch_that_broke_is_named():
    assert "in epoch 1, minibatch 2" in str(NonFiniteUpdateError("the loss", epoch=1, minibatch=2))


def test_nearest_names():
    assert nearest_name("gama", ["gamma", "seed"]) == "gamma"
    assert nearest_name("zzz", ["gamma", "seed"]) is None
