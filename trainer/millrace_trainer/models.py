"""
Models of a job: each has its own values of the trainable parameters. One model is in the network at a time;
the others' values are in the memory of the host until they are needed.
"""

import hashlib
import math
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor

from .network import Network, local


@dataclass(frozen=True)
class Adam:
    learning_rate: float
    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    grad_clip_norm: float
    """0 = gradients are not clipped."""


@dataclass
class Model:
    optimiser: torch.optim.AdamW
    values: list[Tensor] | None = None
    """This rank's shards, while another model is in the network."""
    gradients: list[Tensor | None] = field(default_factory=list)


class Models:
    def __init__(self, network: Network) -> None:
        self.network = network
        self.models: dict[str, Model] = {}
        self.live: str | None = None

    def create(self, name: str, seed: int) -> None:
        """A new model: the policy unchanged, its adapters initialised from the seed."""
        self.offload()
        parameters = list(self.network.trained.values())
        # on a GPU: few kernels, and no temporary copies of the parameters
        fused = True if parameters[0].is_cuda else None
        self.models[name] = Model(torch.optim.AdamW(parameters, lr=0.0, fused=fused))
        self.live = name
        with torch.no_grad():
            self.initialise(seed)

    def initialise(self, seed: int) -> None:
        for index, (name, value) in enumerate(self.network.trained.items()):
            if self.network.base is not None:
                local(value).copy_(self.network.base[index])
            elif ".lora_B." in name or "lora_embedding_B" in name:
                local(value).zero_()
            else:
                local(value).copy_(shard_like(value, initial_factor(name, seed, value)))

    def use(self, name: str) -> Model:
        """The model, moved into the network."""
        if self.live != name:
            self.offload()
            model = self.models[name]
            assert model.values is not None
            with torch.no_grad():
                for value, kept in zip(self.network.trained.values(), model.values, strict=True):
                    local(value).copy_(kept)
            for value, gradient in zip(self.network.trained.values(), model.gradients, strict=True):
                value.grad = gradient
            model.values, model.gradients = None, []
            self.live = name
        return self.models[name]

    def drop(self, name: str) -> None:
        self.models.pop(name, None)
        if self.live == name:
            self.live = None
            self.forget_gradients()

    def offload(self) -> None:
        if self.live is None:
            return
        model = self.models[self.live]
        values = self.network.trained.values()
        with torch.no_grad():
            model.values = [local(value).to("cpu", copy=True) for value in values]
        model.gradients = [value.grad for value in values]
        self.forget_gradients()
        self.live = None

    def forget_gradients(self) -> None:
        for value in self.network.trained.values():
            value.grad = None

    def step(self, name: str, adam: Adam) -> float:
        """
        One step of AdamW. Returns the norm of the gradients before clipping; if it is not finite, nothing
        changes.
        """
        optimiser = self.use(name).optimiser
        gradients = [value.grad for value in self.network.trained.values() if value.grad is not None]
        norm = full(torch.nn.utils.get_total_norm(gradients)).item()
        if math.isfinite(norm):
            if 0 < adam.grad_clip_norm < norm:
                torch._foreach_mul_([local(each) for each in gradients], adam.grad_clip_norm / norm)
            for group in optimiser.param_groups:
                group.update(
                    lr=adam.learning_rate,
                    betas=(adam.beta1, adam.beta2),
                    eps=adam.eps,
                    weight_decay=adam.weight_decay,
                )
            optimiser.step()
        self.forget_gradients()
        return norm

    def moments(self, name: str) -> dict[str, dict[str, Tensor]]:
        """The optimiser's state by the name of the parameter; zeros before the first step."""
        optimiser = self.use(name).optimiser
        for value in self.network.trained.values():
            if not optimiser.state[value]:
                zeros = {key: torch.zeros_like(value.detach()) for key in ("exp_avg", "exp_avg_sq")}
                step = torch.tensor(0.0, device=value.device if value.is_cuda else None)
                optimiser.state[value] = {"step": step, **zeros}
        return {key: optimiser.state[value] for key, value in self.network.trained.items()}


def initial_factor(name: str, seed: int, value: Tensor) -> Tensor:
    """A factor A with PEFT's distribution (Kaiming, a = √5); name and seed decide its numbers."""
    key = hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8]
    generator = torch.Generator().manual_seed(int.from_bytes(key, "little") >> 1)
    bound = 1 / math.sqrt(value.shape[1])
    return torch.empty(value.shape).uniform_(-bound, bound, generator=generator)


def shard_like(value: Tensor, whole: Tensor) -> Tensor:
    """This rank's shard of a tensor that every rank has whole."""
    if not isinstance(value, DTensor):
        return whole
    whole = whole.to(value.device)
    return distribute_tensor(whole, value.device_mesh, value.placements, src_data_rank=None).to_local()


def full(value: Tensor) -> Tensor:
    """A sharded tensor, whole; all ranks call this together."""
    return value.full_tensor() if isinstance(value, DTensor) else value
