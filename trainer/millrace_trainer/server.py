"""
The HTTP interface, on a thread of the first rank: the routes of the Tinker API that Millrace uses, and the
token.
"""

import asyncio
import hashlib
import hmac
import json
import threading
from collections.abc import Awaitable, Callable

from aiohttp import web

from . import files, wire
from .losses import AS_MILLRACE
from .registry import Refused
from .service import Body, Service, pending

API = "/api/v1"
BODY_BYTES_MAX = 256 * 1024 * 1024
POLL_SECONDS = 45.0
"""How long a question for a result waits for it before the answer is "try again"."""
KEEPALIVE_SECONDS = 900.0
NOT_HERE = {"asample": ": it trains, and does not sample. Give its adapters to vLLM or SGLang"}


class Server:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.options = service.options
        self.loop = service.loop
        self.error: BaseException | None = None

    def start(self) -> None:
        """Listens on a thread of its own; raises when it cannot."""
        listening = threading.Event()
        threading.Thread(target=self.listen, args=(listening,), daemon=True).start()
        listening.wait()
        if self.error is not None:
            raise self.error

    def listen(self, listening: threading.Event) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_until_complete(self.open())
        except BaseException as error:
            self.error = error
        listening.set()
        if self.error is None:
            self.loop.run_forever()

    async def open(self) -> None:
        app = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[self.guard])
        run = f"{API}/training_runs/{{model}}/checkpoints"
        app.add_routes(
            [
                web.get("/healthz", self.health),
                web.get("/metrics", self.metrics),
                web.get(f"{API}/healthz", self.health),
                web.get(f"{API}/get_server_capabilities", self.capabilities),
                web.get(run, self.checkpoints),
                web.get(f"{run}/{{name}}/archive", self.archive),
                web.post(f"{API}/{{route:.+}}", self.post),
            ]
        )
        runner = web.AppRunner(app, access_log=None, keepalive_timeout=KEEPALIVE_SECONDS)
        await runner.setup()
        await web.TCPSite(runner, self.options.host, self.options.port).start()

    @web.middleware
    async def guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if not request.path.endswith("/healthz") and not self.has_token(request):
            return web.json_response({"detail": "the token is missing or wrong"}, status=401)
        try:
            return await handler(request)
        except Refused as refused:
            return web.json_response({"detail": refused.detail}, status=refused.status)

    def has_token(self, request: web.Request) -> bool:
        token = self.options.token
        if token is None:
            return True
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        given = request.headers.get("X-API-Key", bearer)
        return hmac.compare_digest(given.encode(), token.encode())

    async def health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def metrics(self, request: web.Request) -> web.Response:
        self.service.metrics.models = len(self.service.registry.models)
        return web.Response(text=self.service.metrics.text(), content_type="text/plain")

    async def capabilities(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "supported_models": [{"model_name": self.options.name}],
                "packed": 1,
                "millrace_losses": AS_MILLRACE,
            }
        )

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

    async def post(self, request: web.Request) -> web.Response:
        route = request.match_info["route"]
        raw = await request.read()
        body = object_in(raw)
        if route == "retrieve_future":
            return await self.retrieve(body)
        service = self.service
        if route in service.immediate:
            return web.json_response(service.immediate[route](service, body))
        if route not in service.numbered:
            raise Refused(404, f"this service has no {route}{NOT_HERE.get(route, '')}")
        model = service.registry.model(body.get("model_id"))
        digest = hashlib.sha256(raw).hexdigest()
        return web.json_response(pending(service.submit_numbered(model, route, body, digest)))

    async def retrieve(self, body: Body) -> web.Response:
        future = self.service.registry.futures.get(str(body.get("request_id")))
        if future is None:
            raise Refused(404, "Future not found")
        try:
            await asyncio.wait_for(future.done.wait(), POLL_SECONDS)
        except TimeoutError:
            return web.json_response({"type": "try_again", "queue_state": "active"})
        packed = future.body is not None and future.body.startswith(wire.MAGIC)
        kind = wire.MEDIA_TYPE if packed else "application/json"
        return web.Response(status=future.status, body=future.body, content_type=kind)


def object_in(raw: bytes) -> Body:
    if raw.startswith(wire.MAGIC):
        return wire.unpacked(raw)
    try:
        body = json.loads(raw or b"{}")
    except ValueError:
        raise Refused(422, "the body is not JSON") from None
    if not isinstance(body, dict):
        raise Refused(422, "the body is not an object")
    return body
