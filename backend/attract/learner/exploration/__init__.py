"""Exploration bonuses around any algorithm."""
