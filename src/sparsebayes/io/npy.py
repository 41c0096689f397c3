"""Arrays as ``.npy`` files of version 1.0 whose header is known before they are read.

The header is 128 bytes, written here and compared byte for byte, so that nothing in a file is evaluated.
"""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path

import numpy as np

from sparsebayes._typing import AnyArray

HEADER_BYTES = 128
READ_BYTES = 1 << 20


def header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """What ``numpy.load`` needs to know of an array in C order."""
    start = b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little")
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    return start + text.encode("ascii").ljust(HEADER_BYTES - 11) + b"\n"


def file_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    return HEADER_BYTES + math.prod(shape) * np.dtype(dtype).itemsize


def write(path: Path, array: AnyArray, dtype: str) -> str:
    """Write and sync a new file; its SHA-256."""
    content = np.ascontiguousarray(array, dtype=dtype)
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for block in (header(dtype, content.shape), content.reshape(-1).view(np.uint8).data):
            digest.update(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def mapped(path: Path, dtype: str, shape: tuple[int, ...]) -> AnyArray:
    """The array in a file, read when it is touched; a ValueError if the file is not that of such an array."""
    if os.stat(path).st_size != file_bytes(dtype, shape):
        raise ValueError(f"it should have {file_bytes(dtype, shape)} bytes, but has {os.stat(path).st_size}")
    with open(path, "rb") as file:
        if file.read(HEADER_BYTES) != header(dtype, shape):
            raise ValueError(f"its header is not that of an array of type {dtype} and shape {shape}")
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=HEADER_BYTES, shape=shape)


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()
