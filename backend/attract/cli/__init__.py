"""The `attract` command: reads arguments, environment and files, and builds what they ask for."""

from attract.cli.command_line import app, main

__all__ = ["app", "main"]
