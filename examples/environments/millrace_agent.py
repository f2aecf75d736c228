"""What an agent in Python needs of Millrace; the standard library alone.

A program (`agent.command`) finds the question, the policy's address and a key in its environment: `Session.here()`.
A service (`agent.url`) gets them with each request: `serve(port, work)`.
"""

import json
import os
import traceback
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Session:
    """One rollout: its question, and where the policy listens."""

    question_id: str
    base_url: str
    key: str
    reward_url: str

    @staticmethod
    def here() -> "Session":
        names = ("MILLRACE_QUESTION_ID", "OPENAI_BASE_URL", "OPENAI_API_KEY", "MILLRACE_REWARD_URL")
        return Session(*(os.environ[name] for name in names))

    def chat(self, messages: list[dict], **settings: object) -> str:
        """What the policy says to these messages."""
        body = {"model": "policy", "messages": messages, **settings}
        return self._post(f"{self.base_url}/chat/completions", body)["choices"][0]["message"]["content"] or ""

    def reward(self, value: float, reason: str = "") -> None:
        """What the rollout is worth, from 0 to 1."""
        self._post(self.reward_url, {"value": min(1.0, max(0.0, value)), "reason": reason[:1000]})

    def _post(self, url: str, body: dict) -> dict:
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.key}"}
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as reply:
            return json.loads(reply.read() or b"{}")


def serve(port: int, work: Callable[[Session], str]) -> None:
    """Runs `work` for every rollout, each in a thread; what it returns is the answer, and an exception fails it. Port 0
    is any that is free; the address is printed."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            session = Session(asked["question"]["id"], asked["base_url"], asked["api_key"], asked["reward_url"])
            try:
                code, body = 200, {"answer": work(session)}
            except Exception as error:
                traceback.print_exc()
                code, body = 500, {"error": f"{type(error).__name__}: {error}"}
            text = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


def write_question(id: str, question: str) -> None:
    """A line of a file of questions, on standard output."""
    print(json.dumps({"id": id, "question": question}, ensure_ascii=False))
