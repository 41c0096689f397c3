"""One file over HTTP: whole and checked, or not there at all."""

from __future__ import annotations

import hashlib
import ssl
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any, BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from sparsebayes.io.checked import replaced

Progress = Callable[[int, int | None], object]

CHUNK = 1 << 16
# A server that sends now and then a byte never runs into the timeout of a socket.
SLOWEST_BYTES_PER_SECOND = 1000
TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


class DownloadError(OSError):
    """The file could not be had; ``transient`` where another attempt may succeed."""

    def __init__(self, message: str, transient: bool) -> None:
        super().__init__(message)
        self.transient = transient


def download(
    url: str,
    path: Path,
    accept: Callable[[Path, str], object],
    *,
    progress: Progress | None,
    timeout: float,
    retries: int,
    backoff: float,
    max_bytes: int,
) -> None:
    """Place the file at ``path`` once ``accept(temporary path, SHA-256)`` has raised nothing.

    A :class:`DownloadError` is about the server or the way to it, any other OSError about the file here.
    """
    for attempt in range(retries + 1):
        try:
            with replaced(path) as file:
                digest = _receive(url, file, progress, timeout, max_bytes)
                file.flush()
                accept(Path(file.name), digest)
            return
        except DownloadError as error:
            if not error.transient or attempt == retries:
                raise
        time.sleep(backoff * 2**attempt)


def _receive(url: str, file: BinaryIO, progress: Progress | None, timeout: float, max_bytes: int) -> str:
    """Write all that the server sends; its SHA-256."""
    digest = hashlib.sha256()
    done = 0
    with _opened(url, timeout) as response:
        total: int | None = response.length
        if total is not None and total > max_bytes:
            raise DownloadError(f"it has {total} bytes, and max_bytes is {max_bytes}", transient=False)
        for piece in _pieces(response, timeout):
            done += len(piece)
            if done > max_bytes:
                raise DownloadError(f"it has more than max_bytes = {max_bytes} bytes", transient=False)
            digest.update(piece)
            file.write(piece)
            if progress is not None:
                progress(done, total)
    if total is not None and done != total:
        raise DownloadError(f"the connection was cut off after {done} of {total} bytes", transient=True)
    return digest.hexdigest()


def _opened(url: str, timeout: float) -> Any:
    if urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError("only http and https are allowed", transient=False)
    request = Request(url, headers={"User-Agent": "sparsebayes"})
    try:
        return _opener().open(request, timeout=timeout)
    except HTTPError as error:
        error.close()
        message = f"the server answered {error.code} {error.reason}"
        raise DownloadError(message, error.code in TRANSIENT_STATUS) from None
    except URLError as error:
        unreachable = isinstance(error.reason, OSError) and not isinstance(error.reason, ssl.SSLError)
        raise DownloadError(f"no connection ({error.reason})", unreachable) from error
    except (OSError, HTTPException) as error:
        raise DownloadError(f"no answer ({error!r})", transient=True) from error


def _pieces(response: Any, timeout: float) -> Iterator[bytes]:
    """The body as it comes in, until it comes in too slowly."""
    start, arrived = time.monotonic(), 0
    while piece := _piece(response):
        yield piece
        arrived += len(piece)
        elapsed = time.monotonic() - start
        if elapsed >= timeout:
            if arrived < SLOWEST_BYTES_PER_SECOND * elapsed:
                message = f"too slow: {arrived} bytes in {elapsed:.3g} seconds"
                raise DownloadError(message, transient=True)
            start, arrived = time.monotonic(), 0


def _piece(response: Any) -> bytes:
    try:
        piece: bytes = response.read1(CHUNK)  # `read` would wait until a chunk is full
    except (OSError, HTTPException) as error:
        raise DownloadError(f"the connection broke ({error!r})", transient=True) from error
    return piece


class _Redirects(HTTPRedirectHandler):
    """To http and https alone, and never from https to http."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        allowed = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in allowed:
            raise HTTPError(req.full_url, code, f"with a redirect to {newurl}, which is refused", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> OpenerDirector:
    """urllib's own opener would know ftp, file and data as well."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler(),
        UnknownHandler(),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPDefaultErrorHandler(),
        _Redirects(),
        HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener
