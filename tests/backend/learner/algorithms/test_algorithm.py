from attract.learner.algorithms.algorithm import Report, run_metrics


def test_E9_what_is_told_of_several_policies_is_told_apart():
    shared = {"train/learning_rate": 1e-3}
    reports = {
        name: Report({"train/loss": loss, "train/prio_beta": loss}, shared)
        for name, loss in (("scout", 0.1), ("keeper", 0.2))
    }
    metrics = run_metrics(reports, is_sole=False)
    assert (metrics["train/loss/scout"], metrics["train/loss/keeper"]) == (0.1, 0.2)
    assert metrics["train/prio_beta/keeper"] == 0.2
    assert metrics["train/learning_rate"] == 1e-3 and "train/loss" not in metrics
    # One that stayed as it was says nothing, and the other keeps its name.
    alone = run_metrics({"scout": reports["scout"]}, is_sole=False)
    assert "train/loss/scout" in alone and "train/loss" not in alone
    assert run_metrics({"main": reports["scout"]}, is_sole=True) == {
        "train/loss": 0.1,
        "train/prio_beta": 0.1,
        **shared,
    }
