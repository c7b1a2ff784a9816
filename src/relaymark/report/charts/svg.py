"""Markup elements built with everything escaped, and the read-out data a chart carries for the hover script."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

import msgspec
from markupsafe import Markup, escape

Child = Markup | str


def el(name: str, *children: Child, **attributes: str | float | None) -> Markup:
    """One element. Attribute names: `_` stands for `-`, a trailing `_` is dropped (`class_`); None leaves it out.

    Children that are plain strings are escaped, attribute values always are.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_attribute(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(str(escape(child)) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>")  # noqa: S704 (every part was escaped above)


def group(children: Iterable[Markup], **attributes: str | float | None) -> Markup:
    """The elements in a `<g>`."""
    return el("g", *children, **attributes)


def pct(share: float) -> str:
    """0…1 as an SVG percentage."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def short(value: float) -> str:
    """A coordinate with one decimal at most."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def _attribute(value: str | float | None) -> str:
    return short(value) if isinstance(value, float) else str(value)


class ReadSeries(TypedDict):
    """One line of the read-out: name, colour class, and what to show at each x."""

    n: str
    c: str
    v: list[str]


class Read(TypedDict):
    """Values for a crosshair: `x` 0…1 ascending, `t` its wording, and the series."""

    x: list[float]
    t: list[str]
    s: list[ReadSeries]


def read_data(read: Read) -> str:
    """The read-out as JSON for a data attribute (which escapes it)."""
    return msgspec.json.encode(read).decode()
