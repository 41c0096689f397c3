"""The data sets that have a name: what is in them, and where they come from.

Shapes of sets that LIBSVM has are LIBSVM's, features that never occur in a file counted as well. Its page
states no digests; a set that gets one here is held to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

BASE_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
# The paper scales its small sets to [-1, 1] and takes these as they are.
UNSCALED_IN_PAPER = frozenset({"news20", "real-sim", "rcv1.binary.train", "url_combined"})


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What is known of a data set before it is read.

    Attributes
    ----------
    name : str
    n_rows, n_features, n_classes : int
    address : str or None
        The file below LIBSVM's page; None where that has no such file.
    paper_name : str or None
        The name in Table I of arXiv 2107.08195.
    note : str
        What to know before results are reported under this name.
    sha256 : str or None
        Digest that the downloaded file must have.
    n_rebuilt : int or None
        Number of features of a rebuilt file, which is read where it is found in the original's place.
    part_of : str or None
        The set whose rows with these ``labels`` are this set.
    labels : tuple of int

    Examples
    --------
    >>> from sparsebayes.io import datasets
    >>> info = datasets.describe("colon-cancer")
    >>> info.n_rows, info.n_features, info.file
    (62, 2000, 'colon-cancer.bz2')
    >>> info.note
    "With LIBSVM's normalisation."
    """

    name: str
    n_rows: int
    n_features: int
    n_classes: int
    address: str | None = None
    paper_name: str | None = None
    note: str = ""
    sha256: str | None = None
    n_rebuilt: int | None = None
    part_of: str | None = None
    labels: tuple[int, ...] = ()

    @property
    def url(self) -> str | None:
        return None if self.address is None else f"{BASE_URL}/{self.address}"

    @property
    def file(self) -> str:
        """Name of the file as LIBSVM has it, or as a data folder has it where LIBSVM has none."""
        return f"{self.name}.svm.bz2" if self.address is None else self.address.rpartition("/")[2]

    @property
    def scaled_in_paper(self) -> bool:
        return self.paper_name is not None and self.paper_name not in UNSCALED_IN_PAPER

    def rebuilt(self) -> DatasetInfo:
        """What the rebuilt file is: not LIBSVM's, and without an address."""
        assert self.n_rebuilt is not None
        note = f"Rebuilt: {self.n_rebuilt} features where LIBSVM's file has {self.n_features}."
        original: dict[str, Any] = {"address": None, "sha256": None, "n_rebuilt": None}
        return replace(self, n_features=self.n_rebuilt, note=note, **original)


_RAW = "Raw values; LIBSVM has the scaled file alone."
_NOTES = {
    "a1a": "The last features never occur.",
    "a2a": "The last features never occur.",
    "breast-cancer": "Raw values; feature 1 is the sample's id.",
    "colon-cancer": "With LIBSVM's normalisation.",
    "iris": _RAW,
    "madelon": "The paper has madelon.t.",
    "news20.binary": "A rebuilt file with 1355189 features is read as well, and described as one.",
    "rcv1_vw_sample": "Documents of RCV1, unit tf-idf. Not rcv1_train.binary.",
    "satimage": f"{_RAW} The rows are in another order there.",
    "satimage.t": _RAW,
    "segment": f"{_RAW} The rows are in another order there.",
    "sub_imdb_train": "Stands in for real-sim, which it is not: film reviews, unit tf-idf.",
    "sub_reuters21578_corp": "Stands in for rcv1_train.binary, which it is not: Reuters-21578, earn or acq.",
    "url_sample": "Some rows of url_combined, which it is not; the balance of classes is not natural.",
    "usps": "In a data folder it may be a rebuilt copy with LIBSVM's values.",
    "usps.binary": "The rows of usps with labels 1 and 2.",
    "usps_esl": "The digits of usps, not smoothed. Not LIBSVM's values.",
    "usps_esl.t": "The digits of usps.t, not smoothed. Not LIBSVM's values.",
    "wine": _RAW,
}


def _known(
    name: str,
    n_rows: int,
    n_features: int,
    n_classes: int,
    address: str | None = None,
    paper_name: str | None = None,
    **more: Any,
) -> DatasetInfo:
    note = _NOTES.get(name, "")
    return DatasetInfo(name, n_rows, n_features, n_classes, address, paper_name, note, **more)


_SETS = [
    _known("a1a", 1605, 123, 2, "binary/a1a", "Adult1"),
    _known("a2a", 2265, 123, 2, "binary/a2a", "a2a"),
    _known("breast-cancer", 683, 10, 2, "binary/breast-cancer", "breast"),
    _known("breast-cancer_scale", 683, 10, 2, "binary/breast-cancer_scale", "breast"),
    _known("colon-cancer", 62, 2000, 2, "binary/colon-cancer.bz2", "colon"),
    _known("diabetes", 768, 8, 2, "binary/diabetes", "diabetes"),
    _known("diabetes_scale", 768, 8, 2, "binary/diabetes_scale", "diabetes"),
    _known("german.numer", 1000, 24, 2, "binary/german.numer", "german_numer"),
    _known("german.numer_scale", 1000, 24, 2, "binary/german.numer_scale", "german_numer"),
    _known("iris", 150, 4, 3, None, "Iris"),
    _known("iris.scale", 150, 4, 3, "multiclass/iris.scale", "Iris"),
    _known("madelon", 2000, 500, 2, "binary/madelon"),
    _known("madelon.t", 600, 500, 2, "binary/madelon.t", "madelon"),
    _known("news20.binary", 19996, 1355191, 2, "binary/news20.binary.bz2", "news20", n_rebuilt=1355189),
    _known("rcv1_train.binary", 20242, 47236, 2, "binary/rcv1_train.binary.bz2", "rcv1.binary.train"),
    _known("rcv1_vw_sample", 1500, 47117, 2),
    _known("real-sim", 72309, 20958, 2, "binary/real-sim.bz2", "real-sim"),
    _known("satimage", 4435, 36, 6, None, "satimage"),
    _known("satimage.t", 2000, 36, 6),
    _known("satimage.scale", 4435, 36, 6, "multiclass/satimage.scale", "satimage"),
    _known("satimage.scale.t", 2000, 36, 6, "multiclass/satimage.scale.t"),
    _known("segment", 2310, 19, 7, None, "segment"),
    _known("segment.scale", 2310, 19, 7, "multiclass/segment.scale", "segment"),
    _known("sub_imdb_train", 25000, 44764, 2),
    _known("sub_reuters21578_corp", 10794, 18205, 2),
    _known("url_combined", 2396130, 3231961, 2, "binary/url_combined.bz2", "url_combined"),
    _known("url_sample", 5152, 3231949, 2),
    _known("usps", 7291, 256, 10, "multiclass/usps.bz2", "usps.all"),
    _known("usps.t", 2007, 256, 10, "multiclass/usps.t.bz2"),
    _known("usps.binary", 2199, 256, 2, "multiclass/usps.bz2", "usps.binary", part_of="usps", labels=(1, 2)),
    _known("usps_esl", 7291, 256, 10),
    _known("usps_esl.t", 2007, 256, 10),
    _known("wine", 178, 13, 3, None, "Wine"),
    _known("wine.scale", 178, 13, 3, "multiclass/wine.scale", "Wine"),
]
CATALOGUE = {info.name: info for info in _SETS}
