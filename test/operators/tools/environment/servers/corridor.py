"""Environments on openenv-core, for tests: a corridor that takes commands, and one whose commands are tools.

    python corridor.py commands|tools SESSIONS
"""

import sys

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app


class Walk(Action):
    """Walks in a corridor: go, take."""

    command: str


class Seen(Observation):
    text: str


class Corridor(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, length=2, **_):
        self.place, self.length, self.steps = 0, length, 0
        return self.seen()

    def step(self, action, timeout_s=None, **_):
        return self.walk(action.command)

    def walk(self, command):
        self.steps += 1
        if command == "break":
            raise RuntimeError("the floor gives way")
        self.place += command == "go"
        taken = command == "take" and self.place >= self.length
        return self.seen(1.0 if taken else -0.25 if command != "go" else None, taken)

    def seen(self, reward=None, done=False):
        text = f"You are at {self.place} of {self.length}." if self.place < self.length else "You see a coin."
        return Seen(text=text, reward=reward, done=done)

    @property
    def state(self):
        return State(step_count=self.steps)


def tools():
    """The same corridor, by tools."""
    from fastmcp import FastMCP
    from openenv.core.env_server import CallToolAction, CallToolObservation, MCPEnvironment

    class Tools(MCPEnvironment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self):
            server = FastMCP("corridor")
            self.corridor = Corridor()

            @server.tool()
            def walk(how: str = "slowly", far: int = 1) -> str:
                """Goes on."""
                for _ in range(far):
                    self.last = self.corridor.walk("go")
                return f"{self.last.text} ({how})"

            @server.tool()
            def grab() -> str:
                """Takes what is there."""
                self.last = self.corridor.walk("take")
                return self.last.text

            super().__init__(server)

        def reset(self, seed=None, episode_id=None, **given):
            return self.corridor.reset(seed, episode_id, **given)

        def _step_impl(self, action, timeout_s=None, **_):
            raise ValueError("tools only")

        async def step_async(self, action, timeout_s=None, **given):
            observation = await super().step_async(action, timeout_s=timeout_s, **given)
            if isinstance(action, CallToolAction) and observation.error is None:
                observation.reward, observation.done = self.last.reward, self.last.done
            return observation

        @property
        def state(self):
            return self.corridor.state

    return Tools, CallToolAction, CallToolObservation


kind, sessions = sys.argv[1], int(sys.argv[2])
served = (Corridor, Walk, Seen) if kind == "commands" else tools()
uvicorn.run(create_app(*served, max_concurrent_envs=sessions), host="127.0.0.1", port=0)
