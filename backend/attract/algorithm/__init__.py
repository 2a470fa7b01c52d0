"""Pure functions on tensors: advantages, losses, action distributions, normalisation, schedules."""
