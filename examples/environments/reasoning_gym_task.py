"""Tasks of reasoning-gym (pip install reasoning-gym): questions, and the service that answers them.

    TASK="chain_sum 500 7"     # name, how many, seed; settings may follow: '{"min_terms":2,"max_terms":3}'
    python reasoning_gym_task.py questions $TASK > questions.jsonl
    python reasoning_gym_task.py 8900 $TASK &
    millrace run agent --set agent.url=http://127.0.0.1:8900 --set questions=questions.jsonl …

The task's own scorer says what an answer is worth.
"""

import json
import sys

import reasoning_gym
from millrace_agent import Session, serve, write_question
from reasoning_gym.utils import SYSTEM_PROMPTS, extract_answer

SYSTEM = SYSTEM_PROMPTS["default"]


def made(name: str, size: str, seed: str, settings: str = "{}"):
    return reasoning_gym.create_dataset(name, size=int(size), seed=int(seed), **json.loads(settings))


def questions(*given: str) -> None:
    for index, entry in enumerate(made(*given)):
        write_question(f"{given[0]}-{index}", entry["question"])


def answers(port: str, *given: str) -> None:
    dataset = made(*given)

    def answer(session: Session) -> str:
        entry = dataset[int(session.question_id.rpartition("-")[2])]
        said = session.chat([{"role": "system", "content": SYSTEM}, {"role": "user", "content": entry["question"]}])
        found = extract_answer(said)
        session.reward(dataset.score_answer(found, entry), "no <answer>" if found is None else f"answered {found}")
        return said

    serve(int(port), answer)


if __name__ == "__main__":
    (questions if sys.argv[1] == "questions" else answers)(*sys.argv[2 if sys.argv[1] == "questions" else 1 :])
