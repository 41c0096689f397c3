"""Any text as HTML shows it literally, and numbers as people read them."""

from __future__ import annotations

import html
import math
import unicodedata

# Characters that reverse or isolate what stands around them would let a name rewrite its neighbours.
DIRECTIONS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}
LONGEST_NAME = 60


def visible(text: str, longest: int = LONGEST_NAME) -> str:
    """The text in one line, with a sign or an escape for each character that has no look of its own."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(map(_visible_character, short)) or "(empty)"


def _visible_character(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)  # the picture of a control character
    kind = unicodedata.category(char)
    if kind in ("Cc", "Cs", "Cn", "Zl", "Zp") or code in DIRECTIONS:
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return char


def escaped(text: str) -> str:
    """For HTML, in text and in attributes."""
    return html.escape(text, quote=True)


def count(n: int, thing: str, things: str | None = None) -> str:
    """``1 row``, ``2 rows``, ``12 345 rows``."""
    return f"{whole(n)} {thing if n == 1 else things or thing + 's'}"


def whole(n: int) -> str:
    """With narrow spaces between thousands, from five digits on."""
    return f"{n:,}".replace(",", "\u202f") if abs(n) >= 10_000 else str(n)


def number(value: float | None, digits: int = 4) -> str:
    """So many significant digits, a true minus, no exponent where it is not needed; a dash for none."""
    if value is None or not math.isfinite(value):
        return _not_finite(value)
    if value == 0.0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if -5 < exponent < 6:
        text = f"{value:.{max(digits - 1 - exponent, 0)}f}"
    else:
        text = f"{value:.{digits - 1}e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return text.replace("-", "−")


def _not_finite(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    return "∞" if value > 0.0 else "−∞"


def fixed(value: float | None, decimals: int = 4) -> str:
    """So many decimals, for numbers that are compared with each other."""
    if value is None or not math.isfinite(value):
        return _not_finite(value)
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0.0 else text.replace("-", "−")


def signed(value: float | None, digits: int = 3) -> str:
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0.0 else text


def percent(share: float | None, decimals: int = 1) -> str:
    return "–" if share is None or not math.isfinite(share) else f"{100.0 * share:.{decimals}f}%"


def listing(items: list[str], last: str = "or") -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"
