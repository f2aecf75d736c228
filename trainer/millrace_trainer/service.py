"""
The HTTP interface, on the first rank: the routes of the Tinker API that Millrace uses.

Requests are read in a thread of their own and computed by the main one in the order in which they came.
What takes long is answered with a future, whose result is asked for until it is there.
"""

import asyncio
import hashlib
import hmac
import json
import logging
import queue
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from transformers import AutoConfig

from . import files, wire
from .book import Book, Future, Held, Refused
from .numbers import Numbers
from .options import Options
from .trainer import STOP, Trainer

log = logging.getLogger(__name__)
BODY_BYTES_MAX = 256 * 1024 * 1024
HELD_SECONDS = 45.0
"""How long a question for a result is held before it is answered with "try again"."""
KEPT_ALIVE_SECONDS = 900.0

Work = Callable[[], dict[str, Any]]
Body = dict[str, Any]


class Service:
    def __init__(self, options: Options, trainer: Trainer) -> None:
        config = AutoConfig.from_pretrained(options.model).get_text_config()
        self.vocabulary: int = config.vocab_size
        self.positions: int = getattr(config, "max_position_embeddings", None) or 2**31
        self.options = options
        self.trainer = trainer
        self.book = Book(options.models, options.silent_seconds)
        self.numbers = Numbers(trainer.ranks.size)
        self.work: queue.Queue[tuple[Future, Work]] = queue.Queue()
        self.loop = asyncio.new_event_loop()
        self.failed: list[BaseException] = []

    def serve(self) -> None:
        """Listens, and computes what is asked for until the process ends."""
        listening = threading.Event()
        threading.Thread(target=self.listen, args=(listening,), daemon=True).start()
        listening.wait()
        if self.failed:
            self.trainer.ranks.tell((STOP, {}))
            raise self.failed[0]
        log.info("listening on http://%s:%d", self.options.host, self.options.port)
        while True:
            future, work = self.work.get()
            started = time.monotonic()
            status, body = self.answered(work)
            self.numbers.busy_seconds += time.monotonic() - started
            self.numbers.waiting = self.work.qsize()
            self.loop.call_soon_threadsafe(future.finish, status, body)

    def answered(self, work: Work) -> tuple[int, bytes]:
        try:
            return 200, json.dumps(work()).encode()
        except Refused as refused:
            return 400, json.dumps({"detail": refused.detail}).encode()

    def listen(self, listening: threading.Event) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_until_complete(self.open())
        except BaseException as error:  # told by the main thread
            self.failed.append(error)
        listening.set()
        if not self.failed:
            self.loop.run_forever()

    async def open(self) -> None:
        app = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[self.guarded])
        app.add_routes([web.get("/healthz", self.health), web.get("/metrics", self.metrics)])
        api = "/api/v1"
        app.add_routes(
            [
                web.get(f"{api}/healthz", self.health),
                web.get(f"{api}/get_server_capabilities", self.capabilities),
                web.get(f"{api}/training_runs/{{model}}/checkpoints", self.checkpoints),
                web.get(f"{api}/training_runs/{{model}}/checkpoints/{{name}}/archive", self.archive),
                web.post(f"{api}/{{route}}", self.posted),
            ]
        )
        runner = web.AppRunner(app, access_log=None, keepalive_timeout=KEPT_ALIVE_SECONDS)
        await runner.setup()
        await web.TCPSite(runner, self.options.host, self.options.port).start()

    @web.middleware
    async def guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if not request.path.endswith("/healthz") and not self.may_enter(request):
            return web.json_response({"detail": "the token is missing or wrong"}, status=401)
        try:
            return await handler(request)
        except Refused as refused:
            return web.json_response({"detail": refused.detail}, status=refused.status)

    def may_enter(self, request: web.Request) -> bool:
        token = self.options.token
        if token is None:
            return True
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        said = request.headers.get("X-API-Key", bearer)
        return hmac.compare_digest(said.encode(), token.encode())

    async def health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def metrics(self, request: web.Request) -> web.Response:
        self.numbers.models = len(self.book.models)
        return web.Response(text=self.numbers.text(), content_type="text/plain")

    async def capabilities(self, request: web.Request) -> web.Response:
        return web.json_response({"supported_models": [{"model_name": self.options.name}]})

    async def checkpoints(self, request: web.Request) -> web.Response:
        model = request.match_info["model"]
        if files.NAME.fullmatch(model) is None:
            raise Refused(404, "Model not found")
        return web.json_response({"checkpoints": files.listed(self.options.checkpoints, model)})

    async def archive(self, request: web.Request) -> web.StreamResponse:
        model, name = request.match_info["model"], request.match_info["name"]
        folder = files.folder_at(self.options.checkpoints, files.address(model, files.SNAPSHOTS, name))
        if folder is None or not folder.is_dir():
            raise Refused(404, f"Checkpoint not found: {model}/{name}")
        response = web.StreamResponse(headers={"Content-Type": "application/gzip"})
        file, response.content_length = await self.loop.run_in_executor(None, files.archive, folder)
        with file:
            await response.prepare(request)
            while part := await self.loop.run_in_executor(None, file.read, 1 << 20):
                await response.write(part)
        await response.write_eof()
        return response

    async def posted(self, request: web.Request) -> web.Response:
        route = request.match_info["route"]
        raw = await request.read()
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            raise Refused(422, "the body is not JSON") from None
        if not isinstance(body, dict):
            raise Refused(422, "the body is not an object")
        if route == "retrieve_future":
            return await self.retrieved(body)
        if plain := self.plain.get(route):
            return web.json_response(plain(self, body))
        if route == "create_model":
            return web.json_response(self.create(body))
        done = self.numbered.get(route)
        if done is None:
            raise Refused(404, f"this service has no {route}{NOT_HERE.get(route, '')}")
        held = self.book.model(body.get("model_id"))
        digest = hashlib.sha256(raw).hexdigest()
        known = self.book.known(held, body.get("seq_id"), digest)
        if known is not None:
            return web.json_response(pending(known))
        future = self.submit(done(self, held, body))
        if isinstance(body.get("seq_id"), int):
            held.numbers[body["seq_id"]] = (digest, future.id)
        return web.json_response(pending(future.id))

    def submit(self, work: Work) -> Future:
        future = self.book.future()
        self.work.put((future, work))
        self.numbers.waiting = self.work.qsize()
        return future

    async def retrieved(self, body: Body) -> web.Response:
        future = self.book.futures.get(str(body.get("request_id")))
        if future is None:
            raise Refused(404, "Future not found")
        try:
            await asyncio.wait_for(future.done.wait(), HELD_SECONDS)
        except TimeoutError:
            return web.json_response({"type": "try_again", "queue_state": "active"})
        return web.Response(status=future.status, body=future.body, content_type="application/json")

    def config(self, body: Body) -> Body:
        return {"pjwt_auth_enabled": False}

    def create_session(self, body: Body) -> Body:
        return {"type": "create_session", "session_id": self.book.open_session()}

    def heartbeat(self, body: Body) -> Body:
        self.book.heard(body.get("session_id"))
        return {"type": "session_heartbeat"}

    def info(self, body: Body) -> Body:
        held = self.book.model(body.get("model_id"))
        return {"model_id": held.id, "status": "created", "model_data": self.described(held)}

    def weights_info(self, body: Body) -> Body:
        folder = self.state_at(body.get("tinker_path"))
        about = files.about(folder)
        return {"base_model": about["base_model"], "is_lora": about["rank"] > 0, "lora_rank": about["rank"]}

    def create(self, body: Body) -> Body:
        session = self.book.heard(body.get("session_id"))
        if body.get("base_model") != self.options.name:
            raise Refused(
                400, f"base_model is {body.get('base_model')!r}: this service trains {self.options.name}"
            )
        number = body.get("model_seq_id")
        if isinstance(number, int) and (before := self.book.created.get((session, number))):
            return pending(before[1], model_id=before[0])
        shape, seed = wire.shape_in(body, self.options.lora_alpha)
        for name in self.book.fallen_silent(session):
            log.info("model %s is given up: its job has been silent", name)
            self.unloaded(self.book.models[name])
        try:
            self.book.check_room(session, shape)
        except Refused as refused:
            return pending(self.submit(refusing(refused)).id)
        held = self.book.add(session, shape, seed)

        def work() -> Body:
            self.trainer.lead("create", model=held.id, shape=shape, seed=seed)
            return {"type": "create_model", "model_id": held.id, **self.described(held)}

        future = self.submit(work)
        if isinstance(number, int):
            self.book.created[(session, number)] = (held.id, future.id)
        return pending(future.id, model_id=held.id)

    def unload(self, held: Held, body: Body) -> Work:
        self.unloaded(held)
        return lambda: {"type": "unload_model", "model_id": held.id, "status": "unloaded"}

    def unloaded(self, held: Held) -> None:
        del self.book.models[held.id]

        def work() -> Body:
            self.trainer.lead("drop", model=held.id)
            return {}

        self.submit(work)

    def forward(self, held: Held, body: Body) -> Work:
        return self.scored(held, body.get("forward_input"), backward=False)

    def backward(self, held: Held, body: Body) -> Work:
        return self.scored(held, body.get("forward_backward_input"), backward=True)

    def scored(self, held: Held, given: Any, backward: bool) -> Work:
        if not isinstance(given, dict):
            raise Refused(422, "the input is missing")
        loss = wire.loss_in(given)
        ratio = wire.needs_ratio(loss[0], backward)
        sequences = wire.sequences_in(given, ratio, self.vocabulary, self.positions)
        held.gradients = held.gradients or backward

        def work() -> Body:
            said = self.trainer.lead(
                "score", model=held.id, sequences=sequences, loss=loss, backward=backward
            )
            tokens = sum(len(each) for each in sequences)
            self.numbers.tokens += tokens
            self.numbers.trained_tokens += tokens if backward else 0
            return wire.output(said, sequences)

        return work

    def step(self, held: Held, body: Body) -> Work:
        adam = wire.adam_in(body)
        if not held.gradients:
            raise Refused(400, "there is no gradient: forward_backward comes first")
        held.gradients = False

        def work() -> Body:
            norm = self.trainer.lead("step", model=held.id, adam=adam)
            self.numbers.steps += 1
            self.numbers.grad_norm = norm
            return {"metrics": {"grad_norm": norm, "learning_rate": adam.learning_rate}}

        return work

    def save(self, held: Held, body: Body) -> Work:
        return self.kept(held, body, files.STATES, "save", {"about": self.described(held)})

    def snapshot(self, held: Held, body: Body) -> Work:
        return self.kept(held, body, files.SNAPSHOTS, "export", {})

    def kept(self, held: Held, body: Body, kind: str, command: str, more: Body) -> Work:
        name = body.get("path")
        if not isinstance(name, str) or files.NAME.fullmatch(name) is None:
            raise Refused(422, "path names a checkpoint: up to 255 letters, digits, _ and -")
        uri = files.address(held.id, kind, name)
        folder = self.options.checkpoints / held.id / kind / name
        if folder.exists():
            raise Refused(409, f"Checkpoint '{name}' already exists for model '{held.id}'")

        def work() -> Body:
            if folder.exists():
                raise Refused(409, f"Checkpoint '{name}' already exists for model '{held.id}'")
            started = time.monotonic()
            self.trainer.lead(command, model=held.id, folder=folder, **more)
            self.numbers.saves += 1
            self.numbers.save_seconds += time.monotonic() - started
            return {"type": body.get("type"), "path": uri, "sampling_session_id": None}

        return work

    def load(self, held: Held, body: Body) -> Work:
        folder = self.state_at(body.get("path"))
        about, optimiser = files.about(folder), body.get("optimizer", True) is True
        if (about["rank"], about["alpha"]) != (held.shape.rank, held.shape.alpha):
            raise Refused(400, f"{body.get('path')} is of rank {about['rank']} and alpha {about['alpha']}")
        held.gradients = False

        def work() -> Body:
            self.trainer.lead("load", model=held.id, folder=folder, optimiser=optimiser)
            return {"type": "load_weights"}

        return work

    def state_at(self, uri: Any) -> Any:
        folder = files.folder_at(self.options.checkpoints, uri) if isinstance(uri, str) else None
        if folder is None or not (folder / files.ABOUT).is_file():
            raise Refused(400, f"Checkpoint not found: {uri}")
        return folder

    def described(self, held: Held) -> Body:
        shape = held.shape
        config = {"rank": shape.rank, "alpha": shape.alpha, "seed": held.seed}
        return {
            "base_model": self.options.name,
            "rank": shape.rank,
            "alpha": shape.alpha,
            "lora_config": config,
        }

    plain: dict[str, Callable[["Service", Body], Body]] = {
        "client/config": config,
        "create_session": create_session,
        "session_heartbeat": heartbeat,
        "get_info": info,
        "weights_info": weights_info,
    }
    numbered: dict[str, Callable[["Service", Held, Body], Work]] = {
        "forward": forward,
        "forward_backward": backward,
        "optim_step": step,
        "save_weights": save,
        "save_weights_for_sampler": snapshot,
        "load_weights": load,
        "unload_model": unload,
    }


NOT_HERE = {"asample": ": it trains, and does not sample. Give its adapters to vLLM or SGLang"}


def pending(future: str, **more: Any) -> Body:
    return {"future_id": future, "request_id": future, "status": "pending", **more}


def refusing(refused: Refused) -> Work:
    def work() -> Body:
        raise refused

    return work
