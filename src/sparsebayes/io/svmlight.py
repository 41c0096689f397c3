"""Reading svmlight text into memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import Vector
from sparsebayes.io.lines import MAX_FEATURES, Fault, Rows, SvmlightFormatError, Terms
from sparsebayes.io.text import MAX_LINE, Part, PathLike, Source, Span, opened
from sparsebayes.io.tokens import concatenated, parse

Progress = Callable[[int, int | None], object]

# What is parsed at once stays in the cache.
PIECE_BYTES = 1 << 19
# Processes take half a second to start, and then share no lock as threads do.
BYTES_FOR_PROCESSES = 1 << 28


def read_svmlight(
    path: PathLike | BinaryIO,
    *,
    n_features: int | None = None,
    index_base: int = 1,
    dtype: Any = np.float64,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[sp.csr_matrix, Vector]:
    """X and y of a text in svmlight (LIBSVM) format.

    Parameters
    ----------
    path : path or binary file object
        A file, compressed if it is named .gz, .bz2 or .xz, or a stream such as ``sys.stdin.buffer``.
    n_features : int, optional
        Number of columns of X; an index beyond it is an error. Without it, the largest index there is.
    index_base : {1, 0}
        The index of the first column: 1 in this format, 0 in the files of some programs. It is never guessed.
    dtype : {numpy.float64, numpy.float32}
        Type of the values of X.
    n_jobs : int, optional
        Number of threads, or of processes for a file beyond 256 MiB; by default the number of cores.
        The result is the same with any.
    progress : callable, optional
        Called now and then as ``progress(bytes_done, bytes_total)``; the total of a stream is None.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features)
    y : ndarray of float64

    Raises
    ------
    SvmlightFormatError
        For the first line that is not in the format, with file and line.

    Examples
    --------
    >>> import io
    >>> from sparsebayes.io import read_svmlight
    >>> X, y = read_svmlight(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:0.25  # a comment\\n"))
    >>> X.toarray()
    array([[0.5 , 0.  , 2.  ],
           [0.  , 0.25, 0.  ]])
    >>> y
    array([ 1., -1.])
    """
    terms = checked_terms(index_base, n_features, dtype)
    with opened(path) as source:
        rows = concatenated(list(rows_of(source, terms, n_jobs, progress)), terms.dtype)
    width = n_features if n_features is not None else int(rows.columns.max(initial=-1)) + 1
    return sp.csr_matrix((rows.data, rows.columns, rows.indptr), shape=(len(rows.labels), width)), rows.labels


def checked_terms(index_base: Any, n_features: Any, dtype: Any) -> Terms:
    if isinstance(index_base, bool) or index_base not in (0, 1):
        raise ValueError(f"The 'index_base' parameter must be 0 or 1. Got {index_base!r} instead.")
    if n_features is not None:
        n_features = checked_integer("n_features", n_features, MAX_FEATURES)
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(f"The 'dtype' parameter must be float64 or float32. Got {dtype!r} instead.")
    return Terms(int(index_base), n_features, np.dtype(dtype).type)


def checked_integer(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
        raise ValueError(
            f"The '{name}' parameter must be an int in the range [1, {most}]. Got {value!r} instead."
        )
    return int(value)


def rows_of(source: Source, terms: Terms, n_jobs: int | None, progress: Progress | None) -> Iterator[Rows]:
    """The rows of a source part by part, or an error at its first fault."""
    lines, found = 0, False
    for part, outcome in _in_order(source, terms, _workers(n_jobs)):
        if isinstance(outcome, Fault):
            raise outcome.at(source.name, lines)
        lines += outcome.lines
        if progress is not None:
            progress(part.done, source.size)
        if len(outcome.rows.labels):
            found = True
            yield outcome.rows
    if not found:
        raise SvmlightFormatError(f"{source.name}:1: there are no samples in the text: ''")


@dataclass(frozen=True, slots=True)
class _Parsed:
    rows: Rows
    lines: int


def parse_part(lines: Span | bytes | Fault, terms: Terms) -> _Parsed | Fault:
    """A task of a thread or process. A fault is returned: its line counts from the part's first."""
    if isinstance(lines, Fault):
        return lines
    text = lines.read() if isinstance(lines, Span) else lines
    parsed, start, before = [], 0, 0
    while start < len(text):
        stop = text.find(b"\n", start + PIECE_BYTES) + 1 or len(text)
        piece = text[start:stop]
        try:
            parsed.append(_parse_piece(piece, terms))
        except Fault as fault:
            return Fault(before + fault.line, fault.reason, fault.token)
        start, before = stop, before + piece.count(b"\n")
    return _Parsed(concatenated(parsed, terms.dtype), before)


def _parse_piece(piece: bytes, terms: Terms) -> Rows:
    if len(piece) > MAX_LINE:
        # Of a piece only the last line may be long.
        last = piece.rfind(b"\n", 0, len(piece) - 1) + 1
        if len(piece) - last > MAX_LINE:
            parse(piece[:last], terms)
            raise Fault(
                piece.count(b"\n", 0, last) + 1,
                f"the line is longer than {MAX_LINE} bytes",
                piece[last : last + 99],
            )
    return parse(piece, terms)


def _in_order(source: Source, terms: Terms, workers: int) -> Iterator[tuple[Part, _Parsed | Fault]]:
    """Each part with its outcome; no more than a few are held."""
    if workers == 1:
        for part in source.parts:
            yield part, parse_part(part.lines, terms)
        return
    pending: deque[tuple[Part, Future[_Parsed | Fault]]] = deque()
    with _executor(source, workers) as executor:
        try:
            for part in source.parts:
                pending.append((part, executor.submit(parse_part, part.lines, terms)))
                if len(pending) == 2 * workers:
                    yield pending[0][0], pending.popleft()[1].result()
            while pending:
                yield pending[0][0], pending.popleft()[1].result()
        finally:
            for _, future in pending:
                future.cancel()


@contextmanager
def _executor(source: Source, workers: int) -> Iterator[Executor]:
    if source.in_file and (source.size or 0) >= BYTES_FOR_PROCESSES:
        # Unlike the standard library's, these need no guard of the main module. Not loky's reusable
        # executor: joblib.Parallel takes that for its own, and fails for what we have not set there.
        from joblib.externals.loky import ProcessPoolExecutor

        with ProcessPoolExecutor(workers) as processes:
            yield processes
        return
    with ThreadPoolExecutor(workers) as threads:
        yield threads


def _workers(n_jobs: int | None) -> int:
    if n_jobs is None or n_jobs == -1:
        # Not os.cpu_count(): a process may be allowed fewer cores than there are.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return checked_integer("n_jobs", n_jobs, 1024)
