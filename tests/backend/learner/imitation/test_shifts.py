"""Pictures that are moved: by whole pixels, each its own way, edges repeated, all else as it was."""

import torch

from attract.learner.imitation.shifts import shift_pictures
from attract.policy.network import build_policy
from attract.schema.spaces import BoxSpace
from attract.settings.run import PolicySettings
from learner_world import describe_signs

GAME = describe_signs().model_copy(
    update={"observation": BoxSpace(shape=[12, 10, 2], low=0, high=255, dtype="uint8")}
)
POLICY = build_policy(PolicySettings(hidden_sizes=(4,)), GAME, seed=0)


def moved(pictures: torch.Tensor, share: float, seed: int = 3) -> torch.Tensor:
    shifted = shift_pictures(POLICY, {"obs": pictures}, share, torch.Generator().manual_seed(seed))
    assert shifted["obs"].dtype == pictures.dtype and shifted["obs"].shape == pictures.shape
    return shifted["obs"]


def test_each_picture_is_moved_by_its_own_whole_pixels_and_edges_are_repeated():
    # Every pixel of a picture says where it was.
    rows, columns = torch.meshgrid(torch.arange(12), torch.arange(10), indexing="ij")
    pictures = torch.stack((rows, columns), -1).to(torch.uint8).expand(200, 12, 10, 2)
    places = moved(pictures, 0.25).long()
    by_rows, by_columns = places[:, 6, 5, 0] - 6, places[:, 6, 5, 1] - 5
    # A quarter of 12 is 3, of 10 is 2, each way.
    assert set(by_rows.tolist()) == set(range(-3, 4)) and set(by_columns.tolist()) == set(range(-2, 3))
    assert torch.equal(places[..., 0], (rows + by_rows[:, None, None]).clamp(0, 11))
    assert torch.equal(places[..., 1], (columns + by_columns[:, None, None]).clamp(0, 9))


def test_along_a_segment_a_picture_is_moved_as_one():
    pictures = torch.randint(0, 255, (1, 6, 12, 10, 2), dtype=torch.uint8).expand(4, 6, 12, 10, 2)
    shifted = moved(pictures, 0.25)
    assert torch.equal(shifted, shifted[:1].expand_as(shifted)) and not torch.equal(shifted, pictures)


def test_small_pictures_and_numbers_stay_where_they_are():
    pictures = torch.randint(0, 255, (6, 12, 10, 2), dtype=torch.uint8)
    assert torch.equal(moved(pictures, 1 / 13), pictures)
    numbers = {"obs": torch.randn(6, 3)}
    plain = build_policy(PolicySettings(hidden_sizes=(4,)), describe_signs(), seed=0)
    shifted = shift_pictures(plain, numbers, 0.5, torch.Generator().manual_seed(3))
    assert shifted["obs"] is numbers["obs"]
