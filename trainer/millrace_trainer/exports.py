"""
Trained weights as folders that other programs load: an adapter in PEFT's layout, or all weights in
transformers'.
"""

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from .models import full
from .network import PEFT_PREFIX, Network

NOT_COPIED = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".index.json")


def gathered(network: Network, first: bool, dtype: torch.dtype) -> dict[str, Tensor]:
    """
    All trainable parameters, unsharded, in the memory of the first rank; all ranks call this together.
    """
    whole: dict[str, Tensor] = {}
    for name, value in network.trained.items():
        tensor = full(value.detach())
        if first:
            whole[name] = tensor.to("cpu", dtype, copy=True)
    return whole


def write_adapter(network: Network, values: dict[str, Tensor], base: str, folder: Path) -> None:
    tensors = {
        f"{PEFT_PREFIX}{name.replace('.default.', '.')}": value.contiguous() for name, value in values.items()
    }
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    assert network.lora is not None
    modules = sorted({name.split(".lora_")[0].split(".")[-1] for name in values})
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": network.lora.r,
        "lora_alpha": network.lora.lora_alpha,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": modules,
        "inference_mode": True,
    }
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


def dtype_of(source: Path, precision: str) -> torch.dtype:
    """
    Of exported weights: float32 where the service computes in it, else that of the folder they came from.
    """
    config = json.loads((source / "config.json").read_text())
    named = config.get("dtype") or config.get("torch_dtype")
    return torch.float32 if precision == "float32" else getattr(torch, named or "float32")


def write_policy(network: Network, values: dict[str, Tensor], source: Path, folder: Path) -> None:
    """All weights, with the tokenizer and the configuration of the folder that they came from."""
    network.model.save_pretrained(folder, state_dict=values)
    for path in source.iterdir():
        if path.is_file() and not path.name.endswith(NOT_COPIED):
            shutil.copyfile(path, folder / path.name)
    config = json.loads((source / "config.json").read_text())
    config["torch_dtype" if "torch_dtype" in config else "dtype"] = str(
        next(iter(values.values())).dtype
    ).removeprefix("torch.")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
