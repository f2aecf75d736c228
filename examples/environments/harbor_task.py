"""Tasks of Harbor (pip install harbor): questions, and the agent that runs one trial.

    python harbor_task.py questions my-tasks > questions.jsonl
    millrace run agent --set agent.command='python harbor_task.py my-tasks' --set questions=questions.jsonl …

What follows the folder goes to `harbor trial start`: `my-tasks -e podman`. The agent is Terminus-2 unless `-a` names
another; what the task's tests write is the reward.
"""

import json
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from millrace_agent import Session, write_question


def questions(folder: str) -> None:
    for found in sorted(Path(folder).rglob("task.toml")):
        steps = tomllib.loads(found.read_text()).get("steps")
        first = Path("steps", steps[0]["name"]) if steps else ""
        text = (found.parent / first / "instruction.md").read_text()
        write_question(str(found.parent.relative_to(folder)), text.strip())


def work(folder: str, *more: str) -> None:
    session = Session.here()
    with tempfile.TemporaryDirectory() as trials:
        output = Path(trials, "output.txt")
        task = ["--path", str(Path(folder, session.question_id)), "--trials-dir", trials]
        agent = ["--agent", "terminus-2", "--model", "openai/policy"]
        command = [str(Path(sys.executable).with_name("harbor")), "trial", "start", *task, *agent, *more]
        with output.open("w") as said:
            trial = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
        # In a session of its own: it removes its container, which takes longer than Millrace waits.
        signal.signal(signal.SIGTERM, lambda *_: trial.send_signal(signal.SIGINT))
        code = trial.wait()
        results = [json.loads(one.read_text()) for one in Path(trials).glob("*/result.json")]
        if not results:
            sys.exit(f"harbor ended with code {code}: {output.read_text()[-2000:]}")
        (result,) = results
    for part in (result, *(result["step_results"] or [])):
        error = part["exception_info"]
        # Left over: the agent's own, as too little time. After them the task's tests have judged the work.
        if error and (error["policy"]["should_retry"] or not error["policy"]["has_valid_reward"]):
            sys.exit(f"Harbor: {error['exception_type']}: {error['exception_message']}")
    rewards = (result["verifier_result"] or {}).get("rewards")
    if not rewards:
        sys.exit("Harbor: the task's tests wrote no reward")
    session.reward(rewards.get("reward", sum(rewards.values()) / len(rewards)), json.dumps(rewards))


if __name__ == "__main__":
    if sys.argv[1:2] == ["questions"]:
        questions(*sys.argv[2:])
    else:
        work(*sys.argv[1:])
