"""The manifest of a block store: what its files must be, and a checksum of itself.

``manifest.json`` is ``{"sha256":"...","store":{...}}`` and a line feed; the checksum is of the bytes of the
second object. File names are not in it: they follow from the number of a block and the role of an array, so
that no manifest can lead elsewhere. Sizes follow from shapes and types.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sparsebayes._typing import AnyArray
from sparsebayes.io import npy
from sparsebayes.io.checked import parse_json, replaced
from sparsebayes.io.labels import valid_map
from sparsebayes.io.lines import MAX_FEATURES

NAME = "manifest.json"
FORMAT = 1
# JSON takes up to 30 times its length in memory.
MAX_BYTES = 1 << 25
MAX_ROWS = 1 << 53
MAX_BLOCK_ENTRIES = 2**31 - 1
DTYPES = ("<f8", "<f4")
STORAGES = ("csr", "dense")
START, MIDDLE, END = b'{"sha256":"', b'","store":', b"}\n"
HEX = re.compile(r"[0-9a-f]{64}")


class StoreError(ValueError):
    """A block store is damaged, of a newer format, or not a block store at all; the message names the file.

    Examples
    --------
    >>> from sparsebayes.io import BlockStore, StoreError
    >>> try:
    ...     BlockStore.open("no_such.store")
    ... except StoreError as error:
    ...     print(error)
    no_such.store: it is not a block store: it has no manifest.json.
    """


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """What a file must be."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str

    def mapped(self, folder: Path) -> AnyArray:
        with naming(folder / self.name):
            return npy.mapped(folder / self.name, self.dtype, self.shape)


class naming:
    """Inside, an error about a file is a :class:`StoreError` that names it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise StoreError(
                f"{self.path}: it is missing; was the store changed since it was opened?"
            ) from None
        if isinstance(error, ValueError):
            raise StoreError(f"{self.path}: {error}.") from None


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """Size of a block, and the checksum of each of its files by role."""

    rows: int
    nnz: int
    sha256: dict[str, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that is known of a store without its arrays."""

    storage: str
    dtype: str
    rows: int
    columns: int
    nnz: int
    index_base: int
    block_rows: int
    weighted: bool
    label_kind: str
    labels: list[Any]
    feature_names: list[str] | None
    # Raised by each append; the files of the column counts are named by it.
    generation: int
    used_columns: int
    counts_sha256: dict[str, str]
    blocks: list[BlockEntry] = field(default_factory=list)

    def roles(self) -> tuple[str, ...]:
        arrays = ("data", "indices", "indptr") if self.storage == "csr" else ("data",)
        return (*arrays, "y", "weight") if self.weighted else (*arrays, "y")

    def block_files(self, number: int) -> dict[str, ArrayFile]:
        entry = self.blocks[number]
        shapes = {
            "data": (self.dtype, (entry.nnz,) if self.storage == "csr" else (entry.rows, self.columns)),
            "indices": ("<i4", (entry.nnz,)),
            "indptr": ("<i4", (entry.rows + 1,)),
            "y": ("<i4", (entry.rows,)),
            "weight": ("<f8", (entry.rows,)),
        }
        return {
            role: ArrayFile(block_name(number, role), *shapes[role], entry.sha256[role])
            for role in self.roles()
        }

    def counts_files(self) -> dict[str, ArrayFile]:
        return {
            role: ArrayFile(
                counts_name(self.generation, role), dtype, (self.used_columns,), self.counts_sha256[role]
            )
            for role, dtype in (("numbers", "<i4"), ("counts", "<i8"))
        }

    def files(self) -> Iterator[ArrayFile]:
        yield from self.counts_files().values()
        for number in range(len(self.blocks)):
            yield from self.block_files(number).values()


def block_name(number: int, role: str) -> str:
    return f"block-{number:06d}.{role}.npy"


def counts_name(generation: int, role: str) -> str:
    return f"columns-{generation:06d}.{role}.npy"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest in one step."""
    body = json.dumps({"format": FORMAT, **asdict(manifest)}, allow_nan=False, separators=(",", ":")).encode(
        "ascii"
    )
    if len(body) > MAX_BYTES:
        raise ValueError(
            f"The manifest has {len(body)} bytes, {MAX_BYTES} are allowed: take larger blocks, shorter names."
        )
    digest = hashlib.sha256(body).hexdigest().encode("ascii")
    with replaced(folder / NAME) as file:
        file.write(START + digest + MIDDLE + body + END)


def read_manifest(folder: Path) -> Manifest:
    """The manifest; a :class:`StoreError` for anything that :func:`write_manifest` did not write."""
    path = folder / NAME
    if not path.is_file():
        raise StoreError(f"{folder}: it is not a block store: it has no {NAME}.")
    with naming(path):
        if os.stat(path).st_size > MAX_BYTES + len(START + MIDDLE + END) + 64:
            raise ValueError("it is too large")
        content = _content(_checked_body(path.read_bytes()))
        version = content.pop("format", None)
        if type(version) is int and version > FORMAT:
            raise ValueError(f"format {version} > supported {FORMAT}: a newer sparsebayes is needed")
        if type(version) is not int or version < 1:
            raise ValueError("it has no valid format")
        return _manifest(content)


def _checked_body(text: bytes) -> bytes:
    digest_start, body_start = len(START), len(START) + 64 + len(MIDDLE)
    frame = text[:digest_start], text[digest_start + 64 : body_start], text[-len(END) :]
    body = text[body_start : -len(END)]
    if frame != (START, MIDDLE, END):
        raise ValueError("it is damaged, or not a manifest of sparsebayes")
    if hashlib.sha256(body).hexdigest().encode("ascii") != text[digest_start : digest_start + 64]:
        raise ValueError("it is damaged: its checksum does not match")
    return body


def _content(body: bytes) -> dict[str, Any]:
    try:
        content = parse_json(body)
    except ValueError as error:
        raise ValueError(f"it is {error}") from None
    if not isinstance(content, dict):
        raise ValueError("it is not an object")
    return content


def _manifest(content: dict[str, Any]) -> Manifest:
    names = set(Manifest.__dataclass_fields__)
    if set(content) != names:
        raise ValueError(f"its fields are not those of format {FORMAT}")
    blocks = content.pop("blocks")
    _require(isinstance(blocks, list) and len(blocks) > 0, "blocks")
    for name, most in (
        ("rows", MAX_ROWS),
        ("columns", MAX_FEATURES),
        ("nnz", MAX_ROWS),
        ("generation", MAX_ROWS),
    ):
        _require(_is_count(content[name], most), name)
    _require(_is_count(content["used_columns"], content["columns"]), "used_columns")
    _require(_is_count(content["block_rows"], MAX_BLOCK_ENTRIES) and content["block_rows"] > 0, "block_rows")
    _require(type(content["index_base"]) is int and content["index_base"] in (0, 1), "index_base")
    _require(content["storage"] in STORAGES and content["dtype"] in DTYPES, "storage or dtype")
    _require(type(content["weighted"]) is bool, "weighted")
    _require(valid_map(content["label_kind"], content["labels"]), "labels")
    _require(_are_names(content["feature_names"], content["columns"]), "feature_names")
    _require(_are_digests(content["counts_sha256"], ("numbers", "counts")), "counts_sha256")
    manifest = Manifest(**content)
    manifest.blocks.extend(_block(manifest, entry) for entry in blocks)
    _require(sum(block.rows for block in manifest.blocks) == manifest.rows, "rows")
    _require(sum(block.nnz for block in manifest.blocks) == manifest.nnz, "nnz")
    return manifest


def _block(manifest: Manifest, entry: Any) -> BlockEntry:
    _require(isinstance(entry, dict) and set(entry) == {"rows", "nnz", "sha256"}, "blocks")
    _require(_is_count(entry["rows"], manifest.block_rows) and entry["rows"] > 0, "blocks")
    _require(_is_count(entry["nnz"], min(MAX_BLOCK_ENTRIES, entry["rows"] * manifest.columns)), "blocks")
    _require(_are_digests(entry["sha256"], manifest.roles()), "blocks")
    return BlockEntry(**entry)


def _require(holds: bool, name: str) -> None:
    if not holds:
        raise ValueError(f"its {name} are not valid")


def _is_count(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _are_digests(value: Any, roles: tuple[str, ...]) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == set(roles)
        and all(isinstance(text, str) and HEX.fullmatch(text) for text in value.values())
    )


def _are_names(value: Any, columns: int) -> bool:
    if value is None:
        return True
    return isinstance(value, list) and len(value) == columns and all(isinstance(name, str) for name in value)
