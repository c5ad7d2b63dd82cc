"""The processes of a service: they listen at one address, and stop when asked to."""

from __future__ import annotations

import signal
import socket
import warnings
from collections.abc import Callable
from multiprocessing import connection, get_context
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import NamedTuple

from opauc.core.extras import needed
from opauc.errors import EngineError, Parameter, ParameterError
from opauc.serving.app import create_app
from opauc.serving.settings import ServeSettings

with needed("uvicorn", "serve"):
    import uvicorn

# Seconds that requests which have begun may take when the service is stopped.
GRACE = 10
# Connections that wait while all processes are busy.
BACKLOG = 2048
STOPPING = (signal.SIGINT, signal.SIGTERM)


class Address(NamedTuple):
    """Where a service listens."""

    host: str
    port: int

    def url(self) -> str:
        """Return the address of the page.

        >>> from opauc.serving.run import Address
        >>> Address("127.0.0.1", 8000).url(), Address("::1", 80).url()
        ('http://127.0.0.1:8000', 'http://[::1]:80')
        """
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"


def run_service(settings: ServeSettings, address: Address, workers: int, on_start: Callable[[str], None]) -> None:
    """Serve a model file until the process gets SIGINT or SIGTERM; `on_start` is called with the URL."""
    settings.check(workers)
    apps = [create_app(settings)]  # what is wrong with the file is an error before anything listens
    with _listen(address) as listening:
        url = Address(address.host, listening.getsockname()[1]).url()
        if workers == 1:
            _run(apps[0], listening, lambda: on_start(url))
        else:
            apps.clear()  # each process has its own
            _run_workers(settings, listening, workers, lambda: on_start(url))


def _run(app: object, listening: socket.socket, on_start: Callable[[], None]) -> None:
    """Answer requests until the process gets a signal to stop."""
    warnings.simplefilter("ignore")  # of rows: texts of requests must not pile up in a log, or in memory
    _on_stop(lambda: None)  # the server stops by itself, and then raises the signal once more
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=GRACE, lifespan="on",
        ws="none",
    )  # fmt: skip
    on_start()
    uvicorn.Server(config).run([listening])


def _run_workers(settings: ServeSettings, listening: socket.socket, workers: int, on_start: Callable[[], None]) -> None:
    """Answer requests by several processes; when one of them ends, all do."""
    context = get_context("spawn")
    processes: list[BaseProcess] = [
        context.Process(target=_work, args=(settings, listening)) for _ in range(workers)
    ]  # fmt: skip
    asked = list[bool]()

    def stop() -> None:
        asked.append(True)
        for process in processes:
            if process.is_alive():
                process.terminate()

    for process in processes:
        process.start()
    _on_stop(stop)
    on_start()
    connection.wait([process.sentinel for process in processes])
    was_asked = bool(asked)
    stop()
    for process in processes:
        process.join()
    if not was_asked:
        codes = ", ".join(str(process.exitcode) for process in processes)
        raise EngineError(f"a process of the service ended by itself; the exit codes are {codes}")


def _work(settings: ServeSettings, listening: socket.socket) -> None:
    """Be one process of a service."""
    _run(create_app(settings), listening, lambda: None)


def _listen(address: Address) -> socket.socket:
    """Return a socket that listens at an address; raise ParameterError where it cannot."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else error
        where = Parameter("host", address.host), " ", Parameter("port", address.port)
        raise ParameterError(*where, f": {reason}") from error
    return listening


def _on_stop(action: Callable[[], None]) -> None:
    """Call a function when the process is asked to stop."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        action()

    for number in STOPPING:
        signal.signal(number, handle)
