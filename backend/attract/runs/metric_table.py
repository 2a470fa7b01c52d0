"""Every metric that a run records, with its meaning; `attract.runs.metrics` stores them."""

import tomllib
from pathlib import Path
from typing import Final

from attract.schema.metrics import MetricDefinitions

DEFINITIONS: Final = MetricDefinitions.model_validate(
    tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
)
