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
    cells=2,
    hosts=3,
    workers=2,
    has_browsers=False,
    gpus=0,
    token="the-token-of-the-fleet",
    lan=True,
)
FIRST, SECOND = Place("10.0.0.2", 8000, 29500), Place("10.0.0.3", 8001, 29501)


def test_hosts_are_dealt_out_and_a_cell_expects_the_workers_of_its_own():
    words = [PLAN.cell(rank, place, FIRST, again=False).words for rank, place in enumerate((FIRST, SECOND))]
    assert [word[word.index("--workers") + 1] for word in words] == ["4", "2"]
    assert all(word.count("--workers") == 1 and "--no-headless" in word for word in words)


def test_a_cell_reserves_whole_cpus_of_one_node_for_its_trainer_and_its_browsers():
    assert PLAN.bundles() == [{"CPU": 1.0}]
    alone = replace(PLAN, hosts=0, cells=1, has_browsers=True, gpus=1)
    assert alone.bundles() == [{"CPU": 1.0, "GPU": 1}, {"CPU": 1.0}, {"CPU": 1.0}]
    assert (PLAN.demand(), alone.demand()) == (2 * 1 + 3 * 2, 3)


def test_a_cell_is_the_unchanged_train_command_with_a_launcher_s_variables():
    order = PLAN.cell(1, SECOND, FIRST, again=False)
    assert order.words == (
        *("train", "cartpole", "--until-return", "475", "--force", "--json", "--run-id", "mine"),
        *("--runs-dir", "/shared/runs", "--port", "8001", "--workers", "2", "--no-headless", "--lan"),
    )
    assert order.environment == {
        "ATTRACT_PPO_GAMMA": "0.9",
        "ATTRACT_WORKER_TOKEN": "the-token-of-the-fleet",
        "ATTRACT_WORKER_TIER": "local",
        "RANK": "1",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "10.0.0.2",
        "MASTER_PORT": "29500",
    }


def test_only_cell_0_posts_to_a_webhook_and_copies_metrics():
    environment = {"ATTRACT_WEBHOOK": "https://example.org/", "ATTRACT_TRACKERS": "wandb"}
    plan = replace(PLAN, words=("--trackers", "trackio", "--force"), environment=environment)
    first, second = (plan.cell(rank, SECOND, FIRST, again=False) for rank in (0, 1))
    assert first.environment.items() >= environment.items() and "trackio" in first.words
    assert not second.environment.keys() & environment.keys()
    assert "--trackers" not in second.words and "trackio" not in second.words and "--force" in second.words


def test_one_cell_alone_has_no_rank_and_without_hosts_its_own_browser_on_loopback():
    alone = replace(PLAN, cells=1, hosts=0, has_browsers=True, lan=True, admin_token="secret-of-the-admin")
    order = alone.cell(0, FIRST, FIRST, again=False)
    assert not {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} & order.environment.keys()
    assert order.environment["ATTRACT_ADMIN_TOKEN"] == "secret-of-the-admin"
    assert not {"--no-headless", "--lan"} & set(order.words)


def test_what_is_started_again_goes_on_with_its_run():
    begun = replace(PLAN, words=(*PLAN.words, "--initialize-from", "other", "--resume"))
    words = begun.cell(0, FIRST, FIRST, again=True).words
    assert not {"--force", "--resume", "--initialize-from", "other"} & set(words)
    assert words.count("--resume-auto") == 1 and words[words.index("--run-id") + 1] == "mine"


def test_a_host_is_the_unchanged_join_command_and_reads_its_link_from_stdin():
    order = PLAN.host(FIRST)
    assert order.words == ("join", "-", "--workers", "2", "--until-gone", "600")
    assert order.stdin == "http://10.0.0.2:8000/join.html#token=the-token-of-the-fleet\n"
    assert PLAN.token not in " ".join((*order.words, *order.environment.values()))
    assert PLAN.link(Place("fd00::1", 1, 2)).startswith("http://[fd00::1]:1/")


def test_no_command_line_holds_a_token():
    plan = replace(PLAN, admin_token="secret-of-the-admin")
    words = " ".join(plan.cell(0, FIRST, FIRST, again=True).words)
    assert plan.token not in words and "secret-of-the-admin" not in words


def test_a_node_gives_its_browser_and_its_path_and_none_of_ray_s_or_of_our_settings():
    node = {
        "PATH": "/bin",
        "RAY_JOB_ID": "1",
        "ATTRACT_PORT": "1",
        "ATTRACT_PPO_GAMMA": "0.1",
        "ATTRACT_CHROMIUM": "/there/chromium",
        "RANK": "7",
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


def test_a_port_that_was_asked_for_is_cell_0_s():
    assert (PLAN.first_port, replace(PLAN, port=9000).first_port) == (8000, 9000)
