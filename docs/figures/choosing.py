"""The chart of which classifier for which data, as plain SVG."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from docs.figures.drawing import BLUE, FOLDER, GREEN, ORANGE

WIDTH, MARGIN, GAP, LINE = 900, 16, 14, 17
QUESTIONS = 150  # width of the column of questions


def numbers() -> list[dict[str, Any]]:
    """The chart as data: a question a band, its answers side by side, first line in bold."""
    return [
        {
            "question": ["What should the", "model be made of?"],
            "colour": BLUE,
            "answers": [
                ["features", "text, genes, clicks, tables;", "to know which of them matter"],
                ["a few training rows", "the boundary is curved,", "and one row is like its neighbours"],
                ["random nodes", "the boundary is curved,", "and kernels do less well"],
            ],
        },
        {
            "question": ["Take"],
            "colour": BLUE,
            "answers": [["SBLClassifier()"], ["RVMClassifier()"], ["SBELMClassifier()"]],
        },
        {
            "question": ["How large", "are the data?"],
            "colour": ORANGE,
            "answers": [
                ["up to 400 features", "exact posterior; leave-one-out", "chooses the size"],
                ["up to 3000 rows", "every row is a candidate;", "beyond, 1000 of them"],
                ["any number of rows", "time grows with rows", "times nodes"],
            ],
        },
        {
            "question": ["Larger?"],
            "colour": ORANGE,
            "answers": [
                ["up to millions of features", "evidence chooses: sparse;", 'select="cv": accurate'],
                ["beyond 50 000 rows", "vectors are chosen on 30 000,", "weights fitted on all"],
                ["more nodes", "n_hidden=500; try some", "values of random_state"],
            ],
        },
        {
            "question": ["Where are", "the rows?"],
            "colour": GREEN,
            "answers": [
                ["in memory", "fit(X, y), dense or sparse"],
                ["on a disk", "fit(BlockStore.open(path))"],
                ["on a cluster", "fit(store, client=client)"],
            ],
        },
        {
            "question": ["Where will the", "model run?"],
            "colour": GREEN,
            "answers": [
                ["in Python", "predict, save_model"],
                ["on a device", "export_c"],
                ["in ONNX Runtime", "export_onnx"],
            ],
        },
    ]


def text(x: float, y: float, words: str, bold: bool = False, anchor: str = "middle") -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{weight}>{escape(words)}</text>'


def draw() -> Path:
    bands = numbers()
    parts, y = [], float(MARGIN)
    width = (WIDTH - QUESTIONS - 2 * MARGIN - 2 * GAP) / 3
    for band in bands:
        n_lines = max(len(answer) for answer in band["answers"])
        height = LINE * max(n_lines, len(band["question"])) + 12
        for k, words in enumerate(band["question"]):
            first = y + height / 2 - LINE * (len(band["question"]) - 1) / 2 + 4
            parts.append(text(MARGIN, first + LINE * k, words, bold=True, anchor="start"))
        for k, answer in enumerate(band["answers"]):
            x = MARGIN + QUESTIONS + k * (width + GAP)
            parts.append(
                f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" '
                f'fill="{band["colour"]}" fill-opacity="0.08" stroke="{band["colour"]}"/>'
            )
            first = y + height / 2 - LINE * (len(answer) - 1) / 2 + 4
            for line, words in enumerate(answer):
                parts.append(text(x + width / 2, first + LINE * line, words, bold=line == 0))
        # Down the columns as far as an answer above leads to the one below: where the rows are is for all.
        if band is not bands[-1] and bands[bands.index(band) + 1]["colour"] != GREEN:
            for k in range(3):
                x = MARGIN + QUESTIONS + k * (width + GAP) + width / 2
                parts.append(
                    f'<path d="M {x:g} {y + height:g} v {GAP:g}" stroke="#777777" marker-end="url(#end)"/>'
                )
        y += height + GAP + 4
    size = f'width="{WIDTH}" height="{y:g}" viewBox="0 0 {WIDTH} {y:g}"'
    style = 'font-family="DejaVu Sans, Verdana, sans-serif" font-size="11.5" fill="#111111"'
    marker = '<marker id="end" refX="3" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {style}>',
        "<title>Which classifier for which data</title>",
        f"<desc>{escape(json.dumps(bands, ensure_ascii=False))}</desc>",
        f'<defs>{marker}<path d="M 0 0 L 6 3 L 0 6 z" fill="#777777"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{y:g}" fill="white"/>',
        *parts,
        "</svg>",
    ]
    path = FOLDER / "choosing.svg"
    path.write_text("\n".join(lines) + "\n")
    return path
