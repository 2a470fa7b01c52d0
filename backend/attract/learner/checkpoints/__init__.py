"""Checkpoints and exports of a version: written, and read again."""
