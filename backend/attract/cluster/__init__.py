"""Trainings on a Ray cluster: where each process goes, and that it comes back. Nothing below knows of Ray."""
