"""Searches for the settings that suit a game: trials are runs of their own."""
