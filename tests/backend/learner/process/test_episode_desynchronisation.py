from types import SimpleNamespace

import pytest
import torch

from attract.learner.process.episode_desynchronisation import EpisodeDesynchronisation


def batch(segments, *, steps=4):
    """Segments as (slot, first step, steps at which an episode ends)."""
    terminated = torch.zeros((steps, len(segments)), dtype=torch.bool)
    for column, (_, _, ends) in enumerate(segments):
        for step in ends:
            terminated[step, column] = True
    return SimpleNamespace(
        valid=torch.ones_like(terminated),
        terminated=terminated,
        truncated=torch.zeros_like(terminated),
        slot_id=torch.tensor([slot for slot, _, _ in segments]),
        first_step=torch.tensor([first for _, first, _ in segments]),
    )


def test_E7_games_in_step_have_no_spread():
    phases = EpisodeDesynchronisation()
    assert phases.spread(batch([(0, 0, []), (1, 0, []), (2, 0, [])])) == 0
    assert phases.spread(batch([(0, 4, [1]), (1, 4, [1]), (2, 4, [1])])) == 0


def test_E7_the_spread_is_the_deviation_of_the_steps_since_each_end():
    phases = EpisodeDesynchronisation()
    # Slot 0 runs on: phase 4. Slot 1 ends at its last step: 0. Slot 2 at its second: 2. Mean 2, variance 8/3.
    first = phases.spread(batch([(0, 0, []), (1, 0, [3]), (2, 0, [0, 1])]))
    assert first == pytest.approx((8 / 3) ** 0.5)
    # Phases go on over the batch's end: 8, 4, 6 after four steps more. The same spread.
    assert phases.spread(batch([(0, 4, []), (1, 4, []), (2, 4, [])])) == pytest.approx((8 / 3) ** 0.5)


def test_E7_several_segments_of_a_slot_are_one_after_the_other():
    phases = EpisodeDesynchronisation()
    # Slot 0: ends at step 2 of eight, phase 5. Slot 1: phase 8. Deviation 1.5.
    assert phases.spread(batch([(0, 0, [2]), (0, 4, []), (1, 0, []), (1, 4, [])])) == 1.5


def test_E7_after_a_hole_a_slot_is_out_of_sight_until_its_next_end():
    phases = EpisodeDesynchronisation()
    phases.spread(batch([(0, 0, []), (1, 0, []), (2, 0, [])]))
    # Slot 0 lost a segment: of the others one ended, phases 0 and 8.
    assert phases.spread(batch([(0, 8, []), (1, 4, [3]), (2, 4, [])])) == 4
    # It ends at its second step, phase 2; slot 1 has 4: deviation 1.
    assert phases.spread(batch([(0, 12, [1]), (1, 8, [])])) == 1


def test_E7_one_known_phase_has_no_spread():
    assert EpisodeDesynchronisation().spread(batch([(0, 0, []), (1, 40, [])])) is None


def test_E7_E9_an_agent_that_was_away_begins_anew():
    phases = EpisodeDesynchronisation()
    one = batch([(0, 0, [0]), (1, 0, [])])
    one.valid[1:3, 0] = False
    # Slot 0 ended at step 0, was away for steps 1 and 2, played step 3: phase 1. Slot 1: phase 4.
    assert phases.spread(one) == 1.5


def test_the_slots_of_several_policies_are_followed_together():
    apart, together = EpisodeDesynchronisation(), EpisodeDesynchronisation()
    one, other = [(0, 0, [0])], [(1, 0, [2])]
    assert together.spread(batch(one), batch(other)) == apart.spread(batch(one + other)) == 1.0
