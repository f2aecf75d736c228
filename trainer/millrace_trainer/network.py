"""
The policy, with or without low-rank adapters: spread over all ranks by FSDP2, or as it is on a single one.

Every rank reads the folder, one after the other on each machine, and keeps its shards: so a machine needs
memory for one whole copy, and any architecture that transformers loads can be trained.

A single rank trains without FSDP, which costs small models up to a third of their time, and computes the same:
passes use bfloat16 copies of the float32 parameters, which collect the gradients. Where a GPU has no room for
the copies, FSDP makes them a layer at a time.
"""

from dataclasses import dataclass

import peft
import torch
import transformers
from torch import Tensor, nn
from torch.distributed import fsdp

from .options import Options
from .ranks import Ranks

PEFT_PREFIX = "base_model.model."
TRAINED_BYTES = 18
"""Of a parameter without FSDP: value, copy, gradient and both of AdamW's moments."""
ROOM_FOR_PASSES = 0.1
"""Part of a GPU's memory that these leave for what layers keep."""


@dataclass(frozen=True)
class Shape:
    """What is trained: adapters of this rank, or at rank 0 all weights."""

    rank: int
    alpha: float


@dataclass(frozen=True)
class Network:
    shape: Shape
    model: transformers.PreTrainedModel
    trained: dict[str, nn.Parameter]
    """Parameters by their names in the model; float32, sharded if there are several ranks."""
    copies: list[Tensor]
    """The bfloat16 copies that a single rank's model computes with, in the order of `trained`; else none."""
    lora: peft.LoraConfig | None
    base: list[Tensor] | None
    """This rank's shards of the weights as they were read, where all are trained."""

    def renew(self) -> None:
        """Before passes: brings the copies up to date."""
        if self.copies:
            with torch.no_grad():
                torch._foreach_copy_(self.copies, list(self.trained.values()))

    def release(self) -> None:
        """After passes: FSDP keeps the outermost weights whole, and would not see shards that change."""
        if isinstance(self.model, fsdp.FSDPModule):
            self.model.reshard()


def build(options: Options, shape: Shape, ranks: Ranks) -> Network:
    for turn in range(ranks.local_size):
        if turn == ranks.local_rank:
            network = read(options, shape, ranks)
        ranks.barrier()
    return network


def read(options: Options, shape: Shape, ranks: Ranks) -> Network:
    half = options.precision == "bf16"
    chosen = {} if options.attention is None else {"attn_implementation": options.attention}
    model = transformers.AutoModelForCausalLM.from_pretrained(
        options.model,
        dtype=torch.bfloat16 if half and shape.rank > 0 else torch.float32,
        **chosen,
    )
    without_dropout(model)
    with_all_gradients(model)
    if options.gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    lora = None
    if shape.rank > 0:
        lora = peft.LoraConfig(
            r=shape.rank,
            lora_alpha=shape.alpha,
            target_modules=options.lora_targets,
            task_type="CAUSAL_LM",
        )
        adapted = peft.get_peft_model(model, lora, autocast_adapter_dtype=True)
        lora = adapted.peft_config["default"]
    sharded = ranks.size > 1 or (half and is_tight(model, ranks.device))
    if sharded:
        shard(model, ranks, half)
    model.to(ranks.device)
    model.train()
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    copies: list[Tensor] = []
    if half and not sharded:
        copies = list(trained.values())
        trained = {name: master_of(value) for name, value in trained.items()}
    with torch.no_grad():
        base = None if shape.rank > 0 else [local(value).to("cpu", copy=True) for value in trained.values()]
    return Network(shape=shape, model=model, trained=trained, copies=copies, lora=lora, base=base)


def shard(model: transformers.PreTrainedModel, ranks: Ranks, half: bool) -> None:
    policy = fsdp.MixedPrecisionPolicy(
        param_dtype=torch.bfloat16 if half else None,
        reduce_dtype=torch.float32,
    )
    for layer in layers_of(model):
        fsdp.fully_shard(layer, mesh=ranks.mesh, mp_policy=policy)
    fsdp.fully_shard(model, mesh=ranks.mesh, mp_policy=policy)


def is_tight(model: nn.Module, device: torch.device) -> bool:
    """Whether training without FSDP would leave a GPU too little memory."""
    if device.type != "cuda":
        return False
    trained = sum(value.numel() for value in model.parameters() if value.requires_grad)
    frozen = sum(value.nbytes for value in model.parameters() if not value.requires_grad)
    room = torch.cuda.get_device_properties(device).total_memory * (1 - ROOM_FOR_PASSES)
    return trained * TRAINED_BYTES + frozen > room


def master_of(parameter: nn.Parameter) -> nn.Parameter:
    """The parameter in float32, which collects its gradients. The parameter itself becomes bfloat16."""
    master = nn.Parameter(parameter.data.float())
    parameter.data = parameter.data.to(torch.bfloat16)

    def collect(copy: Tensor) -> None:
        assert copy.grad is not None
        if master.grad is None:
            master.grad = copy.grad.float()
        else:
            master.grad.add_(copy.grad)
        copy.grad = None

    parameter.register_post_accumulate_grad_hook(collect)
    return master


def layers_of(model: transformers.PreTrainedModel) -> list[nn.Module]:
    """
    What FSDP gathers at once: the layers that transformers says are not to be split, else the longest list
    of modules.
    """
    names = set(getattr(model, "_no_split_modules", None) or [])
    found = [module for module in model.modules() if type(module).__name__ in names]
    if found:
        return found
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    return list(max(lists, key=len, default=[]))


def without_dropout(model: nn.Module) -> None:
    """A step is the same whenever it is made, and log-probs are those of the policy."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0


def with_all_gradients(model: nn.Module) -> None:
    """The embedding of the padding token is trained like all others: it may be a token that ends a turn."""
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.padding_idx = None


def local(value: Tensor) -> Tensor:
    """This rank's shard of a tensor, in place."""
    return value.to_local() if isinstance(value, torch.distributed.tensor.DTensor) else value
