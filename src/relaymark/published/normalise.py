"""A record as published becomes a row: names normalised, raw text kept, whatever is odd flagged."""

from __future__ import annotations

import math
import re

from relaymark.published.accelerators import parts_of
from relaymark.published.accuracy import BARE, quality, read_accuracy
from relaymark.published.errata import Erratum, erratum_of
from relaymark.published.names import POWER_UNITS, benchmark_name, precision_of, scenario_name, unit_of
from relaymark.published.row import Part, Row

FLAGS: dict[str, str] = {
    "ragged": "the record has more or fewer cells than the heading",
    "result-unreadable": "the result is no positive number: the row takes part in no comparison",
    "units-unknown": "the units are none that are known",
    "benchmark-unknown": "the benchmark is none that is known: its name stays as it is",
    "scenario-unknown": "the scenario is none that is known",
    "scenario-spelling": "the scenario is spelt otherwise than LoadGen does",
    "benchmark-spelling": "the benchmark or model is spelt otherwise than in other rows of its round",
    "model-other": "what ran is another model than the benchmark's",
    "model-untold": "open division: what ran may be another model, and the table does not say",
    "accuracy-absent": "no accuracy is published",
    "accuracy-bare": "the accuracy is a number without a metric's name",
    "accelerator-count-absent": "an accelerator is named, but not how many",
    "accelerators-differ": "nodes times accelerators per node is not the total",
    "accelerator-mix-untold": "a mixed system of which the table does not say how many of each",
    "no-accelerator": "no accelerator: a result of the processors alone",
    "accelerators-unused": "a note says that fewer accelerators were used than are listed",
    "precision-unread": "the precision label names no number format that is known",
    "power-row": "a power measurement, not a performance result",
    "inferred": "marked as inferred: its log names another scenario than the row does",
    "quotes-unescaped": "the record's quotation marks are not escaped; it was read by its separators",
    "duplicate": "another row of the file has the same submitter, platform, benchmark, model, scenario and division",
}

_NOTHING = frozenset({"", "n/a", "na", "none", "-", "null"})
_MOST = 10**8  # of accelerators or nodes; what is above is no count
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?")
# ``(1 GPU used)`` and ``no accelerator used``; "8 GPUs used in each replica" says nothing of the whole.
_USED = re.compile(r"\(\s*([0-9]{1,5})\s+(?:gpu|accelerator|npu|tpu)s?\s+used\s*\)", re.IGNORECASE)
_LABEL = re.compile(r"(?<![\w.-])([A-Za-z0-9][\w.-]{2,40}):")
_NONE_USED = re.compile(r"\bno (?:gpu|accelerator)s?(?: (?:is|are|was|were))? used\b", re.IGNORECASE)


def normalise(round_name: str, record: int, fields: dict[str, str], extra: dict[str, str]) -> Row:
    """One record's text by field (those of :mod:`relaymark.published.reading`) as a row. Never raises."""
    flags: list[str] = [fields["odd"]] if fields.get("odd") else []
    get = fields.get
    benchmark, model = _benchmark(get("benchmark", ""), get("model", ""))
    known = erratum_of(round_name, get("organization", ""), get("platform", ""), benchmark)
    model = known.model if known and known.model else model
    _flag_names(get("model", ""), benchmark, model, get("division", ""), flags)
    scenario = _scenario(get("scenario", ""), flags)
    value, unit = _value(get("result", ""), get("units", ""), flags)
    accuracy = _accuracy(get("accuracy", ""), flags)
    inferred = _true(get("inferred", ""))
    if inferred:
        flags.append("inferred")
    nodes = _count(get("nodes", ""))
    accelerator_raw, processor = _named(get("accelerator", "")), _named(get("processor", ""))
    count = _accelerators(accelerator_raw, nodes, _count(get("per_node", "")), _count(get("total", "")), flags)
    parts = parts_of(accelerator_raw, count, get("platform", "")) if accelerator_raw and count != 0 else []
    if len(parts) > 1 and any(part.count is None for part in parts):
        flags.append("accelerator-mix-untold")
    precision = precision_of(get("weights", ""))
    if _named(get("weights", "")) and not precision:
        flags.append("precision-unread")
    used = _used(known, get("notes", ""), benchmark, count, flags)
    return Row(
        id=f"{round_name}:{record}",
        round=round_name,
        record=record,
        organization=get("organization", ""),
        availability=get("availability", "").lower(),
        division=get("division", "").lower(),
        category=get("category", "").lower(),
        system=get("system", ""),
        platform=get("platform", ""),
        benchmark=benchmark,
        benchmark_raw=get("benchmark", ""),
        model=model,
        model_raw=get("model", ""),
        scenario=scenario,
        scenario_raw=get("scenario", ""),
        value=value,
        unit=unit,
        result_raw=get("result", ""),
        units_raw=get("units", ""),
        accuracy=accuracy,
        accuracy_raw=get("accuracy", ""),
        nodes=nodes,
        accelerator=_shown(parts) or processor or accelerator_raw,
        accelerator_raw=accelerator_raw,
        parts=parts,
        accelerators=count,
        accelerators_used=used,
        processor=processor or (accelerator_raw if count == 0 else ""),
        framework=get("framework", ""),
        precision=precision,
        precision_raw=get("weights", ""),
        operating_system=get("operating_system", ""),
        notes=get("notes", ""),
        location=get("location", ""),
        inferred=inferred,
        has_power=_true(get("has_power", "")),
        power=_power(fields),
        power_units=_named(get("power_units", "")),
        flags=flags,
        extra=extra,
    )


def _benchmark(official: str, ran: str) -> tuple[str, str]:
    """(benchmark, model that ran). The round's own name decides; the submitter's where that one is none we know."""
    benchmark = benchmark_name(official) or benchmark_name(ran) or official or ran
    return benchmark, benchmark_name(ran) or ran or benchmark


def _flag_names(ran: str, benchmark: str, model: str, division: str, flags: list[str]) -> None:
    if benchmark_name(benchmark) is None:
        flags.append("benchmark-unknown")
    if model != benchmark:
        flags.append("model-other")
    elif division.lower() == "open":
        flags.append("model-untold")
    if ran and model == benchmark and ran != benchmark:
        flags.append("benchmark-spelling")


def _scenario(text: str, flags: list[str]) -> str:
    name = scenario_name(text)
    if name is None:
        flags.append("scenario-unknown")
        return text
    if name != text:
        flags.append("scenario-spelling")
    return name


def _value(result: str, units: str, flags: list[str]) -> tuple[float | None, str]:
    if units.lower() in POWER_UNITS:
        flags.append("power-row")
        return None, units.lower()
    unit = unit_of(units)
    number = _number(result)
    if number is None or number <= 0:
        flags.append("result-unreadable")
        number = None
    if unit is None:
        flags.append("units-unknown")
        return number, units
    # A factor of 1 leaves the very digits that were published.
    return (None if number is None else number if unit[1] == 1 else number * unit[1]), unit[0]


def _accuracy(text: str, flags: list[str]) -> dict[str, float]:
    accuracy = read_accuracy(text)
    told = quality(accuracy)
    if not told:
        flags.append("accuracy-absent")
    elif BARE in told:
        flags.append("accuracy-bare")
    return accuracy


def _accelerators(
    name: str, nodes: int | None, per_node: int | None, total: int | None, flags: list[str]
) -> int | None:
    product = None if nodes is None or per_node is None else nodes * per_node
    if not name or total == 0:
        flags.append("no-accelerator")
        return 0
    if total is not None and product is not None and total != product:
        flags.append("accelerators-differ")
    count = product if total is None else total
    if not count:
        flags.append("accelerator-count-absent")
        return None
    return count


def _used(known: Erratum | None, notes: str, benchmark: str, count: int | None, flags: list[str]) -> int | None:
    """How many accelerators worked, where the row's notes or the errata tell another number than is listed."""
    used = None if known is None else known.accelerators_used
    for found in (*_NONE_USED.finditer(notes), *_USED.finditer(notes)):
        if _speaks_of(benchmark, notes[: found.start()]):
            used = int(found[1]) if found.re is _USED else 0
    if used is None or not count or used >= count:
        return None
    flags.append("accelerators-unused")
    return used


def _speaks_of(benchmark: str, before: str) -> bool:
    """Whether what follows in a note is said of a benchmark.

    Notes belong to a system and stand on all of its rows. Those that name benchmarks do so as in
    ``e2e-rag-qna: …. e2e-rag-db: …``: the last name before the words is the one they are about.
    """
    labels = [name for text in _LABEL.findall(before) if (name := benchmark_name(text)) is not None]
    return not labels or labels[-1] == benchmark


def _shown(parts: list[Part]) -> str:
    return " + ".join(part.family for part in parts)


def _power(fields: dict[str, str]) -> float | None:
    if fields.get("units", "").lower() in POWER_UNITS:
        return _number(fields.get("result", ""))
    return _number(fields.get("power", ""))


def _named(text: str) -> str:
    return "" if text.lower() in _NOTHING else text


def _true(text: str) -> bool:
    return text.lower() in ("1", "true", "yes")


def _count(text: str) -> int | None:
    number = _number(text)
    whole = number is not None and number == int(number)
    return int(number) if number is not None and whole and 0 <= number <= _MOST else None


def _number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None
