"""A publisher in the learner's place: answers every batch at once with a new version of random weights."""

import hashlib
import socket
import sys

import torch

from attract.learner.process.channel import Channel
from attract.policy.export import OnnxPatcher
from attract.policy.network import build_policy
from attract.schema.learner import Begin, Counters, Export, Exported, Published, Ready, Shutdown, Train
from attract.settings.run import RunSettings


def main(fd: int) -> None:
    """Speak the learner's side of its protocol on the inherited socket until it ends."""
    channel = Channel(socket.socket(fileno=fd))
    generator = torch.Generator().manual_seed(0)
    patcher: OnnxPatcher | None = None
    state: dict[str, torch.Tensor] = {}
    version = 0
    while (message := channel.receive()) is not None and not isinstance(message, Shutdown):
        if isinstance(message, Begin):
            settings = RunSettings.from_mapping(message.settings).policy
            policy = build_policy(settings, message.description)
            patcher = OnnxPatcher(policy)
            state = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
            onnx = patcher.patched(state)
            channel.send(
                Ready(
                    policy_version=0,
                    needs_warmup=False,
                    onnx={"main": onnx},
                    weights_sha256="0" * 64,
                    num_parameters=1,
                    device="cpu",
                    counters=Counters(),
                )
            )
        elif isinstance(message, Export):
            channel.send(Exported(policy_version=version, out_dir=message.out_dir))
        elif isinstance(message, Train) and patcher is not None:
            version += 1
            for name, tensor in state.items():
                if "weight" in name:
                    tensor.add_(torch.randn(tensor.shape, generator=generator), alpha=0.01)
            onnx = patcher.patched(state)
            channel.send(
                Published(
                    batch_id=message.batch_id,
                    policy_version=version,
                    onnx={"main": onnx},
                    metrics={},
                    checkpoint=f"checkpoints/{version}",
                    weights_sha256=hashlib.sha256(onnx).hexdigest(),
                )
            )


if __name__ == "__main__":
    main(int(sys.argv[sys.argv.index("--fd") + 1]))
