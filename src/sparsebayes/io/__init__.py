"""Reading svmlight text, rows on disk in blocks, and files that are written whole or not at all."""

from sparsebayes.io.checked import MAX_BYTES, ModelFileError, read_checked, replaced, write_checked
from sparsebayes.io.convert import convert_svmlight
from sparsebayes.io.lines import SvmlightFormatError
from sparsebayes.io.manifest import StoreError
from sparsebayes.io.store import Block, BlockStore
from sparsebayes.io.svmlight import read_svmlight
from sparsebayes.io.writer import StoreWriter

__all__ = [
    "MAX_BYTES",
    "Block",
    "BlockStore",
    "ModelFileError",
    "StoreError",
    "StoreWriter",
    "SvmlightFormatError",
    "convert_svmlight",
    "read_checked",
    "read_svmlight",
    "replaced",
    "write_checked",
]
