"""Accuracy results: where they must be, and whether the answers are good enough (§4.3, §5.3, §6.6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from relaymark.rules.bundle import Document
from relaymark.rules.curve import ELECTED, Curve, PointFacts
from relaymark.rules.fields import whole_number
from relaymark.rules.findings import Findings
from relaymark.rules.limits import Model
from relaymark.rules.regions import BANDS, assign_bands

SWE_BENCH = "swe_bench"
_PERFORMANCE = "performance"
_BOOKKEEPING = (
    "dataset_name",
    "num_samples",
    "status",
    "extractor",
    "ground_truth_column",
    "n_repeats",
    "complete",
    "unit_samples",
    "total_samples",
    "num_repeats",
    "duration_s",
    "dataset_type",
    "response_counts",
)


@dataclass(slots=True)
class Accuracy:
    """A point's accuracy file: data set → its entry, with both spellings of the counts brought together."""

    document: Document
    entries: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    @property
    def inline(self) -> str | None:
        """The entry that was scored on the performance run itself."""
        for name, entry in self.entries.items():
            if entry.get("dataset_type") == _PERFORMANCE:
                return name
        older = self.entries.get(_PERFORMANCE)
        return _PERFORMANCE if older is not None and "dataset_type" not in older else None

    @property
    def datasets(self) -> list[str]:
        """The accuracy runs: every entry but the inline one."""
        return [name for name in self.entries if name != self.inline]

    def scores(self, name: str) -> dict[str, float]:
        """Metric (as written) → score; an unnamed score is called ``score``."""
        entry = self.entries[name]
        raw = entry.get("score")
        if isinstance(raw, dict):
            found = cast(dict[str, Any], raw)
        elif raw is not None:
            found = {"score": raw}
        else:
            found = {key: value for key, value in entry.items() if key not in _BOOKKEEPING}
        numbers = {key: _number(value) for key, value in found.items()}
        return {key: value for key, value in numbers.items() if value is not None}


def read_accuracy(curve: Curve, findings: Findings) -> dict[int, Accuracy]:
    """The readable accuracy files of a curve by concurrency."""
    found: dict[int, Accuracy] = {}
    for point in curve.points:
        document = point.folder.accuracy
        if not document.present:
            document = point.folder.older_accuracy
            inside = (document.mapping or {}).get("accuracy_scores")
            if not isinstance(inside, dict | list) or not inside:
                continue
        accuracy = Accuracy(document)
        wrong = _read_entries(accuracy)
        if wrong:
            findings.error("accuracy-valid", document.place, wrong)
        else:
            found[point.concurrency] = accuracy
    return found


def check_accuracy_coverage(curve: Curve, accuracy: dict[int, Accuracy], findings: Findings) -> None:
    """Exactly one accuracy result in each mandatory region, and one at the Offline point; none elsewhere."""
    if curve.regions is None or not curve.points:
        return
    place = curve.folder.place
    options, elected = band_options(curve, accuracy)
    owner = assign_bands(options)
    missing = [band for band in BANDS if band not in owner]
    if missing:
        findings.error("accuracy-coverage", place, f"No accuracy result for {', '.join(missing)}.")
    extra = [c for c in options if c not in owner.values() and c not in elected]
    if extra:
        listed = ", ".join(f"r{c}" for c in extra)
        mend = "Take the results of the other points out: one a region is the rule, not the least."
        findings.error("accuracy-coverage", place, f"More accuracy results than are asked for: {listed}.", mend)
    for point in curve.usable:
        if point.offline in ("dedicated", ELECTED) and not _ran(accuracy, point.concurrency):
            says = f"The Offline point r{point.concurrency} has no accuracy result."
            findings.error("accuracy-coverage", point.folder.place, says)


def check_single_turn(curve: Curve, accuracy: dict[int, Accuracy], findings: Findings) -> None:
    """Every accuracy result of a single-turn curve has enough samples and passes its gates."""
    model = curve.model
    if not accuracy:
        return
    if model is None or not model.accuracy:
        if not curve.agentic or model is None:
            says = f"No targets are published for {curve.folder.model}."
            findings.warning("accuracy-gate", curve.folder.place, says)
        return
    for result in accuracy.values():
        _check_count(result, model, findings)
        _check_gates(result, model, findings)


def band_options(curve: Curve, accuracy: dict[int, Accuracy]) -> tuple[dict[int, list[str]], set[int]]:
    """Concurrency → the regions its result could stand for (elected points last), and the elected ones."""
    kinds = {point.concurrency: point.offline for point in curve.usable}
    ran = sorted(c for c in accuracy if _ran(accuracy, c) and kinds.get(c) != "dedicated")
    elected = {c for c in ran if kinds.get(c) == ELECTED}
    regions = curve.regions
    ordered = sorted(ran, key=lambda c: c in elected)
    return ({c: regions.bands(c) for c in ordered} if regions is not None else {}), elected


def gated(accuracy: Accuracy, model: Model) -> tuple[dict[str, float], bool]:
    """Metric of the model → its sample-weighted mean over the data sets, and whether the metric was unnamed."""
    sums: dict[str, list[tuple[float, float | None]]] = {}
    for name in accuracy.entries:
        weight = _number(accuracy.entries[name].get("num_samples"))
        for metric, value in accuracy.scores(name).items():
            sums.setdefault(metric.lower(), []).append((value, weight))
    means = {metric: _weighted(pairs) for metric, pairs in sums.items()}
    unnamed = list(means) == ["score"] and len(model.accuracy) == 1
    if unnamed:
        means = {next(iter(model.accuracy)): means["score"]}
    return {metric: means[metric] for metric in model.accuracy if metric in means}, unnamed


def samples_of(accuracy: Accuracy) -> int | None:
    """Samples times repeats over all data sets; ``None`` where no entry says."""
    counts: list[int] = []
    for entry in accuracy.entries.values():
        samples = _count(entry.get("num_samples"))
        if samples is not None:
            counts.append(samples * max(_count(entry.get("n_repeats")) or 1, 1))
    return sum(counts) if counts else None


def _check_count(accuracy: Accuracy, model: Model, findings: Findings) -> None:
    samples, least = samples_of(accuracy), model.accuracy_samples or 0
    if samples is not None and samples < least:
        says = f"{samples:,} samples were scored of the {least:,} that {model.name} has."
        findings.error("accuracy-sample-count", accuracy.document.place, says)


def _check_gates(accuracy: Accuracy, model: Model, findings: Findings) -> None:
    scores, unnamed = gated(accuracy, model)
    place = accuracy.document.place
    if unnamed:
        says = f"The score is unnamed; it is taken for {next(iter(model.accuracy))}."
        findings.warning("accuracy-gate", place, says)
    for metric, score in scores.items():
        low, high = model.accuracy[metric]
        # Client scorers differ in unit: a fraction is taken as one where the target is a percentage.
        value = score * 100 if 0 <= score <= 1 and (low or 0) > 1 else score
        if low is not None and value < low:
            findings.error("accuracy-gate", place, f"{metric} is {value:,.4f}; {low:,.4f} is asked for.")
        elif high is not None and value > high:
            findings.error("accuracy-gate", place, f"{metric} is {value:,.4f}; {high:,.4f} is the most.")


def _ran(accuracy: dict[int, Accuracy], concurrency: int) -> bool:
    return concurrency in accuracy and bool(accuracy[concurrency].datasets)


def _read_entries(accuracy: Accuracy) -> str:
    """Fills in the entries; returns what is wrong with the file, or nothing."""
    data = accuracy.document.data
    if accuracy.document.problem:
        return f"{accuracy.document.path.name} {accuracy.document.problem}."
    if isinstance(data, dict) and "accuracy_scores" in data:
        data = cast(dict[str, Any], data)["accuracy_scores"]
    rows: list[tuple[str | None, Any]]
    if isinstance(data, list):
        entries = cast(list[Any], data)
        rows = [(entry.get("dataset_name") if isinstance(entry, dict) else None, entry) for entry in entries]
    elif isinstance(data, dict):
        rows = list(cast(dict[str, Any], data).items())
    else:
        return "accuracy_scores is neither a list nor a mapping."
    for name, entry in rows:
        wrong = _read_entry(accuracy, name, entry, listed=isinstance(data, list))
        if wrong:
            return wrong
    if not accuracy.entries:
        return "There is no entry."
    typed = [name for name, entry in accuracy.entries.items() if entry.get("dataset_type") == _PERFORMANCE]
    return f"Two entries are of type performance: {', '.join(typed)}." if len(typed) > 1 else ""


def _read_entry(accuracy: Accuracy, name: Any, entry: Any, *, listed: bool) -> str:
    if not isinstance(entry, dict):
        return f"Entry {name!r} is not a mapping."
    row = dict(cast(dict[str, Any], entry))
    if listed:
        if not isinstance(name, str) or not name.strip():
            return "An entry has no dataset_name."
        if name in accuracy.entries:
            return f"{name} is there twice."
        if "score" not in row:
            return f"{name} has no score."
        for native, usual in (("unit_samples", "num_samples"), ("num_repeats", "n_repeats")):
            if native in row:
                if usual in row and row[usual] != row[native]:
                    return f"{name}: {native} and {usual} differ."
                row[usual] = row[native]
    accuracy.entries[str(name)] = row
    return ""


def _weighted(pairs: list[tuple[float, float | None]]) -> float:
    weights = [weight for _, weight in pairs if weight is not None]
    if len(weights) == len(pairs) and sum(weights) > 0:
        return sum(value * (weight or 0) for value, weight in pairs) / sum(weights)
    return sum(value for value, _ in pairs) / len(pairs)


def _number(value: Any) -> float | None:
    """A score may be a number or a text that reads as one."""
    try:
        return None if value is None or isinstance(value, dict | list) else float(value)
    except (ValueError, OverflowError):
        return None


def _count(value: Any) -> int | None:
    number = whole_number(value)
    if number is None and isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        return int(value) if len(value) < 20 else None
    return number


def inline_score(accuracy: Accuracy) -> float | None:
    """The first score of the inline entry."""
    name = accuracy.inline
    return first_score(accuracy, name) if name is not None else None


def first_score(accuracy: Accuracy, name: str) -> float | None:
    """An entry's ``score``, else its first named score; ``None`` where it has none or there is no such entry."""
    if name not in accuracy.entries:
        return None
    scores = accuracy.scores(name)
    return scores.get("score", next(iter(scores.values()), None))


def points_of(curve: Curve) -> list[PointFacts]:
    """The usable points by concurrency."""
    return sorted(curve.usable, key=lambda point: point.concurrency)
