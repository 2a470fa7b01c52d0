"""What a process imports, seen at run time: the gateway's must start without torch."""

import importlib
import pkgutil
import subprocess
import sys

import attract
from attract import errors
from attract.errors import AttractError
from check_rules import ROOT


def test_the_gateways_process_starts_without_torch():
    modules = "attract.cli, attract.asgi, attract.server.app, attract.collection"
    code = f"import sys, {modules}; print(sorted({{'torch', 'onnx', 'playwright'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_central_inference_starts_without_onnx():
    modules = "attract.vector.serving.__main__, attract.vector.serving.decider"
    code = f"import sys, {modules}; print('onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_exception_of_ours_is_in_the_tree_that_errors_draws():
    for module in pkgutil.walk_packages(attract.__path__, "attract."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    def tree(kind: type[BaseException]) -> list[type[BaseException]]:
        return [kind, *(leaf for child in kind.__subclasses__() for leaf in tree(child))]

    for kind in tree(AttractError):
        assert kind.__module__ == errors.__name__, f"{kind} is to be in attract.errors"
        assert f" {kind.__name__} " in (errors.__doc__ or ""), f"{kind} is not in the tree of attract.errors"


def test_no_layer_imports_what_stands_above_it():
    # A process of its own: it configures logging so that every logger there is falls silent.
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
