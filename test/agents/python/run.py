"""Runs the agents of one file: `python run.py FILE`. Each line of stdin names one and how it is to run, each line of
stdout is what it said last, or its error."""

import contextlib
import importlib.util
import json
import os
import sys

os.environ.update(OPENAI_AGENTS_DISABLE_TRACING="1", LANGSMITH_TRACING="false")
path = sys.argv[1]
sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
spec = importlib.util.spec_from_file_location("agent", path)
module = importlib.util.module_from_spec(spec)
# What packages print is not an answer.
answers, sys.stdout = sys.stdout, sys.stderr
spec.loader.exec_module(module)
for line in sys.stdin:
    given = json.loads(line)
    agent = given.pop("agent")
    try:
        answer = {"said": module.AGENTS[agent](given["baseUrl"], given["key"], given["stream"])}
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), file=answers, flush=True)
