"""Exit codes, and which error ends with which."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Those of sysexits.h where it has one.
USAGE = 2
BAD_DATA = 65
MISSING_FILE = 66
NOT_INSTALLED = 69
OUR_FAULT = 70
NO_MEMORY = 71
INPUT_OUTPUT = 74
INTERRUPTED = 130
PIPE_CLOSED = 141


@dataclass(frozen=True, slots=True)
class Ending:
    code: int
    message: str


class PipeClosedError(Exception):
    """Nobody reads standard output any more."""


class MissingFileError(Exception):
    """What was to be read is not there."""


class Interrupted(Exception):
    """Ctrl-C, and what the user should know then."""


def existing(path: str, what: str) -> str:
    """The path, if there is something to read; standard input is ``-``."""
    if path != "-" and not Path(path).exists():
        raise MissingFileError(f"{path}: there is no such {what}.")
    return path


def ending_of(error: Exception) -> Ending:
    """How the command line ends by an error that a command did not expect."""
    if isinstance(error, MissingFileError):
        return Ending(MISSING_FILE, str(error))
    if isinstance(error, Interrupted):
        return Ending(INTERRUPTED, str(error))
    if isinstance(error, OSError):
        return Ending(INPUT_OUTPUT, _of_the_system(error))
    if isinstance(error, ImportError):
        return Ending(NOT_INSTALLED, str(error))
    if isinstance(error, MemoryError):
        return Ending(NO_MEMORY, f"there is not enough memory: {error}")
    if type(error).__name__ == "InvalidParameterError":  # scikit-learn's, a ValueError; not a public name
        return Ending(USAGE, str(error))
    if isinstance(error, ValueError | TypeError):
        return Ending(BAD_DATA, str(error))
    return Ending(OUR_FAULT, f"internal error ({type(error).__name__}: {error}); --debug says where.")


def _of_the_system(error: OSError) -> str:
    where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}."


@contextmanager
def said_if_interrupted(note: str) -> Iterator[None]:
    """What the user should know if Ctrl-C comes meanwhile."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(note) from None
