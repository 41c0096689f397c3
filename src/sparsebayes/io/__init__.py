"""Files that are written whole or not at all, and read with every byte checked."""

from sparsebayes.io.checked import (
    MAX_BYTES,
    MODEL_FILE,
    FileKind,
    ModelFileError,
    read_checked,
    replaced,
    write_checked,
)

__all__ = [
    "MAX_BYTES",
    "MODEL_FILE",
    "FileKind",
    "ModelFileError",
    "read_checked",
    "replaced",
    "write_checked",
]
