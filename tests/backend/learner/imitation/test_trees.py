"""Extremely randomised trees on tables whose answers are known."""

import numpy as np

from attract.learner.imitation import trees
from attract.learner.imitation.trees import FEWEST_TREES, MOST_TREES, ExtraTrees


def forest(
    seen: list | np.ndarray, chosen: list | np.ndarray, num_choices: int = 2, seed: int = 0
) -> ExtraTrees:
    table = np.asarray(seen, np.float64)
    return ExtraTrees(table, np.asarray(chosen, np.int64), num_choices, np.random.default_rng(seed))


def test_every_example_is_answered_as_it_was_chosen():
    random = np.random.default_rng(1)
    seen, chosen = random.random((200, 5)), random.integers(3, size=200)
    shares = forest(seen, chosen, 3).probabilities(seen)
    np.testing.assert_array_equal(shares, np.eye(3)[chosen])


def test_what_is_decided_by_steps_is_learned_from_few():
    random = np.random.default_rng(2)

    def decide(seen: np.ndarray) -> np.ndarray:
        return np.where(seen[:, 0] > 0.3, 2, (seen[:, 4] > 0.6).astype(int))

    few, many = random.random((150, 6)), random.random((5_000, 6))
    shares = forest(few, decide(few), 3).probabilities(many)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert (shares.argmax(1) == decide(many)).mean() > 0.93


def test_between_two_examples_the_threshold_lies_anywhere():
    # Of one number at 0 and 1 each tree draws its threshold evenly between them.
    shares = forest([[0.0], [1.0]], [0, 1]).probabilities(np.linspace(0, 1, 11)[:, None])
    np.testing.assert_allclose(shares[:, 1], np.linspace(0, 1, 11), atol=0.12)
    assert shares[0].tolist() == [1, 0] and shares[-1].tolist() == [0, 1]


def test_examples_that_are_alike_share_what_was_chosen():
    shares = forest([[1.0, 2.0]] * 4, [0, 0, 0, 1]).probabilities(np.array([[1.0, 2.0], [9.0, 9.0]]))
    assert shares.tolist() == [[0.75, 0.25], [0.75, 0.25]]


def test_a_number_that_never_differs_is_never_asked_for():
    seen = np.column_stack([np.full(20, 3.0), np.arange(20.0)])
    grown = forest(seen, np.arange(20) % 2)
    far = seen.copy()
    far[:, 0] = 100
    np.testing.assert_array_equal(grown.probabilities(seen), grown.probabilities(far))


def test_the_same_random_numbers_give_the_same_forest_and_many_examples_fewer_trees():
    random = np.random.default_rng(3)
    seen, chosen = random.random((50, 4)), random.integers(2, size=50)
    one, same, other = (forest(seen, chosen, seed=seed) for seed in (4, 4, 5))
    asked = random.random((100, 4))
    np.testing.assert_array_equal(one.probabilities(asked), same.probabilities(asked))
    assert (one.probabilities(asked) != other.probabilities(asked)).any()
    assert one.num_trees == MOST_TREES
    many = forest(np.zeros((1_000_000, 1)), np.zeros(1_000_000, int))
    assert many.num_trees == FEWEST_TREES


def test_rows_are_answered_alike_in_any_number_at_once(monkeypatch):
    random = np.random.default_rng(6)
    grown = forest(random.random((40, 3)), random.integers(2, size=40))
    asked = random.random((100, 3))
    whole = grown.probabilities(asked)
    monkeypatch.setattr(trees, "ROWS_AT_ONCE", 7)
    np.testing.assert_array_equal(grown.probabilities(asked), whole)
