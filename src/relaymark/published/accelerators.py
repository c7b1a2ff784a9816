"""Accelerators: which family a published name belongs to, and what a mixed system is made of.

A family is the chip: memory sizes, vendor prefixes and "Server Edition" are left out, SXM and NVL boards
are told apart. The published text always stays beside it, and comparisons name it where it differs.
"""

from __future__ import annotations

import re

from relaymark.published.row import Part

# (pattern, family): NVIDIA calls the same preview system "Vera Rubin" (its own rows) and "VR200" (Nebius's).
_FAMILIES: tuple[tuple[str, str], ...] = (
    (r"vera ?rubin|vr200", "VR200"),
    (r"gb300", "GB300"),
    (r"gb200", "GB200"),
    (r"gh200", "GH200"),
    (r"gb10\b", "GB10"),
    (r"b300", "B300"),
    (r"b200", "B200"),
    (r"h200[- ]nvl", "H200-NVL"),
    (r"h200", "H200-SXM"),
    (r"h100[- ]nvl", "H100-NVL"),
    (r"h100[- ]pcie", "H100-PCIe"),
    (r"h100", "H100-SXM"),
    (r"l40s", "L40S"),
    (r"\bl4\b|\bl4-", "L4"),
    (r"rtx[- ]pro[- ]?(\d{4})", "RTX PRO {0}"),
    (r"rtx[- ]?(\d{4}e?)[- ]ada", "RTX {0} Ada"),
    (r"rtx ?(\d{4})", "RTX {0}"),
    (r"jetson agx thor|jetson[- ]thor", "Jetson AGX Thor"),
    (r"jetson agx orin", "Jetson AGX Orin"),
    (r"mi(\d{3}[a-z]?)\b", "MI{0}"),
    (r"radeon ?([\w]+)", "Radeon {0}"),
    (r"arc(?:\(tm\))?(?: pro)? ?([ab]\d{2,3})", "Arc {0}"),
    (r"arc(?:\(tm\))? ?(\w+) gpu", "Arc {0}"),
    (r"tpu[- ]?v?(\w+)", "TPU v{0}"),
    (r"gaudi ?(\d)", "Gaudi {0}"),
)
_COMPILED = tuple((re.compile(pattern), family) for pattern, family in _FAMILIES)
_SEPARATOR = re.compile(r"\s*(?:\+|,|;|\band\b)\s*", re.IGNORECASE)
_TIMES = re.compile(r"\(\s*x\s*([0-9]{1,6}(?:\s*x\s*[0-9]{1,6})?)\s*\)", re.IGNORECASE)


def family_of(name: str) -> str | None:
    """The family of one accelerator's name; ``None`` where the name is none that is known."""
    text = " ".join(name.lower().split())
    for pattern, family in _COMPILED:
        found = pattern.search(text)
        if found:
            return family.format(*(group.upper() for group in found.groups()))
    return None


def parts_of(text: str, total: int | None, platform: str = "") -> list[Part]:
    """What a system's accelerators are, from the published name.

    ``H200 + MI350X`` is two parts. Counts come from the name (``MI300X (x2x8)`` is 16), else from the platform's
    (``…_H200x8_MI350Xx8_…``), and a single part has all of them; a count that nothing tells is ``None``.
    """
    pieces = [piece for piece in _SEPARATOR.split(text) if piece.strip()]
    families = [family_of(piece) for piece in pieces]
    if len(pieces) < 2 or any(family is None for family in families):
        name = family_of(text) or " ".join(text.split())
        return [Part(name, total)] if name else []
    parts = [Part(family, _times(piece)) for piece, family in zip(pieces, families, strict=True) if family]
    if any(part.count is None for part in parts):
        parts = [Part(part.family, _in_platform(part.family, platform)) for part in parts]
    told = [part.count for part in parts if part.count is not None]
    # counts that do not add up to the total tell nothing
    if len(told) != len(parts) or (total is not None and sum(told) != total):
        parts = [Part(part.family) for part in parts]
    return parts


def _times(piece: str) -> int | None:
    found = _TIMES.search(piece)
    if not found:
        return None
    count = 1
    for factor in re.split(r"\s*x\s*", found[1].lower()):
        count *= int(factor)
    return count


def _in_platform(family: str, platform: str) -> int | None:
    chip = re.escape(family.partition("-")[0].replace(" ", ""))
    found = re.findall(rf"{chip}[-\w]*?x([0-9]{{1,4}})(?![0-9a-z])", platform.replace(" ", ""), re.IGNORECASE)
    return int(found[0]) if len(found) == 1 else None
