"""Findings about figures that stand in more than one row, or on more than one scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relaymark.published.accuracy import form_of
from relaymark.published.anomalies.finding import Finding, name_of, shown
from relaymark.published.errata import erratum_of
from relaymark.published.row import Row

_DIGITS = 4
"""Fewest significant digits at which two equal results are no coincidence worth nothing."""


def repeated_results(rows: Sequence[Row]) -> Iterator[Finding]:
    """The same digits in several rows of a round and unit; one finding for each set of systems that share results.

    Within one system it is one run that counts for several benchmarks (allowed where one is the stricter of the other);
    across systems it is a copy or a coincidence.
    """
    groups: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        if row.value is not None and significant_digits(row.result_raw) >= _DIGITS:
            groups.setdefault((row.round, row.unit, row.value), []).append(row)
    shared: dict[tuple[str, ...], list[list[Row]]] = {}
    for group in groups.values():
        if len(group) > 1:
            systems = sorted({f"{row.organization} {row.platform}" for row in group})
            shared.setdefault((group[0].round, *systems), []).append(group)
    for (_, *systems), found in shared.items():
        count = len(found)
        results = "1 result stands" if count == 1 else f"{count} results stand"
        if len(systems) == 1:
            names = " and ".join(sorted({row.benchmark for group in found for row in group}))
            says = f"{systems[0]}: {results} in several rows ({names})"
        else:
            says = f"{results} in rows of {len(systems)} systems: {', '.join(systems)}"
        examples = "; ".join(
            f"{group[0].result_raw} {group[0].units_raw} ({', '.join(row.id for row in group)})" for group in found[:3]
        )
        more = f"; and {count - 3} more" if count > 3 else ""
        # Across systems comes first, then how many.
        size = 1e6 * (len(systems) > 1) + count
        yield Finding("repeated-result", says, [row for group in found for row in group], examples + more, size)


def repeated_accuracies(rows: Sequence[Row]) -> Iterator[Finding]:
    """One accuracy, to the last digit, in several scenarios of a system's benchmark: it was run once, it seems."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.accuracy:
            key = (row.round, row.organization, row.platform, row.division, row.benchmark, row.model, row.accuracy_raw)
            groups.setdefault(key, []).append(row)
    systems: dict[tuple[str, ...], list[list[Row]]] = {}
    for key, group in groups.items():
        if len({row.scenario for row in group}) > 1:
            systems.setdefault(key[:3], []).append(group)
    for found in systems.values():
        benchmarks = sorted({group[0].benchmark for group in found})
        scenarios = sorted({row.scenario for group in found for row in group})
        says = f"{name_of(found[0][0])}: one accuracy for {' and '.join(scenarios)} of {', '.join(benchmarks)}"
        examples = "; ".join(f"{each[0].accuracy_raw} ({', '.join(row.id for row in each)})" for each in found[:2])
        more = f"; and {len(found) - 2} more" if len(found) > 2 else ""
        every = [row for group in found for row in group]
        yield Finding("repeated-accuracy", says, every, examples + more, len(found))


def accuracy_scales(rows: Sequence[Row]) -> Iterator[Finding]:
    """Benchmarks whose accuracies are written in more than one form within a round: named and bare, share, percent."""
    groups: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        if row.accuracy:
            groups.setdefault((row.round, row.benchmark), {}).setdefault(form_of(row.accuracy), []).append(row)
    for (round_name, benchmark), forms in groups.items():
        if len(forms) < 2:
            continue
        ordered = sorted(forms.items(), key=lambda each: -len(each[1]))
        told = "; ".join(f"{form}: {len(found)} row{'s' * (len(found) > 1)}" for form, found in ordered)
        says = f"{benchmark} in {round_name} has its accuracy in {len(forms)} forms"
        examples = "; ".join(f"{found[0].accuracy_raw} ({found[0].id})" for _, found in ordered)
        # The rows of the rarer forms are those a reader has to look out for.
        rarer = [row for _, found in ordered[1:] for row in found]
        yield Finding("accuracy-scales", says, [ordered[0][1][0], *rarer], f"{told}. E.g. {examples}", len(rarer))


def idle_accelerators(rows: Sequence[Row]) -> Iterator[Finding]:
    """Rows that list accelerators of which a note says that they were not, or not all, used."""
    for row in rows:
        if row.accelerators_used is None or not row.accelerators:
            continue
        known = erratum_of(row.round, row.organization, row.platform, row.benchmark)
        source = f"notes: {row.notes[:200]}" if row.notes else known.source if known else ""
        used = "none" if row.accelerators_used == 0 else f"{row.accelerators_used}"
        says = f"{name_of(row)}, {row.benchmark}: lists {row.accelerators} accelerators and used {used}"
        divisor = "nothing" if row.accelerators_used == 0 else f"{row.accelerators_used}"
        arithmetic = (
            f"{shown(row.value)} {row.unit} must be divided by {divisor}, not by {row.accelerators}. Source: {source}"
        )
        yield Finding("idle-accelerators", says, [row], arithmetic, row.accelerators - row.accelerators_used)


def server_above_offline(rows: Sequence[Row]) -> Iterator[Finding]:
    """Server or Interactive above Offline, though only the former bound latency."""
    offline: dict[tuple[str, ...], Row] = {}
    for row in rows:
        if row.scenario == "Offline" and row.value is not None and row.higher_is_better:
            offline.setdefault(_system(row), row)
    for row in rows:
        base = offline.get(_system(row))
        if row.scenario not in ("Server", "Interactive") or base is None or row.value is None or base.value is None:
            continue
        # In units of its own a scenario cannot be compared with Offline; samples and queries are one thing here.
        rates = {"samples/s", "queries/s"}
        comparable = row.unit == base.unit or {row.unit, base.unit} <= rates
        if comparable and row.value > 1.01 * base.value:
            share = row.value / base.value
            says = f"{name_of(row)}, {row.benchmark}: {row.scenario} is {100 * share:.1f} % of Offline"
            arithmetic = f"{shown(row.value)} {row.unit} / {shown(base.value)} {base.unit} = {share:.3f}"
            yield Finding("server-above-offline", says, [row, base], arithmetic, share)


def significant_digits(text: str) -> int:
    """Digits of a number as written, without leading zeros and without those that only end it: 111247.0 has 6."""
    digits = text.partition("e")[0].replace("-", "").replace("+", "")
    whole, _, rest = digits.partition(".")
    return len((whole + rest).lstrip("0").rstrip("0"))


def _system(row: Row) -> tuple[str, ...]:
    return row.round, row.organization, row.division, row.platform, row.benchmark, row.model
