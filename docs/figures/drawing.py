"""What the figures share: colours, a white card that is read in light and dark, the numbers inside."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
# Okabe and Ito's, told apart by all eyes.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"


def axes(n_columns: int, width: float, height: float) -> Any:
    """A figure with axes side by side, on white."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "sparsebayes", "svg.fonttype": "path", "font.size": 9})
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, n_columns, figsize=(width, height), layout="constrained", squeeze=False)
    figure.patch.set_facecolor("white")
    return figure, panels[0]


def save(figure: Any, name: str, numbers: Any) -> Path:
    """As docs/figures/NAME.svg, with its numbers and without a date."""
    from matplotlib import pyplot as plt

    path = FOLDER / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None, "Description": json.dumps(numbers)})
    plt.close(figure)
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
    return path


def numbers_in(path: Path) -> Any:
    """What a figure says that it shows."""
    (text,) = re.findall(r"<(?:dc:description|desc)>(.*?)</", path.read_text(), flags=re.DOTALL)
    return json.loads(unescape(text))


def rounded(values: Any, digits: int = 3) -> list[float]:
    return [round(float(value), digits) for value in values]
