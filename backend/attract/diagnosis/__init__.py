"""Says from a run's metrics what keeps it from learning; pure: numbers in, findings out."""
