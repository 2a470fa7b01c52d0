import torch

from attract.policy.observation_inputs import ObservationNormaliser


def test_P7_the_normaliser_by_hand():
    normaliser = ObservationNormaliser([2])
    normaliser.set_statistics(torch.tensor([1.0, -2.0]), torch.tensor([2.0, 100.0]))
    # (3 - 1) * 2 = 4; (-1.99 + 2) * 100 = 1; (5 + 2) * 100 = 700, clipped to 10
    observations = torch.tensor([[3.0, -1.99], [3.0, 5.0], [-100.0, -2.0]])
    expected = torch.tensor([[4.0, 1.0], [4.0, 10.0], [-10.0, 0.0]])
    torch.testing.assert_close(normaliser(observations), expected, rtol=0, atol=1e-4)
