"""The order of the package's layers, who imports whom, and the picture of both.

``python docs/layers.py`` draws the picture anew; it needs nothing but the standard library.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "sparsebayes"
PICTURE = HERE / "layers.svg"

# Top to bottom; a module imports only from lines above its own, or from its own.
PARTS = {
    "what all share": ["_typing", "_checks", "io"],
    "the mathematics": ["kernels", "link", "design", "objective curvature", "map_solvers", "ard"],
    "the fit": ["checkpoint", "evidence posterior", "recipes"],
    "the model": ["basis", "multiclass", "frozen", "model_file", "export"],
    "what users meet": ["estimators", "display onnx_converters", "report", "cli", "__main__"],
}
LAYERS = [names.split() for lines in PARTS.values() for names in lines]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Names that a file imports from the package: layers, or public names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("sparsebayes") for alias in node.names)
        assert not (isinstance(node, ast.ImportFrom) and node.level), "imports are absolute here"
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sparsebayes"):
            parts = node.module.split(".")
            names = [alias.name for alias in node.names if alias.name != "__version__"]
            yield from [parts[1]] if len(parts) > 1 else names


def homes() -> dict[str, str]:
    """Layers of the public names."""
    nodes = ast.walk(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")))
    return {
        alias.name: node.module.split(".")[1]
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sparsebayes.")
        for alias in node.names
    }


def graph() -> dict[str, set[str]]:
    """The other layers that each one imports from, under public names too."""
    found: dict[str, set[str]] = {name: set() for name in RANK}
    home = homes()
    for path in PACKAGE.rglob("*.py"):
        layer = layer_of(path)
        if layer in found:
            found[layer] |= {home.get(name, name) for name in imports(path)} - {layer}
    return found


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without the imports that lead where others lead as well."""
    reach: dict[str, set[str]] = {}
    for name in sorted(graph, key=RANK.__getitem__):
        reach[name] = graph[name].union(*(reach[other] for other in graph[name]))
    return {
        name: {one for one in direct if not any(one in reach[other] for other in direct)}
        for name, direct in graph.items()
    }


# Of a phone; a wider page shows it larger. Every colour is read on white and on black, and white on it.
WIDTH, ROW, GAP, TITLE, BOX = 360, 24, 5, 26, 142
COLOURS = ["#6b7280", "#2f76b5", "#2b8549", "#b4552d", "#8a58b8"]
STYLE = """
  text { font: 13px system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
  .name { fill: #fff; font-family: ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; }
  .part { fill: #7b818c; font-size: 12px; }
  path { fill: none; stroke-width: 1.4; opacity: 0.85; }
""".strip("\n")


def picture() -> str:
    """The layers as boxes in their order, an arrow for each import that does not follow from others."""
    boxes, arrows, middle, colour_of = [], [], {}, {}
    y = 0
    for (part, lines), colour in zip(PARTS.items(), COLOURS, strict=True):
        boxes.append(f'<text class="part" x="1" y="{y + TITLE - 8}">{part}</text>')
        y += TITLE
        for line in lines:
            names = line.split()
            height = ROW * len(names)
            boxes.append(f'<rect x="0" y="{y}" width="{BOX}" height="{height}" rx="4" fill="{colour}"/>')
            for place, name in enumerate(names):
                middle[name], colour_of[name] = y + ROW * place + ROW // 2, colour
                boxes.append(f'<text class="name" x="9" y="{middle[name] + 4}">{name}</text>')
            y += height + GAP
    longest = y - TITLE - ROW
    for name, imported in reduced(graph()).items():
        for other in sorted(imported, key=middle.__getitem__):
            # Arrows end a little below the middle of a box and begin a little above it: they do not meet.
            start, end = middle[name] - 4, middle[other] + 4
            bulge = BOX + 18 + round(370 * ((start - end) / longest) ** 0.75)
            curve = f"M{BOX} {start}C{bulge} {start} {bulge} {end} {BOX + 6} {end}"
            head = f"M{BOX + 7} {end - 4}L{BOX + 1} {end}L{BOX + 7} {end + 4}"
            said = f"<title>{name} imports {other}</title>"
            arrows.append(f'<path stroke="{colour_of[name]}" d="{curve}{head}">{said}</path>')
    body = "\n".join([*arrows, *boxes])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 0 {WIDTH} {y}" role="img">\n'
        f"<title>The layers of sparsebayes</title>\n<style>\n{STYLE}\n</style>\n{body}\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
