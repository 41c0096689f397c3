"""How the gallery's pictures look, and in which order they are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

ORDER = [
    "plot_regions",
    "plot_wide_path",
    "plot_calibration",
    "plot_alpha_spectrum",
    "plot_digits",
    "plot_microcontroller",
    "plot_dask_progress",
    "plot_separable_and_noise",
]
STYLE = {
    "figure.figsize": (5.6, 4.4),
    "figure.constrained_layout.use": True,
    # The page shines through. In the dark its style sheet inverts the pictures, this colour with them.
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "legend.facecolor": "white",
    "legend.framealpha": 0.85,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 150,
    "font.size": 10.5,
}


def reset(gallery_conf: dict[str, Any], example: str) -> None:
    plt.rcParams.update(STYLE)


class ReadingOrder:
    """Sorts examples; one that the list lacks is an error."""

    def __init__(self, folder: str) -> None:
        pass

    def __call__(self, file: str) -> int:
        return ORDER.index(Path(file).stem)
