"""TextWorld's games as environments of an OpenEnv server: every seed is a game, made when it is first asked for.

    python server.py --port 8000 --sessions 8        serves them
    python server.py --questions 200 > games.jsonl   writes questions that are asked in them
"""

import argparse
import json
import threading
from pathlib import Path

import textworld
import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app

TASK = "Play this game until it is won. Write one command at a time, such as: open chest, take key, go east."


class Command(Action):
    """Plays the game by a command: look, inventory, go north, take key, open chest, unlock door with key."""

    command: str


class Seen(Observation):
    text: str


class TextWorld(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    folder = Path("games")
    rooms = 3
    objects = 4
    quest = 3
    _making = threading.Lock()

    def __init__(self):
        super().__init__()
        self._game = None
        self._score = 0.0
        self._state = State()

    def reset(self, seed=None, episode_id=None, **_):
        self.close()
        infos = textworld.EnvInfos(score=True, max_score=True, objective=True, description=True)
        self._game = textworld.start(self._made(seed or 0), infos)
        self._score = 0.0
        self._state = State(episode_id=episode_id)
        state = self._game.reset()
        # The game's own beginning is mostly a picture.
        return self._seen(state, f"{state.objective}\n\n{state.description}", False)

    def step(self, action, timeout_s=None, **_):
        self._state.step_count += 1
        state, _score, done = self._game.step(action.command)
        return self._seen(state, state.feedback, done)

    def _seen(self, state, text, done):
        # All points of a game together are worth 1.
        score = state.score / max(1, state.max_score)
        reward, self._score = score - self._score, score
        # Without the line that asks for the next command.
        return Seen(text=text.split("\n>")[0].strip(), reward=reward, done=done)

    def _made(self, seed):
        path = self.folder / f"{seed}-{self.rooms}-{self.objects}-{self.quest}.z8"
        with self._making:
            if not path.exists():
                options = textworld.GameOptions()
                options.seeds = seed
                options.nb_rooms, options.nb_objects = self.rooms, self.objects
                options.quest_length = self.quest
                options.path = str(path)
                textworld.make(options)
        return str(path)

    @property
    def state(self):
        return self._state

    def close(self):
        if self._game is not None:
            self._game.close()
            self._game = None


def questions(count):
    for seed in range(count):
        world = {"reset": {"seed": seed}}
        print(json.dumps({"id": f"game-{seed}", "question": TASK, "task": {"world": world}}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--sessions", type=int, default=8, help="games at once")
    parser.add_argument("--folder", type=Path, default=TextWorld.folder, help="where games are kept")
    parser.add_argument("--rooms", type=int, default=TextWorld.rooms)
    parser.add_argument("--objects", type=int, default=TextWorld.objects)
    parser.add_argument("--quest", type=int, default=TextWorld.quest, help="actions that win a game")
    parser.add_argument("--questions", type=int, help="write so many questions, and serve nothing")
    given = parser.parse_args()
    if given.questions is not None:
        questions(given.questions)
    else:
        given.folder.mkdir(parents=True, exist_ok=True)
        TextWorld.folder, TextWorld.rooms = given.folder, given.rooms
        TextWorld.objects, TextWorld.quest = given.objects, given.quest
        app = create_app(TextWorld, Command, Seen, max_concurrent_envs=given.sessions)
        uvicorn.run(app, host="127.0.0.1", port=given.port)
