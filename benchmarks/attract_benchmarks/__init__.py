"""Measures Attract: speed beside bare parts and other trainers, and what training reaches. For a clone."""

from pathlib import Path

BUILT_DIR = Path(__file__).resolve().parents[1] / "built"
"""Output of `npm run build` for `benchmarks/browser`."""
