"""Action distributions beside those of `torch.distributions`."""

import torch


def normal_numbers(*shape, seed=5):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_as_reference(distribution, reference, outputs, actions, mask=None):
    """Compares log-probabilities, entropies and their gradients with those of a torch distribution."""
    ours, theirs = outputs.clone().requires_grad_(), outputs.clone().requires_grad_()
    log_probs, entropies = distribution.log_prob_and_entropy(ours, actions, mask)
    expected = reference(theirs)
    torch.testing.assert_close(log_probs, expected[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(entropies, expected[1], rtol=1e-5, atol=1e-6)
    # Different weights per row, so that no row's gradient can hide another's.
    weights = torch.arange(1.0, len(log_probs) + 1)
    (weights @ log_probs + 0.5 * (weights @ entropies)).backward()
    (weights @ expected[0] + 0.5 * (weights @ expected[1])).backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)
