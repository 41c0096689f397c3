"""Files that are written whole or not at all, and read with every byte checked."""

from sparsebayes.io.checked import MAX_BYTES, ModelFileError, read_checked, replaced, write_checked

__all__ = ["MAX_BYTES", "ModelFileError", "read_checked", "replaced", "write_checked"]
