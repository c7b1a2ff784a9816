"""What is not equal between two rows, and whether a ratio of them means anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from relaymark.published.accuracy import TOKENS_PER_SAMPLE, form_of, quality
from relaymark.published.row import Row

UNTOLD = "not told"
_ACCURACY = 0.001  # relative; what is nearer counts as equal
_TOKENS = 0.02


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two rows do not share. ``refuses``: no ratio is given because of it, unless asked for."""

    what: str
    a: str
    b: str
    refuses: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.a} / {self.b}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rows side by side. ``ratio``: how many times as good ``b`` is as ``a``; ``None`` where it was refused."""

    a: Row
    b: Row
    per: str
    ratio: float | None
    differences: list[Difference]
    refused: list[str]  # why there is no ratio, or why there should be none


def compare(a: Row, b: Row, per: str = "system", *, anyway: bool = False) -> Comparison:
    """Sets ``b`` against ``a``: rates by ``b/a``, latencies by ``a/b``, so that above 1 ``b`` is the better.

    Args:
        a: The base.
        b: What is held against it.
        per: ``system``, ``accelerator`` or ``node``.
        anyway: Give the ratio although scenario, model or division differ. Never across different units.
    """
    differences = unequal(a, b)
    refused = [f"the {each.what} differs: {each.a} / {each.b}" for each in differences if each.refuses]
    first, second = a.per(per), b.per(per)
    impossible = a.unit != b.unit
    for row, figure in ((a, first), (b, second)):
        if figure is None:
            refused.append(f"{row.id} has no figure per {per}: {_why_no_figure(row, per)}")
            impossible = True
    ratio = None
    if first is not None and second is not None and not impossible and (anyway or not refused):
        ratio = second / first if a.higher_is_better else first / second
    return Comparison(a, b, per, ratio, differences, refused)


def unequal(a: Row, b: Row) -> list[Difference]:
    """Everything that two rows do not share; first what forbids a ratio."""
    found = [
        _differ("benchmark", a.benchmark, b.benchmark, refuses=True),
        _model(a, b),
        _differ("scenario", a.scenario, b.scenario, refuses=True),
        _differ("division", a.division, b.division, refuses=True),
        _differ("unit", a.unit, b.unit, refuses=True),
        _differ("category", a.category, b.category),
        _differ("scale", _scale(a), _scale(b)),
        _differ("accelerator", a.accelerator, b.accelerator),
        _label(a, b),
        _differ("availability", a.availability, b.availability),
        _differ("precision", a.precision or a.precision_raw, b.precision or b.precision_raw),
        _accuracy(a, b),
        _tokens(a, b),
        _differ("date", a.round, b.round),
        _differ("submitter", a.organization, b.organization),
        _differ("framework", a.framework, b.framework),
        _processor(a, b),
        _differ("measured", _measured(a), _measured(b)),
    ]
    return [each for each in found if each is not None]


def spread_of(rows: Iterable[Row]) -> list[tuple[str, list[str]]]:
    """(what, its values) of each thing that is not the same in all rows: the remark beneath a table."""
    readers: tuple[tuple[str, Callable[[Row], str]], ...] = (
        ("division", lambda row: row.division),
        ("scale", _scale),
        ("accelerator", lambda row: row.accelerator),
        ("availability", lambda row: row.availability),
        ("precision", lambda row: row.precision or row.precision_raw),
        ("accuracy", lambda row: form_of(row.accuracy)),
        ("date", lambda row: row.round),
        ("framework", lambda row: row.framework),
    )
    shown = list(rows)
    spreads = [(what, list(dict.fromkeys(read(row) or UNTOLD for row in shown))) for what, read in readers]
    return [(what, values) for what, values in spreads if len(values) > 1]


def _differ(what: str, a: str, b: str, *, refuses: bool = False) -> Difference | None:
    return None if a == b else Difference(what, a or UNTOLD, b or UNTOLD, refuses)


def _model(a: Row, b: Row) -> Difference | None:
    if a.benchmark == b.benchmark and a.model != b.model:
        return Difference("model", a.model, b.model, refuses=True)
    if a.division == b.division == "open" and "model-untold" in (*a.flags, *b.flags):
        return Difference("model", _told_model(a), _told_model(b))
    return None


def _told_model(row: Row) -> str:
    return f"{row.model}, or another (open division)" if "model-untold" in row.flags else row.model


def _scale(row: Row) -> str:
    nodes = "" if row.nodes is None else f" in {row.nodes} node{'' if row.nodes == 1 else 's'}"
    if row.accelerators == 0:
        return f"no accelerator{nodes}"
    if row.accelerators is None:
        return UNTOLD
    unused = "" if row.accelerators_used is None else f", {row.accelerators_used} used"
    return f"{row.accelerators} accelerator{'' if row.accelerators == 1 else 's'}{unused}{nodes}"


def _label(a: Row, b: Row) -> Difference | None:
    same = a.accelerator == b.accelerator
    folded = [" ".join(row.accelerator_raw.lower().split()) for row in (a, b)]
    if not same or folded[0] == folded[1]:
        return None
    return Difference("accelerator's label", a.accelerator_raw, b.accelerator_raw)


def _accuracy(a: Row, b: Row) -> Difference | None:
    if a.benchmark != b.benchmark:
        return None
    forms = form_of(a.accuracy), form_of(b.accuracy)
    if forms[0] != forms[1]:
        return Difference("accuracy", f"{a.accuracy_raw} ({forms[0]})", f"{b.accuracy_raw} ({forms[1]})")
    first, second = quality(a.accuracy), quality(b.accuracy)
    apart = [name for name in first if not near(first[name], second[name], _ACCURACY)]
    if not apart:
        return None
    return Difference("accuracy", _told(first, apart), _told(second, apart))


def _tokens(a: Row, b: Row) -> Difference | None:
    first, second = a.accuracy.get(TOKENS_PER_SAMPLE), b.accuracy.get(TOKENS_PER_SAMPLE)
    if a.benchmark != b.benchmark or first is None or second is None or near(first, second, _TOKENS):
        return None
    return Difference("tokens a sample", f"{first:.1f}", f"{second:.1f}")


def _processor(a: Row, b: Row) -> Difference | None:
    # Our own table leaves processors out: that is no difference between systems.
    return _differ("processor", a.processor, b.processor) if a.processor and b.processor else None


def _measured(row: Row) -> str:
    return "marked as inferred" if row.inferred else "in this scenario"


def _told(values: dict[str, float], names: list[str]) -> str:
    return ", ".join(f"{name} {values[name]:.6g}" for name in names)


def near(a: float, b: float, tolerance: float) -> bool:
    """Whether two values differ by no more than a share of the larger."""
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def _why_no_figure(row: Row, per: str) -> str:
    if row.value is None:
        return "its result is no positive number"
    if not row.higher_is_better:
        return "a latency is not divided"
    if per == "node":
        return "the table does not tell the nodes"
    if row.accelerators_used == 0:
        return f"it lists {row.accelerators} accelerators and used none"
    return "it has no accelerator" if row.accelerators == 0 else "the table does not tell how many accelerators"
