"""Trainers that a user would take instead of Attract: processes that read an order and print their marks."""
