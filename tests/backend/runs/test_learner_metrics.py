from attract.runs.learner_metrics import LEARNER_METRICS, metric


def test_a_definition_has_what_it_is_given():
    made = metric("train/x", "details", "X", "What x is.", unit="nats", better="lower")
    assert (made.name, made.group, made.title, made.help) == ("train/x", "details", "X", "What x is.")
    assert (made.unit, made.better, made.is_log, made.chart) == ("nats", "lower", False, None)


def test_all_are_of_the_learner():
    assert {metric.name.partition("/")[0] for metric in LEARNER_METRICS} == {"train", "federated"}
