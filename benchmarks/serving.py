"""Load on `opauc serve`: `python -m benchmarks.serving [CONNECTIONS] [SECONDS] [WORKERS]`.

A service on this machine, of a `OnePassGAM` of 30 columns with a tree ensemble, gets requests of one row, `/score`,
on so many connections, each of which sends the next request when it has the response to the last. Requests per second,
and percentiles of the milliseconds from the first byte sent to the last byte received, as the client sees them. The
client, one process of plain sockets, shares the cores with the service: alone the service would be faster.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import opauc
from benchmarks.__main__ import processor
from benchmarks.one_row import first_record, tables
from benchmarks.table import heading, line
from opauc import OnePassGAM

WARM_UP_SECONDS = 2.0
PERCENTILES = (50, 90, 99, 99.9)


class Client(asyncio.Protocol):
    """One connection: sends a request, waits for the response, and sends the next."""

    def __init__(self, request, until, seconds):
        self._request, self._until, self._seconds = request, until, seconds
        self._received, self.done = b"", asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self._transport = transport
        self._send()

    def data_received(self, data):
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        if not blank or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]):
            return
        now = time.perf_counter()
        assert head.startswith(b"HTTP/1.1 200"), self._received
        self._seconds.append(now - self._began)
        if now < self._until:
            self._send()
        else:
            self._transport.close()
            self.done.set_result(None)

    def connection_lost(self, error):
        if not self.done.done():
            self.done.set_exception(error or ConnectionResetError("the service closed the connection"))

    def _send(self):
        self._received, self._began = b"", time.perf_counter()
        self._transport.write(self._request)


async def load(url, body, connections, seconds):
    """Send requests for so many seconds; return the seconds that each took."""
    address, measured, loop = urlsplit(url), list[float](), asyncio.get_running_loop()
    head = f"POST /score HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    until = time.perf_counter() + seconds
    clients = [
        await loop.create_connection(lambda: Client(request, until, measured), address.hostname, address.port)
        for _ in range(connections)
    ]
    await asyncio.gather(*(client.done for _, client in clients))
    return measured


def start(model, *options):
    """Start a service; return its process and its URL."""
    command = [sys.executable, "-m", "opauc", "serve", str(model), "--port", "0", "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return process, json.loads(process.stdout.readline())["url"]


def main(connections=16, seconds=15.0, workers=1):
    mixed, _, _, labels = tables()
    model = OnePassGAM(random_state=0).fit(mixed, labels)
    body = json.dumps(first_record(mixed)).encode()
    print(f"{processor()}, client and service on the same cores; {connections} connections, {seconds:.0f} s.")
    heading(["workers", "requests per second", *(f"p{percentile:g} ms" for percentile in PERCENTILES)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.opauc")
        opauc.save(model, path)
        process, url = start(path, "--workers", str(workers))
        try:
            asyncio.run(load(url, body, connections, WARM_UP_SECONDS + 5 * (workers > 1)))
            began = time.perf_counter()
            measured = asyncio.run(load(url, body, connections, seconds))
            elapsed = time.perf_counter() - began
        finally:
            os.kill(process.pid, signal.SIGTERM)
            process.wait()
    latencies = (f"{value:.2f}" for value in 1000 * np.percentile(measured, PERCENTILES))
    line([str(workers), f"{len(measured) / elapsed:,.0f}", *latencies])


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
