"""Environments of verifiers (pip install verifiers uv, and the environment): questions, and the agent that plays one.

    python verifiers_env.py questions my-env 500 > questions.jsonl     # the first 500
    millrace run agent --set agent.command='python verifiers_env.py my-env' --set questions=questions.jsonl …

What follows the environment's name goes to `vf-eval`: `my-env --env.agent.harness.id null`. The harness calls the
policy; the sum of the weighted rewards of its trace is the reward.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from millrace_agent import Session, write_question


def questions(taskset: str, count: str) -> None:
    import verifiers.v1 as vf
    from verifiers.v1.configs.cli.eval import EvalConfig

    tasks = vf.load_environment(EvalConfig(env={"taskset": {"id": taskset}}).env).taskset
    for number, one in enumerate(tasks.take(int(count))):
        write_question(f"{taskset}-{number}", one.data.prompt_text or one.data.name or taskset)


def play(taskset: str, *more: str) -> None:
    session = Session.here()
    index = session.question_id.rpartition("-")[2]
    client = ["--client.base-url", session.base_url, "--client.api-key-var", "OPENAI_API_KEY"]
    with tempfile.TemporaryDirectory() as folder:
        run = ["--output-dir", folder, "--run.dir", "one", "--no-rich", "--no-push", "--model", "policy"]
        select = ["--select.include.idx", index]
        command = [str(Path(sys.executable).with_name("vf-eval")), taskset, *run, *select, *client, *more]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        traces = Path(folder, "one", "traces.jsonl")
        if done.returncode != 0 or not traces.exists():
            sys.exit(f"vf-eval ended with code {done.returncode}: {done.stderr[-2000:]}")
        (episode,) = [json.loads(line) for line in traces.read_text().splitlines()]
    errors = [*episode["errors"], *(error for trace in episode["traces"] for error in trace["errors"])]
    if errors:
        sys.exit(f"verifiers: {errors[0]['type']}: {errors[0]['message']}")
    parts = {
        name: part["score"] * part["weight"]
        for trace in episode["traces"]
        for name, part in trace["rewards"].items()
        if part is not None
    }
    session.reward(sum(parts.values()), json.dumps(parts))


if __name__ == "__main__":
    if sys.argv[1:2] == ["questions"]:
        questions(*sys.argv[2:])
    else:
        play(*sys.argv[1:])
