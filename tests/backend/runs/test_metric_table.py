"""Every metric that the code records has a meaning."""

import re
from pathlib import Path

import attract
from attract.curriculum.window import EVALUATION_METRICS, EVALUATION_PREFIX
from attract.runs.metric_table import DEFINITIONS

RECORDED = re.compile(r'f?"((?:train|rollout|time|fleet|federated|curriculum)/[a-z_]+)["/]')
BY_NAME = {metric.name: metric for metric in DEFINITIONS.metrics}


def recorded_names() -> set[str]:
    """Names of metrics in the source, and those that it puts together."""
    names = {f"{prefix}{name}" for prefix in EVALUATION_PREFIX.values() for name in EVALUATION_METRICS}
    names |= {f"fleet/{part}_fraction" for part in ("game", "inference", "wait")}
    for path in Path(attract.__file__).parent.rglob("*.py"):
        names |= set(RECORDED.findall(path.read_text()))
    return names


def test_every_recorded_metric_is_defined():
    recorded = recorded_names()
    assert len(recorded) > 70
    assert sorted(recorded - set(BY_NAME)) == []


def test_nothing_is_defined_that_is_not_recorded():
    assert sorted(set(BY_NAME) - recorded_names()) == []


def test_each_has_one_definition_in_a_known_group_and_a_title_of_its_own():
    assert len(BY_NAME) == len(DEFINITIONS.metrics)
    assert len({metric.title for metric in DEFINITIONS.metrics}) == len(DEFINITIONS.metrics)
    groups = {group.id for group in DEFINITIONS.groups}
    assert {metric.group for metric in DEFINITIONS.metrics} <= groups
    assert {family.group for family in DEFINITIONS.families} <= groups
    assert all(metric.help.endswith(".") for metric in DEFINITIONS.metrics)


def test_a_further_line_stands_in_a_chart_of_its_group_with_a_name_of_its_own():
    lines = [metric for metric in DEFINITIONS.metrics if metric.chart is not None]
    assert len(lines) > 10
    for metric in lines:
        assert metric.chart is not None
        first = BY_NAME[metric.chart]
        assert (first.chart, first.group, first.unit) == (None, metric.group, metric.unit), metric.name
        assert first.line and metric.line and first.line != metric.line, metric.name
