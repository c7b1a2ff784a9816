"""The three gates of agentic models: inline score, SWE-bench, and output tokens a turn (§3.2, §4.3)."""

from __future__ import annotations

from relaymark.rules.checks.accuracy import SWE_BENCH, Accuracy, band_options, first_score, inline_score, points_of
from relaymark.rules.curve import Curve
from relaymark.rules.findings import Findings
from relaymark.rules.limits import Model
from relaymark.rules.regions import BANDS, assign_bands


def check_agentic(curve: Curve, accuracy: dict[int, Accuracy], findings: Findings) -> None:
    """Applies them where the curve is agentic."""
    if not curve.agentic:
        return
    model = curve.model
    if model is None or not model.agentic:
        says = f"No agentic targets are published for {curve.folder.model}."
        findings.warning("agentic-accuracy", curve.folder.place, says)
        return
    _check_inline(curve, model, accuracy, findings)
    _check_swe_bench(curve, model, accuracy, findings)
    _check_turns(curve, model, findings)


def _check_inline(curve: Curve, model: Model, accuracy: dict[int, Accuracy], findings: Findings) -> None:
    least = model.inline_at_least or 0.0
    for point in points_of(curve):
        result = accuracy.get(point.concurrency)
        score = inline_score(result) if result is not None else None
        place = result.document.place if result is not None else point.folder.place
        if score is None:
            says = f"r{point.concurrency} has no inline score (an entry with dataset_type performance)."
            findings.error("agentic-accuracy-inline", place, says)
        elif not 0 <= score <= 1:
            findings.error("agentic-accuracy-inline", place, f"The inline score {score:g} is no fraction from 0 to 1.")
        elif score * 100 < least:
            says = f"The inline score is {score:.2%}; {least:g} % is asked for."
            findings.error("agentic-accuracy-inline", place, says)


def _check_swe_bench(curve: Curve, model: Model, accuracy: dict[int, Accuracy], findings: Findings) -> None:
    if curve.regions is None:
        return
    options, _ = band_options(curve, accuracy)
    band_of = {c: band for band, c in assign_bands(options).items()}
    bands: dict[str, list[float]] = {}
    for concurrency, could in options.items():
        result = accuracy[concurrency]
        score = first_score(result, SWE_BENCH)
        band = band_of.get(concurrency) or (could[0] if could else None)
        if score is not None and not 0 <= score <= 1:
            says = f"The SWE-bench score {score:g} is no fraction from 0 to 1."
            findings.error("agentic-accuracy-swebench", result.document.place, says)
        elif score is not None and band is not None:
            bands.setdefault(band, []).append(score)
    place = curve.folder.place
    if not bands:
        findings.warning("agentic-accuracy-swebench", place, f"No point has a result of {SWE_BENCH}.")
        return
    for band, scores in bands.items():
        if len(scores) > 1:
            findings.warning(
                "agentic-accuracy-swebench", place, f"{band} has {len(scores)} results; their mean counts."
            )
    mean = 100 * sum(sum(scores) / len(scores) for scores in bands.values()) / len(bands)
    least = model.swe_bench_at_least or 0.0
    if mean < least:
        says = f"SWE-bench is {mean:.2f} % over {len(bands)} regions; {least:g} % is asked for."
        findings.error("agentic-accuracy-swebench", place, says)
    elif len(bands) != len(BANDS):
        findings.warning("agentic-accuracy-swebench", place, f"SWE-bench covers {len(bands)} of {len(BANDS)} regions.")


def _check_turns(curve: Curve, model: Model, findings: Findings) -> None:
    low, high = model.output_tokens_a_turn or (0.0, float("inf"))
    for point in points_of(curve):
        if point.summary is None:
            continue
        mean, document = point.summary.full_run_osl, point.folder.summary
        place = document.at("output_sequence_lengths_full_run", "output_sequence_lengths", "avg")
        if mean is None:
            findings.warning("agentic-osl-range", place, f"r{point.concurrency} has no full-run mean of output tokens.")
        elif not low <= mean <= high:
            says = f"{mean:,.1f} output tokens a turn; {low:g} to {high:g} are allowed."
            findings.error("agentic-osl-range", place, says)
