"""What the dashboard and the alerts ask Prometheus for is what `/metrics` says."""

import json
import re
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from attract.collection.standing import Standing
from attract.run.health import RunHealth
from attract.schema.api import MetricsRow
from attract.schema.learner import Counters
from attract.server.exposition import DURATIONS, Exposition, ServerNumbers
from check_rules import ROOT

FOLDER = ROOT / "deploy" / "grafana"
METRIC = re.compile(r"\battract_[a-z_]+")
LABELS = re.compile(r"(attract_[a-z_]+)\{([^}]*)\}")


def exposed() -> dict[str, set[str]]:
    """Name of every sample that a busy run gives, and its labels."""
    health = RunHealth(
        run_id="r",
        game="g",
        state="running",
        num_workers=2,
        counters=Counters(),
        policy_version=1,
        episode_return_mean=1.0,
        updates_dropped=0,
        is_described=True,
        learner_is_alive=True,
        learner_is_ready=True,
        learner_restarts=0,
        disk_refuses=False,
        collection=Standing({"local": 1}, {("local", "playing"): 2}, 1, 0, 1, 0, {"free": 1}, 0),
    )
    server = ServerNumbers(3, 1, {"token": 1}, {401: 1}, 0.0, 0)
    exposition = Exposition(lambda: server, lambda: health)
    exposition.observe(
        "metrics", MetricsRow(update=1, agent_steps=1, seconds=1.0, values=dict.fromkeys(DURATIONS, 1.0))
    )
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(exposition.text().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def asked() -> dict[str, list[str]]:
    """Every expression, by file."""
    dashboard: Any = json.loads((FOLDER / "attract.json").read_text())
    rules: Any = yaml.safe_load((FOLDER / "attract-alerts.yml").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    variables = [
        variable["query"]["query"]
        for variable in dashboard["templating"]["list"]
        if isinstance(variable["query"], dict)
    ]
    return {
        "attract.json": expressions + variables,
        "attract-alerts.yml": [rule["expr"] for group in rules["groups"] for rule in group["rules"]],
    }


@pytest.mark.parametrize("file", ["attract.json", "attract-alerts.yml"])
def test_watched_every_metric_that_is_asked_for_exists_with_its_labels(file: str):
    known = exposed()
    for expression in asked()[file]:
        names = METRIC.findall(expression)
        assert names, expression
        assert set(names) <= set(known), expression
        for name, labels in LABELS.findall(expression):
            used = set(re.findall(r"(\w+)\s*=~?", labels))
            assert used <= known[name], expression
