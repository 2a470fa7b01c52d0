"""Finds a Chromium and runs headless browser hosts in it."""
