"""What is refused before Ray is asked; what Ray does is shown by `tests/end_to_end/test_ray_cluster.py`."""

import importlib.util
import io
import subprocess
import sys
import threading

import pytest

from attract.cluster.engine import MainThreadOutput, check_address, connected
from attract.errors import ConfigurationError
from servers import free_port


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ray" else sys)
    refused = pytest.raises(ConfigurationError, match=r"ray is not installed\n  .* 'attract-rl\[ray\]'")
    with refused, connected("auto", 1):
        pass


def test_an_address_without_an_answer_is_reported():
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(ConfigurationError, match=f"--address: no Ray cluster answers at {address}"):
        check_address(address, {})
    with pytest.raises(ConfigurationError, match="RAY_ADDRESS: no Ray cluster answers"):
        check_address("auto", {"RAY_ADDRESS": address})


@pytest.mark.parametrize("address", ["ray://10.0.0.1:10001", "10.0.0.1", "head", ":6379", "head:x", ""])
def test_what_is_no_address_of_a_head_node_is_refused(address: str):
    with pytest.raises(ConfigurationError, match="is not the HOST:PORT"):
        check_address(address, {})


def test_auto_and_local_need_no_look():
    check_address("auto", {})
    check_address("local", {"RAY_ADDRESS": "nowhere"})
    check_address("auto", {"RAY_ADDRESS": "auto"})


def test_what_other_threads_print_is_kept_out_of_what_a_command_prints():
    mine, others = io.StringIO(), io.StringIO()
    output = MainThreadOutput(mine, others)
    thread = threading.Thread(target=lambda: print("a node is lost", file=output))
    thread.start()
    thread.join()
    print("{}", file=output)
    assert (mine.getvalue(), others.getvalue()) == ("{}\n", "a node is lost\n")


def test_commands_and_what_is_decided_for_a_cluster_import_no_ray():
    program = """
import sys
sys.modules["ray"] = None
import attract.cli, attract.commands.tune, attract.commands.cluster, attract.cluster.training
assert not [name for name in sys.modules if name.startswith("ray.")]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
