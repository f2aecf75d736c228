"""Tasks of Inspect (pip install inspect-ai openai): questions, and the agent that works on one sample.

    python inspect_task.py questions my_task.py > questions.jsonl
    millrace run agent --set agent.command='python inspect_task.py my_task.py' --set questions=questions.jsonl …

`my_task.py`, `my_task.py@name` or `package/name`, as `inspect eval` takes it. Solvers, tools, sandboxes and scorers
are the task's own; the score of the sample is the reward. Where a task has several scorers, the first counts.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from inspect_ai import eval as evaluate
from inspect_ai._eval.loader import load_tasks
from inspect_ai.scorer import value_to_float
from millrace_agent import Session, write_question


def here(spec: str) -> str:
    """Inspect looks for files below the current folder alone."""
    return os.path.relpath(spec) if Path(spec.split("@")[0]).is_file() else spec


def questions(spec: str) -> None:
    (loaded,) = load_tasks([here(spec)])
    for number, sample in enumerate(loaded.dataset, start=1):
        text = sample.input if isinstance(sample.input, str) else sample.input[-1].text
        write_question(str(sample.id or number), text)


def work(spec: str) -> None:
    session = Session.here()
    with tempfile.TemporaryDirectory() as logs:
        (log,) = evaluate(
            here(spec),
            model="openai/policy",
            sample_id=session.question_id,
            log_dir=logs,
            display="none",
            model_args={"responses_api": False},
        )
        # They are read from the log's file.
        samples = list(log.samples or [])
    if log.status != "success" or not samples:
        sys.exit(f"Inspect: {log.error.message if log.error else log.status}")
    (sample,) = samples
    if sample.error is not None:
        sys.exit(f"Inspect: {sample.error.message}")
    name, score = next(iter((sample.scores or {}).items()), (None, None))
    if score is None:
        sys.exit("Inspect: the task has no score for this sample")
    session.reward(value_to_float()(score.value), f"{name}: {score.explanation or json.dumps(score.value)}")
    print(sample.output.completion)


if __name__ == "__main__":
    if sys.argv[1:2] == ["questions"]:
        questions(*sys.argv[2:])
    else:
        work(*sys.argv[1:])
