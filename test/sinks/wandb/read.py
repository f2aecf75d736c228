"""Prints as JSON what a file of an offline run says, read by W&B's own messages: the run, and the rows of its history."""
import json
import math
import struct
import sys
import zlib

from wandb.proto import wandb_internal_pb2 as messages

data = open(sys.argv[1], "rb").read()
assert data[:7] == b":W&B\xe1\xbe\x00"


def records(at=7):
    parts = b""
    while at + 7 <= len(data):
        room = 32768 - at % 32768
        if room < 7:
            at += room
            continue
        crc, length, kind = struct.unpack("<IHB", data[at : at + 7])
        part = data[at + 7 : at + 7 + length]
        assert zlib.crc32(bytes([kind]) + part) == crc
        at += 7 + length
        parts = part if kind in (1, 2) else parts + part
        if kind in (1, 4):
            record = messages.Record()
            record.ParseFromString(parts)
            yield record


def value(text):
    number = json.loads(text)
    return "NaN" if isinstance(number, float) and math.isnan(number) else number


run, history = None, []
for record in records():
    if record.HasField("run"):
        one = record.run
        run = {
            "display_name": one.display_name,
            "project": one.project,
            "start": one.start_time.seconds + one.start_time.nanos / 1e9,
            "config": {entry.key: json.loads(entry.value_json) for entry in one.config.update},
        }
    if record.HasField("history"):
        row = {entry.nested_key[0]: value(entry.value_json) for entry in record.history.item}
        assert row["_step"] == record.history.step.num
        history.append(row)
print(json.dumps({"run": run, "history": history}))
