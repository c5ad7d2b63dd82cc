"""Files of object stores and of the web as files that can be read from any position; what breaks off is read again."""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from opauc.core.extras import needed
from opauc.errors import InputChangedError, InputError

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
WEB, LOCAL = ("http", "https"), "file"
# Schemes that pyarrow reads, and what it calls them.
ARROW_SCHEMES = {
    "s3": "s3", "gs": "gs", "gcs": "gs", "az": "abfs", "abfs": "abfs", "abfss": "abfss", "hdfs": "hdfs",
}  # fmt: skip
# Where credentials are looked for.
CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY",
}
# What the errors of pyarrow say of requests that would fail again.
DENIED = re.compile(r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|HTTP status 40[13]|credential", re.I)
NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|bucket does not exist", re.I)
MAX_REASON = 200


@dataclass(frozen=True)
class RetryPolicy:
    """How often and when a request that failed is repeated.

    Examples
    --------
    >>> from opauc.data.remote import RetryPolicy
    >>> list(RetryPolicy(attempts=3).waits())
    [0.2, 0.8]
    """

    attempts: int = 4  # requests for the same bytes, before the file counts as out of reach
    first_wait: float = 0.2  # seconds; a server that restarts is back within a few
    factor: float = 4.0  # by which each wait is longer than the one before
    timeout: float = 30.0  # seconds without a byte from a web server

    def waits(self) -> Iterator[float]:
        """Yield the seconds to wait before each further attempt."""
        return (self.first_wait * self.factor**number for number in range(self.attempts - 1))


RETRY_POLICY = RetryPolicy()


class FileState(NamedTuple):
    """The size of a file, and its ETag or the time at which it changed."""

    size: int
    version: str | int


class Handle(Protocol):
    """An open file of a store."""

    state: FileState

    def read(self, offset: int, size: int) -> bytes:
        """Return so many bytes from an offset on; an OSError may be over at the next attempt."""


class Store(Protocol):
    """A place that has files."""

    def open(self, url: str) -> Handle:
        """Open a file."""

    def find(self, url: str) -> list[tuple[str, int]] | None:
        """Return all files below a folder, or the file itself, with their sizes; None where there is neither."""


def is_url(path: str) -> bool:
    """Tell whether a path is a URL.

    >>> from opauc.data.remote import is_url
    >>> is_url("s3://bucket/rows.csv"), is_url("rows.csv"), is_url("C:/rows.csv")
    (True, False, False)
    """
    return URL.match(path) is not None


def shown_url(url: str) -> str:
    """Return a URL without a user, a password and a query, which may hold secrets.

    >>> from opauc.data.remote import shown_url
    >>> shown_url("s3://key:secret@bucket/rows.csv?region=eu-west-1"), shown_url("rows?.csv")
    ('s3://bucket/rows.csv', 'rows?.csv')
    """
    if not is_url(url):
        return url
    parts = _split(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def path_of(url: str) -> str:
    """Return a URL without its query, which is no part of the name; a file:// URL and a path as a local path.

    >>> from opauc.data.remote import path_of
    >>> path_of("https://host/rows.csv?key=1"), path_of("file:///tmp/a%20b.csv"), path_of("rows.csv")
    ('https://host/rows.csv', '/tmp/a b.csv', 'rows.csv')
    """
    if not is_url(url):
        return url
    return unquote(_split(url).path) if _split(url).scheme == LOCAL else shown_url(url)


def is_web(url: str) -> bool:
    """Tell whether a URL is that of a web server, which cannot list files."""
    return _split(url).scheme in WEB


def _split(url: str) -> SplitResult:
    """Return the parts of a URL; wildcards of object stores are no query."""
    parts = urlsplit(url, allow_fragments=False)
    if parts.scheme not in WEB and "=" not in parts.query and parts.query:
        parts = parts._replace(path=f"{parts.path}?{parts.query}", query="")
    return parts


class RemoteFile(io.RawIOBase):
    """A file of a store, read in ranges; a request that fails is repeated, and the file must not change meanwhile.

    Examples
    --------
    >>> import fsspec
    >>> from opauc.data.remote import RemoteFile
    >>> with fsspec.open("memory://rows.csv", "wb") as file:
    ...     _ = file.write(b"a,b")
    >>> RemoteFile("memory://rows.csv").read()
    b'a,b'
    """

    def __init__(self, url: str, policy: RetryPolicy = RETRY_POLICY) -> None:
        super().__init__()
        self.url: str = url
        self._policy, self._position = policy, 0
        self._handle: Handle | None = None
        self._handle = self._repeated(self._open)
        self.state: FileState = self._handle.state

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to another position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.state.size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def size(self) -> int:
        """Return the size."""
        return self.state.size

    def readinto(self, buffer: Any) -> int:
        """Read from the position on."""
        size = min(len(buffer), max(0, self.state.size - self._position))
        if size:
            buffer[:size] = self._repeated(lambda: self._read(self._position, size))
            self._position += size
        return size

    def readall(self) -> bytes:
        """Read the rest in one request."""
        return self.read(max(1, self.state.size - self._position)) or b""

    def _read(self, offset: int, size: int) -> bytes:
        if self._handle is None:
            self._handle = self._open()
        data = self._handle.read(offset, size)
        if len(data) != size:
            raise ConnectionError(f"{len(data):,} of {size:,} bytes came")
        return data

    def _open(self) -> Handle:
        handle = store_of(self.url).open(self.url)
        if self._handle is None and hasattr(self, "state") and handle.state != self.state:
            raise InputChangedError(f"{shown_url(self.url)}: the file changed while it was read")
        return handle

    def _repeated(self, request: Callable[[], Any]) -> Any:
        """Return what a request gives; one that fails is repeated with a new connection."""
        waits = self._policy.waits()
        while True:
            try:
                return request()
            except InputError:
                raise
            except (OSError, ValueError) as error:
                wait = None if _is_final(error) else next(waits, None)
                if wait is None:
                    raise failure(self.url, error) from error
                self._handle = None
                time.sleep(wait)


def _is_final(error: Exception) -> bool:
    """Tell whether the same request would fail again."""
    if (code := getattr(error, "code", None)) is not None:  # of an answer of a web server
        return bool(code < 500 and code != 429)
    text = str(error)
    return isinstance(error, FileNotFoundError | PermissionError) or bool(DENIED.search(text) or NO_BUCKET.search(text))


def failure(url: str, error: Exception) -> InputError:
    """Return the error of a file that cannot be read, in one line."""
    text, scheme, name = " ".join(str(error).split()), _split(url).scheme, shown_url(url)
    code = getattr(error, "code", None)
    if NO_BUCKET.search(text):
        return InputError(f"{name}: there is no bucket {_split(url).netloc.rpartition('@')[2]}")
    if isinstance(error, FileNotFoundError) or code in (404, 410):
        return InputError(f"{name}: no such file")
    if isinstance(error, PermissionError) or code in (401, 403) or DENIED.search(text):
        known = CREDENTIALS.get(ARROW_SCHEMES.get(scheme, ""))
        return InputError(f"{name}: access is denied" + (f"; credentials are looked for in {known}" if known else ""))
    return InputError(f"{name}: cannot be read: {text[:MAX_REASON]}")


@contextmanager
def _one_line(url: str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise failure(url, error) from error


@lru_cache(maxsize=64)
def _store(scheme: str, netloc: str, query: str) -> Store:
    if scheme in WEB:
        return WebStore()
    return ArrowStore(scheme, netloc, query) if scheme in ARROW_SCHEMES else FsspecStore(scheme)


def store_of(url: str) -> Store:
    """Return the store of a file; its connections are kept."""
    parts = _split(url)
    with _one_line(url):
        return _store(parts.scheme, parts.netloc, parts.query)


class ArrowStore:
    """An object store that pyarrow reads."""

    def __init__(self, scheme: str, netloc: str, query: str) -> None:
        from pyarrow import fs

        self._scheme, self._netloc, self._query = scheme, netloc, f"?{query}" if query else ""
        name, options = ARROW_SCHEMES[scheme], dict(parse_qsl(query))
        if name == "s3" and "endpoint_override" not in options:
            endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
            if endpoint:
                parts = urlsplit(endpoint)
                options |= {"endpoint_override": parts.netloc, "scheme": parts.scheme}
        if name == "gs":
            options.setdefault("retry_limit_seconds", "20")
        self._bucket = netloc.rpartition("@")[2]
        if name == "abfs" and "@" not in netloc and "." not in netloc:
            account = os.environ.get("AZURE_STORAGE_ACCOUNT")
            if account is None:
                raise PermissionError("no account")
            key = os.environ.get("AZURE_STORAGE_KEY")
            self._fs: Any = fs.AzureFileSystem(account_name=account, account_key=key)
            return
        tail = f"?{urlencode(options)}" if options else ""
        self._fs, path = fs.FileSystem.from_uri(f"{name}://{netloc}/{tail}")
        if name not in ("s3", "gs"):
            self._bucket = path.strip("/")

    def open(self, url: str) -> Handle:
        """Open a file: one request for its size and ETag."""
        return ArrowHandle(self._fs.open_input_file(self._path(url)))

    def find(self, url: str) -> list[tuple[str, int]] | None:
        """Return all files below a folder, or the file itself, with their sizes; None where there is neither."""
        from pyarrow.fs import FileSelector, FileType

        path = self._path(url).rstrip("/")
        info = self._fs.get_file_info(path)
        if info.type == FileType.File:
            return [(url, info.size)]
        if info.type == FileType.NotFound:
            if self._fs.get_file_info(self._bucket).type == FileType.NotFound:
                raise FileNotFoundError("NO_SUCH_BUCKET")
            return None
        found = self._fs.get_file_info(FileSelector(path, recursive=True))
        return [(self._url(one.path), one.size) for one in found if one.type == FileType.File]

    def _path(self, url: str) -> str:
        return f"{self._bucket}/{_split(url).path.lstrip('/')}"

    def _url(self, path: str) -> str:
        return f"{self._scheme}://{self._netloc}/{path.removeprefix(self._bucket).lstrip('/')}{self._query}"


class ArrowHandle:
    """An open file of pyarrow."""

    def __init__(self, file: Any) -> None:
        self._file = file
        known = file.metadata() or {}
        version = known.get("ETag", known.get("Last-Modified", b""))
        self.state: FileState = FileState(file.size(), version.decode() if isinstance(version, bytes) else str(version))

    def read(self, offset: int, size: int) -> bytes:
        """Return so many bytes from an offset on."""
        data: bytes = self._file.read_at(size, offset)
        return data


class WebStore:
    """A web server that serves ranges."""

    def open(self, url: str) -> Handle:
        """Open a file: its first byte is asked for, which tells its size and whether there are ranges."""
        return WebHandle(url)

    def find(self, url: str) -> list[tuple[str, int]] | None:
        """Return the file."""
        return [(url, RemoteFile(url).state.size)]


class WebHandle:
    """A file of a web server."""

    state: FileState

    def __init__(self, url: str) -> None:
        self._url = url
        _, self.state = self._request(0, 1)

    def read(self, offset: int, size: int) -> bytes:
        """Return so many bytes from an offset on."""
        data, state = self._request(offset, size)
        if state != self.state:
            raise InputChangedError(f"{shown_url(self._url)}: the file changed while it was read")
        return data

    def _request(self, offset: int, size: int) -> tuple[bytes, FileState]:
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request, urlopen

        request = Request(self._url, headers={"Range": f"bytes={offset}-{offset + size - 1}"})
        try:
            with urlopen(request, timeout=RETRY_POLICY.timeout) as response:
                if response.status != 206:
                    raise InputError(f"{shown_url(self._url)}: the server serves no ranges; download the file first")
                return response.read(), _state_of(response.headers)
        except HTTPError as error:
            error.close()
            if error.code == 416 and _state_of(error.headers).size == 0:  # an empty file has no first byte
                return b"", _state_of(error.headers)
            raise
        except URLError as error:
            raise ConnectionError(str(error.reason)) from error
        except HTTPException as error:  # a response that is cut off
            raise ConnectionError(str(error)) from error


def _state_of(headers: Any) -> FileState:
    """Return the size and the version of a file by the answer to a request for a range."""
    total = re.search(r"/(\d+)$", headers.get("Content-Range", ""))
    if total is None:
        raise ConnectionError("the server does not tell the size of the file")
    return FileState(int(total[1]), headers.get("ETag") or headers.get("Last-Modified") or "")


class FsspecStore:
    """Whatever else fsspec reads."""

    def __init__(self, scheme: str) -> None:
        with needed("fsspec", "remote"):
            import fsspec
        try:
            self._fs: Any = fsspec.filesystem(scheme)
        except (ImportError, ValueError) as error:
            raise InputError(f"{scheme}://: {' '.join(str(error).split())[:MAX_REASON]}") from error
        self._scheme = scheme

    def open(self, url: str) -> Handle:
        """Open a file."""
        return FsspecHandle(self._fs, self._fs._strip_protocol(url))

    def find(self, url: str) -> list[tuple[str, int]] | None:
        """Return all files below a folder, or the file itself, with their sizes; None where there is neither."""
        path = self._fs._strip_protocol(url)
        if not self._fs.exists(path):
            return None
        if self._fs.isfile(path):
            return [(url, self._fs.size(path))]
        found = self._fs.find(path, detail=True)
        return [(f"{self._scheme}://{name.lstrip('/')}", facts["size"]) for name, facts in found.items()]


class FsspecHandle:
    """A file of fsspec."""

    def __init__(self, fs: Any, path: str) -> None:
        facts = fs.info(path)
        self._fs, self._path = fs, path
        version = next((str(facts[name]) for name in ("ETag", "etag", "mtime", "created") if facts.get(name)), "")
        self.state: FileState = FileState(facts["size"], version)

    def read(self, offset: int, size: int) -> bytes:
        """Return so many bytes from an offset on."""
        data: bytes = self._fs.cat_file(self._path, start=offset, end=offset + size)
        return data
