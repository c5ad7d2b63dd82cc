"""The web application: one function for each path."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from opauc.core.extras import needed
from opauc.serving.learner import Learner
from opauc.serving.live_model import LiveModel
from opauc.serving.metrics import CONTENT_TYPE, Metrics
from opauc.serving.openapi import describe, page
from opauc.serving.requests import (
    JSON_TYPE,
    TOO_LARGE,
    WRONG_TYPE,
    RequestError,
    Row,
    parse_count,
    parse_labeled,
    parse_rows,
)
from opauc.serving.settings import Limits, ServeSettings

with needed("starlette", "serve"):
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, PlainTextResponse, Response
    from starlette.routing import Route

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
# The page runs nothing and loads nothing.
PAGE_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
CLIENT_CLOSED = 499
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def create_app(settings: ServeSettings) -> Starlette:
    """Return an application that serves a model file.

    Parameters
    ----------
    settings : ServeSettings
        The model file, and what is asked for.

    Returns
    -------
    app : Starlette
        An ASGI application.

    Raises
    ------
    UnreadableFileError
        If the model file cannot be loaded.

    Examples
    --------
    >>> import tempfile
    >>> import opauc
    >>> from opauc.serving.app import create_app
    >>> from opauc.serving.settings import ServeSettings
    >>> with tempfile.NamedTemporaryFile(suffix=".opauc") as file:
    ...     opauc.save(opauc.OPAUC().fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1]), file.name)
    ...     [route.path for route in create_app(ServeSettings(file.name)).routes]
    ['/score', '/explain', '/health', '/metrics', '/openapi.json', '/']
    """
    settings.check()
    return Service(settings).app()


class Service:
    """A model file behind HTTP."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings: ServeSettings = settings
        self.limits: Limits = settings.limits
        self.metrics: Metrics = Metrics()
        self.model: LiveModel = LiveModel(settings, self.metrics)
        self.learner: Learner | None = None

    def app(self) -> Starlette:
        """Return the application."""
        posts, gets = [self.score, self.explain], [self.health, self.prometheus, self.openapi, self.page]
        if self.settings.learn:
            posts.append(self.learn)
        paths: dict[Endpoint, str] = {self.prometheus: "/metrics", self.openapi: "/openapi.json", self.page: "/"}
        routes = [
            Route(path, self._measured(path, endpoint), methods=methods)
            for endpoints, methods in ((posts, ["POST"]), (gets, ["GET"]))
            for endpoint in endpoints
            for path in [paths.get(endpoint, f"/{endpoint.__name__}")]
        ]
        handlers: Any = {HTTPException: self._refuse_path}
        return Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)

    async def score(self, request: Request) -> Response:
        """Return score, probability and label of each row."""
        sent, served = parse_rows(await self._body(request), self.limits), self.model.current

        def answer() -> list[Any]:
            scores = served.scores(sent.rows).tolist()
            return [served.answer(score, number) for number, score in enumerate(scores)]

        answers = await self._work(sent.rows, answer)
        self.metrics.add("rows_scored", len(answers))
        return _json(answers[0] if sent.is_single else answers)

    async def explain(self, request: Request) -> Response:
        """Return the score of each row as a sum of terms."""
        k = parse_count(request.query_params.get("k"))
        sent, served = parse_rows(await self._body(request), self.limits), self.model.current

        answers = await run_in_threadpool(served.explain, sent.rows, k)
        self.metrics.add("rows_explained", len(answers))
        return _json(answers[0] if sent.is_single else answers)

    async def learn(self, request: Request) -> Response:
        """Train the model on labeled rows; the answer comes when the new model scores."""
        assert self.learner is not None, "the lifespan starts it"
        served = self.model.current
        sent = parse_labeled(await self._body(request), served.scorer.classes, self.limits)
        await self._work(sent.rows, lambda: served.scores(sent.rows))  # what cannot be read is refused at once
        await asyncio.wrap_future(self.learner.submit(sent))
        learned = self.metrics["rows_learned"]
        return _json({"rows": len(sent.rows), "rows_learned": learned, "version": self.model.current.version})

    async def health(self, _request: Request) -> Response:
        """Return which model scores."""
        served = self.model.current
        learned, error = self.metrics["rows_learned"], self.model.file_error
        facts = {"model": Path(self.settings.model).name, "estimator": served.estimator, "version": served.version}
        return _json({"status": "ok", **facts, "rows_learned": learned, "error": error})

    async def prometheus(self, _request: Request) -> Response:
        """Return counts and latencies."""
        gauges = {"model_loaded_timestamp_seconds": self.model.current.loaded}
        if (auc := self.model.auc()) is not None:
            gauges["progressive_auc"] = auc
        if self.learner is not None:
            gauges["rows_waiting"] = self.learner.rows_waiting
        return PlainTextResponse(self.metrics.text(gauges), media_type=CONTENT_TYPE)

    async def openapi(self, _request: Request) -> Response:
        """Return the description of the service."""
        return _json(describe(self.model))

    async def page(self, _request: Request) -> Response:
        """Return the description of the service as a page."""
        return HTMLResponse(page(self.model), headers=PAGE_HEADERS)

    async def _work(self, rows: Sequence[Row], work: Callable[[], list[Any] | Any]) -> Any:
        """Do the work on a few rows at once, on many in a thread: other requests go on meanwhile."""
        return work() if len(rows) <= self.limits.inline_rows else await run_in_threadpool(work)

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request; raise RequestError where it is too large or of another type."""
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != JSON_TYPE:  # pages of other sites can send all others without being asked
            raise RequestError(WRONG_TYPE, f"expected the content type {JSON_TYPE}, got {content_type!r}")
        most, parts, size = self.limits.max_bytes, list[bytes](), 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise RequestError(TOO_LARGE, f"the body has more than {most} bytes")
            parts.append(part)
        return b"".join(parts)

    def _measured(self, path: str, endpoint: Endpoint) -> Endpoint:
        """Return an endpoint that counts its requests, and turns errors of clients into one line."""

        async def answer(request: Request) -> Response:
            began = time.perf_counter()
            try:
                response = await endpoint(request)
            except RequestError as error:
                response = _json({"error": str(error)}, error.status)
            except ClientDisconnect:
                response = Response(status_code=CLIENT_CLOSED)
            self.metrics.answered(path, response.status_code, time.perf_counter() - began)
            return response

        return answer

    async def _refuse_path(self, _request: Request, error: HTTPException) -> Response:
        self.metrics.answered("other", error.status_code, 0.0)
        return _json({"error": str(error.detail).lower()}, error.status_code, dict(error.headers or {}))

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Look after the model file while the service runs; at the end train on what waits, and save."""
        if self.settings.learn:
            self.learner = Learner(self.model, self.limits.max_waiting_rows)
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            if self.learner is not None:
                await run_in_threadpool(self.learner.close)
                await run_in_threadpool(self.model.save)

    async def _watch(self) -> None:
        """Load the model file whenever it has changed."""
        while True:
            await asyncio.sleep(self.limits.reload_seconds)
            if self.model.has_changed():
                await run_in_threadpool(self.model.reload)


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(ENCODER.encode(content).encode(errors="backslashreplace"), status, headers, JSON_TYPE)
