"""Options and reading of rows, shared by the commands."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from sparsebayes import FrozenModel, load_model
from sparsebayes.cli.ends import existing
from sparsebayes.cli.screen import bytes_bar

FORMATS = ("svmlight", "csv", "parquet", "npz", "store")
DATA_HELP = """\
DATA is svmlight text (perhaps .gz, .bz2 or .xz), .csv or .tsv with a header, .parquet, .npz with arrays
X and y, or a store made by `sparsebayes convert`; - is standard input."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from and how they are to be read."""

    path: str
    format: str | None
    label: str | None
    weight: str | None
    ignore: tuple[str, ...]
    index_base: int | None

    @classmethod
    def of(cls, given: dict[str, Any], path: str | None = None) -> Source:
        """Taken out of what a command was given."""
        path = given.pop("data") if path is None else path
        base = given.pop("index_base")
        names = ("format", "label", "ignore")
        taken = {name: given.pop(name) for name in names} | {"weight": given.pop("weight", None)}
        return cls(path, index_base=None if base is None else int(base), **taken)

    @property
    def kind(self) -> str:
        """The format: that which was asked for, or which the name tells."""
        from sparsebayes.io.tables import format_of

        if self.format is not None:
            return self.format
        return "svmlight" if self.path == "-" else format_of(self.path)

    def read(
        self,
        *,
        labelled: bool = True,
        model: FrozenModel | None = None,
        n_features: int | None = None,
        features: list[str] | None = None,
    ) -> Any:
        """The rows; with ``features``, or for a model, those columns in that order."""
        from sparsebayes.io import Columns, read_table

        source = self._opened()
        if model is not None and model.feature_names is not None:
            features = model.feature_names.tolist()
        with bytes_bar(f"reading {self.path}") as progress:
            return read_table(
                source,
                self.kind,  # type: ignore[arg-type]
                columns=Columns(self.label, self.weight, self.ignore, features),
                labelled=labelled,
                text_labels=model is not None,  # it knows what they are
                n_features=n_features if model is None else model.n_features,
                index_base=self._base(model),
                progress=progress,
            )

    def _opened(self) -> Any:
        existing(self.path, "file")
        for option in ("label", "weight", "ignore"):
            if getattr(self, option) and self.kind not in ("csv", "parquet"):
                raise click.UsageError(f"--{option} is for tables with names, not for {self.kind}")
        if self.path != "-":
            return self.path
        if self.kind == "store":
            raise click.UsageError("a store is a folder and cannot come from standard input")
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed")
        return sys.stdin.buffer

    def stored(
        self, target: str, block_rows: int | None, dtype: str, n_jobs: int | None, n_features: int | None
    ) -> Any:
        """The rows as a store: svmlight text, and Parquet with a label by name, in parts."""
        from sparsebayes.io import BlockStore, convert_svmlight

        source, taken = self._opened(), self.kind
        more: dict[str, Any] = {} if block_rows is None else {"block_rows": block_rows}
        if taken == "svmlight":
            with bytes_bar(f"converting {self.path}") as progress:
                base = self._base(None)
                more |= {"n_features": n_features, "index_base": base, "n_jobs": n_jobs}
                return convert_svmlight(source, target, dtype=dtype, progress=progress, **more)
        if n_features is not None:
            raise click.UsageError("--n-features is for svmlight text")
        if taken == "parquet" and self.label is not None and not self.ignore and self.path != "-":
            more |= {"label": self.label, "weight": self.weight, "dtype": dtype}
            return BlockStore.from_parquet(source, target, **more)
        if taken == "store":
            raise click.UsageError(f"{self.path} is a store already")
        table = self.read()
        return BlockStore.write(
            target,
            table.X,
            table.y,
            table.sample_weight,
            dtype=dtype,
            feature_names=table.feature_names,
            **more,
        )

    def base_of(self, table: Any) -> int | None:
        """The index of the first feature in the text that a table was read from, if it was read from text."""
        if self.kind == "svmlight":
            return self._base(None)
        return getattr(table.X, "index_base", None) if table.feature_names is None else None  # of a store

    def _base(self, model: FrozenModel | None) -> int:
        """That which was asked for, else that which the model was trained with."""
        if self.index_base is not None:
            return self.index_base
        stored = None if model is None else model.about.get("index_base")
        return stored if stored in (0, 1) else 1


OPTIONS = (
    click.option("--format", type=click.Choice(FORMATS), help="Told by the ending of the name if not given."),
    click.option("--label", metavar="COLUMN", help="Labels; by default label, target, class or y."),
    click.option("--ignore", metavar="COLUMN", multiple=True, help="A column to leave out; may be repeated."),
    click.option(
        "--index-base",
        type=click.Choice(["0", "1"]),
        help="First index of svmlight text; 1, or what the model was trained with.",
    ),
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How to read rows: what :meth:`Source.of` takes."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def in_memory(X: Any) -> Any:
    """All rows, for work that cannot go through them block by block."""
    from sparsebayes.io import BlockStore

    return X.to_csr() if isinstance(X, BlockStore) else X


def model_of(path: str) -> FrozenModel:
    return load_model(existing(path, "model file"))


weight_option = click.option("--weight", metavar="COLUMN", help="Weights of the rows in the fit.")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
model_argument = click.argument("model", type=click.Path())
data_argument = click.argument("data", type=click.Path(allow_dash=True))
