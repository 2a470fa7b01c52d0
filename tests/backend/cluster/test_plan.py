"""What a cluster is asked for, and what each process of it is told."""

from dataclasses import replace

from attract.cluster.plan import ChildOrder, ClusterPlan, Place, child_environment, without

PLAN = ClusterPlan(
    game="cartpole",
    words=("--until-return", "475", "--workers", "2", "--run-id=mine", "--port", "9000", "--force", "--json"),
    run_id="mine",
    runs_dir="/shared/runs",
    folder="/home/me",
    environment={
        "ATTRACT_PPO_GAMMA": "0.9",
        "ATTRACT_ADMIN_TOKEN_FILE": "/home/me/admin",
        "ATTRACT_CHROMIUM": "/here/chromium",
        "ATTRACT_RUNS_DIR": "runs",
        "HOME": "/home/me",
    },
    hosts=3,
    workers=2,
    has_browsers=False,
    gpus=0,
    token="the-token-of-the-fleet",
    lan=True,
)
PLACE = Place("10.0.0.2", 8001)


def test_it_reserves_whole_cpus_of_one_node_for_the_trainer_and_its_browsers():
    assert PLAN.bundles() == [{"CPU": 1.0}]
    alone = replace(PLAN, hosts=0, has_browsers=True, gpus=1)
    assert alone.bundles() == [{"CPU": 1.0, "GPU": 1}, {"CPU": 1.0}, {"CPU": 1.0}]
    assert (PLAN.demand(), alone.demand()) == (1 + 3 * 2, 3)


def test_the_trainer_is_the_unchanged_train_command_that_expects_the_workers_of_all_hosts():
    order = PLAN.trainer(PLACE, again=False)
    assert order.words == (
        *("train", "cartpole", "--until-return", "475", "--force", "--json", "--run-id", "mine"),
        *("--runs-dir", "/shared/runs", "--port", "8001", "--workers", "6", "--no-headless", "--lan"),
    )
    assert order.environment == {
        "ATTRACT_PPO_GAMMA": "0.9",
        "ATTRACT_WORKER_TOKEN": "the-token-of-the-fleet",
        "ATTRACT_WORKER_TIER": "local",
    }


def test_without_hosts_it_has_its_own_browser_on_loopback():
    alone = replace(PLAN, hosts=0, has_browsers=True, lan=True, admin_token="secret-of-the-admin")
    order = alone.trainer(PLACE, again=False)
    assert order.environment["ATTRACT_ADMIN_TOKEN"] == "secret-of-the-admin"
    assert not {"--no-headless", "--lan"} & set(order.words)


def test_what_is_started_again_goes_on_with_its_run():
    begun = replace(PLAN, words=(*PLAN.words, "--initialize-from", "other", "--resume"))
    words = begun.trainer(PLACE, again=True).words
    assert not {"--force", "--resume", "--initialize-from", "other"} & set(words)
    assert words.count("--resume-auto") == 1 and words[words.index("--run-id") + 1] == "mine"


def test_a_host_is_the_unchanged_join_command_and_reads_its_link_from_stdin():
    order = PLAN.host(PLACE)
    assert order.words == ("join", "-", "--workers", "2", "--until-gone", "600")
    assert order.stdin == "http://10.0.0.2:8001/join.html#token=the-token-of-the-fleet\n"
    assert PLAN.token not in " ".join((*order.words, *order.environment.values()))
    assert PLAN.link(Place("fd00::1", 1)).startswith("http://[fd00::1]:1/")


def test_no_command_line_holds_a_token():
    plan = replace(PLAN, admin_token="secret-of-the-admin")
    words = " ".join(plan.trainer(PLACE, again=True).words)
    assert plan.token not in words and "secret-of-the-admin" not in words


def test_a_node_gives_its_browser_and_its_path_and_none_of_ray_s_or_of_our_settings():
    node = {
        "PATH": "/bin",
        "RAY_JOB_ID": "1",
        "ATTRACT_PORT": "1",
        "ATTRACT_PPO_GAMMA": "0.1",
        "ATTRACT_CHROMIUM": "/there/chromium",
    }
    order = ChildOrder((), {"ATTRACT_PPO_GAMMA": "0.9"})
    assert child_environment(node, order) == {
        "PATH": "/bin",
        "ATTRACT_CHROMIUM": "/there/chromium",
        "ATTRACT_PPO_GAMMA": "0.9",
    }


def test_words_are_left_out_in_both_ways_of_writing_and_no_others():
    words = ("--port", "1", "--ports", "2", "--port=3", "--force", "x")
    assert without(words, ("--port",), 1) == ["--ports", "2", "--force", "x"]
    assert without(words, ("--force",), 0) == ["--port", "1", "--ports", "2", "--port=3", "x"]


def test_a_port_that_was_asked_for_is_the_trainer_s():
    assert (PLAN.first_port, replace(PLAN, port=9000).first_port) == (8000, 9000)
