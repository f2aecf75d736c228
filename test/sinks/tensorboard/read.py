"""Prints as JSON what TensorBoard reads in a folder of one run: scalars as [step, time, value], and the text `run`."""
import json
import logging
import math
import sys

logging.disable(logging.WARNING)
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.util import tensor_util

events = EventMultiplexer(tensor_size_guidance={"scalars": 0, "text": 0})
events.AddRunsFromDirectory(sys.argv[1])
events.Reload()
(run,) = events.Runs()


def values(tag):
    for tensor in events.Tensors(run, tag):
        value = tensor_util.make_ndarray(tensor.tensor_proto).item()
        if isinstance(value, bytes):
            value = value.decode()
        elif math.isnan(value):
            value = "nan"
        yield [tensor.step, tensor.wall_time, value]


tags = events.Runs()[run]["tensors"]
scalars = {tag: list(values(tag)) for tag in tags if tag != "run"}
((_, _, text),) = values("run")
print(json.dumps({"scalars": scalars, "text": text}))
