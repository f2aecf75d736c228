"""Blocks of every type that we decode, and what the `gguf` package decodes them to.

    pip install gguf && python test/model/gguf/blocks.py > test/model/gguf/blocks.json
"""
import json
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type, dequantize

# Offsets of the float16 scales in a block; all other bytes are drawn.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q4_K": [0, 2], "Q6_K": [208]}
draws = np.random.default_rng(23)


def blocks(name):
    _, size = GGML_QUANT_SIZES[Type[name]]
    if name not in SCALES:
        # Ordinary numbers, a subnormal float16, zeros of both signs, the largest float16.
        numbers = np.array([1.5, -2.25, 3e-7, 0.0, -0.0, 65504.0, 0.1, -1e-3], np.float32)
        if name == "BF16":
            return (numbers.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        return numbers.astype({"F32": np.float32, "F16": np.float16}[name]).view(np.uint8)
    raw = draws.integers(0, 256, (3, size), np.uint8)
    for at in SCALES[name]:
        # One of a usual size, one below zero, one subnormal.
        scales = np.array([0.0123, -0.37, 4e-6], np.float16)
        raw[:, at : at + 2] = scales.view(np.uint8).reshape(3, 2)
    return raw.reshape(-1)


def main():
    out = {}
    for name in ["F32", "F16", "BF16", *SCALES]:
        raw = blocks(name)
        _, size = GGML_QUANT_SIZES[Type[name]]
        rows = raw if name in SCALES else raw.view({"F32": np.float32, "F16": np.float16}.get(name, np.uint8))
        numbers = dequantize(rows.reshape(-1, size) if name in SCALES else rows, Type[name])
        numbers = np.asarray(numbers, np.float32).reshape(-1)
        out[name] = {"raw": raw.tobytes().hex(), "numbers": numbers.tobytes().hex()}
    json.dump(out, sys.stdout, indent=1)
    print()


main()
