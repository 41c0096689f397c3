"""Reading rows, rows on disk in blocks, and files that are written whole or not at all."""

from sparsebayes.io.checked import ModelFileError
from sparsebayes.io.convert import convert_svmlight
from sparsebayes.io.lines import SvmlightFormatError
from sparsebayes.io.manifest import StoreError
from sparsebayes.io.roles import Columns, Table, TableError
from sparsebayes.io.store import Block, BlockStore
from sparsebayes.io.svmlight import read_svmlight
from sparsebayes.io.tables import read_table
from sparsebayes.io.writer import StoreWriter

__all__ = [
    "Block",
    "BlockStore",
    "Columns",
    "ModelFileError",
    "StoreError",
    "StoreWriter",
    "SvmlightFormatError",
    "Table",
    "TableError",
    "convert_svmlight",
    "read_svmlight",
    "read_table",
]
