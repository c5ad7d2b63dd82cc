"""Servers of files on this machine: an object store, a web server with ranges, and a proxy that drops connections."""

import hashlib
import os
import re
import socket
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

BUCKET = "shop"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}


class ObjectStore:
    """The address of a server of S3, to which files are put."""

    def __init__(self, port):
        self.port, self.address = port, f"http://127.0.0.1:{port}"
        headers = {"Content-Type": "application/octet-stream"}
        urlopen(Request(f"{self.address}/{BUCKET}", b"", headers, method="PUT")).close()

    def put(self, key, content):
        from pyarrow.fs import FileSystem

        store, bucket = FileSystem.from_uri(f"s3://{BUCKET}/?scheme=http&endpoint_override=127.0.0.1:{self.port}")
        with store.open_output_stream(f"{bucket}/{key}", compression=None) as file:
            file.write(content)


@contextmanager
def object_store():
    """Run the S3 server of moto in threads of this process, and point the environment at it."""
    import logging

    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    store = ObjectStore(server.get_host_and_port()[1])
    before = {name: os.environ.get(name) for name in (*CREDENTIALS, "AWS_ENDPOINT_URL", "AWS_REGION")}
    os.environ.update(CREDENTIALS, AWS_ENDPOINT_URL=store.address, AWS_REGION="us-east-1")
    try:
        yield store
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        server.stop()


class WebServer(ThreadingHTTPServer):
    """Files by their names; `faults` drops the connection after so many bytes in each of the next answers."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _WebHandler)
        self.files, self.faults, self.requests = {}, [], []
        self.ranges, self.status = True, None

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class _WebHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        path = self.path.partition("?")[0].lstrip("/")
        server.requests.append((path, self.headers.get("Range")))
        content = server.files.get(path)
        if server.status is not None or content is None:
            self.send_error(server.status or 404)
            return
        begin, end, status = 0, len(content), 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and server.ranges:
            begin, end, status = int(asked[1]), min(int(asked[2]) + 1, len(content)), 206
            if begin >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.end_headers()
                return
        self.send_response(status)
        self.send_header("Content-Length", str(end - begin))
        self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()[:8]}"')
        self.end_headers()
        body = content[begin:end]
        if server.faults and len(body) > 1:
            body = body[: server.faults.pop()]
            self.close_connection = True
        self.wfile.write(body)

    def do_HEAD(self):
        self.send_error(self.server.status or 404)

    def log_message(self, *_):
        pass


@contextmanager
def web_server():
    server = WebServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def dropping_proxy(port, drops, after=20_000):
    """Pass connections on to a port; answers of so many connections are cut off after some bytes."""
    listener = socket.create_server(("127.0.0.1", 0))
    left = [drops]

    def passed(source, target, most):
        try:
            while data := source.recv(2**16):
                target.sendall(data[:most])
                most -= len(data)
                if most <= 0:
                    left[0] -= 1
                    break
        except OSError:
            pass
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def serve():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", port))
            most = after if left[0] > 0 else 2**62
            for pair in ((client, server, 2**62), (server, client, most)):
                threading.Thread(target=passed, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1], left
    finally:
        listener.close()
