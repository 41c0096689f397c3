"""Files that are written whole or not at all, and read with every byte checked."""

from sparsebayes.io.checked import MAX_BYTES, ModelFileError, read_checked, replaced, write_checked
from sparsebayes.io.store import BlockStore
from sparsebayes.io.tables import Columns, Table, TableError, read_table

__all__ = [
    "MAX_BYTES",
    "BlockStore",
    "Columns",
    "ModelFileError",
    "Table",
    "TableError",
    "read_checked",
    "read_table",
    "replaced",
    "write_checked",
]
