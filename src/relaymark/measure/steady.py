"""Where a run at fixed concurrency is steady: the window that MLPerf Endpoints takes a point's result from (§4.4).

Samples are put into super-passes by the order they were issued in (one pass of the data set each). The window begins
after the ramp and grows while the p50 and the p90 of TPOT stay flat. Parameters are those of the reference client's
detector (``metrics/steady_state_diagnostics.py`` at 40b78bfe); percentiles are its lower-rank ones, floor(q·(n − 1)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from relaymark.measure.percentiles import Floats, Ints

FEWEST_PASSES = 4
FLAT_COV = 0.08  # the loosest of the ensemble 0.03/0.05/0.08 decides
DRIFT = 0.05  # share of the median that an end-to-end drift must reach beside being significant
ALPHA = 0.05
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Steady:
    """What the detector found. Super-passes count from 0, both ends included; times in seconds.

    ``status`` and ``verdict`` are the words of ``point.yaml``; ``state`` says of each gate Plateau, Drifting Up or
    Drifting Down. ``samples`` are the slice of samples (by order of issue) that the window holds.
    """

    status: str
    verdict: str
    super_pass_size: int
    passes: int
    first: int | None = None
    last: int | None = None
    seconds: float | None = None
    samples: tuple[int, int] = (0, 0)
    state: dict[str, str] = field(default_factory=dict[str, str])
    anomaly: str | None = None

    @property
    def official(self) -> bool:
        """Whether the window, not the whole run, is the point's result."""
        return self.status == "windowable"


def find_steady(
    issued: Ints, tpot: Floats, latency: Floats, super_pass: int, *, least_seconds: float, floor_seconds: float = 600.0
) -> Steady:
    """Looks for the steady window of one point.

    Args:
        issued: When each sample was issued, ns, in order of issue.
        tpot: TPOT of each, ns; NaN where it has none.
        latency: Latency of each, ns; NaN where it has none.
        super_pass: Samples of a super-pass: the size of the data set.
        least_seconds: What the rules ask of the window at this concurrency (§6.2).
        floor_seconds: The shortest plateau that counts at all; 600 s in the rules.
    """
    passes = issued.size // super_pass if super_pass > 0 else 0
    if passes < 1:
        return Steady("partial_dataset", "not found", super_pass, 0)
    gates = {
        "tpot_p50": _by_pass(tpot, super_pass, passes, 0.5),
        "tpot_p90": _by_pass(tpot, super_pass, passes, 0.9),
    }
    if passes < FEWEST_PASSES or any(np.isnan(values).any() for values in gates.values()):
        return Steady("insufficient_passes", "not found", super_pass, passes)
    start = _ramp(gates["tpot_p50"])
    plateaus = _plateaus(gates, start)
    spans = np.array([_span(issued, super_pass, at, at) for at in range(passes)])
    known = latency[~np.isnan(latency)]
    for place, (first, last) in enumerate(plateaus):
        seconds = _span(issued, super_pass, first, last)
        if seconds >= _needed(gates["tpot_p50"][first : last + 1], spans, known, floor_seconds):
            anomaly = _shift(gates["tpot_p50"], plateaus[place:])
            return _found(gates, issued, super_pass, passes, (first, last), least_seconds, anomaly)
    state = {name: _direction(values[start:]) for name, values in gates.items()}
    drifting = next((word for word in state.values() if word != "Plateau"), None)
    verdict = "not found" if drifting is None else _verdict_of(drifting)
    if not plateaus:
        return Steady("insufficient_passes", verdict, super_pass, passes, state=state if drifting else {})
    first, last = max(plateaus, key=lambda plateau: plateau[1] - plateau[0])
    return Steady(
        "insufficient_duration",
        verdict,
        super_pass,
        passes,
        first,
        last,
        _span(issued, super_pass, first, last),
        (first * super_pass, (last + 1) * super_pass),
        state,
    )


def _found(
    gates: dict[str, Floats],
    issued: Ints,
    size: int,
    passes: int,
    window: tuple[int, int],
    least_seconds: float,
    anomaly: str | None,
) -> Steady:
    first, last = window
    seconds = _span(issued, size, first, last)
    after = {name: _direction(values[first:]) for name, values in gates.items()} if last < passes - 1 else {}
    drifting = next((word for word in after.values() if word != "Plateau"), None)
    verdict = "STEADY STATE"
    if anomaly is not None:
        verdict = "anomaly"
    elif drifting is not None:
        verdict = _verdict_of(drifting)
    status = "windowable" if seconds >= least_seconds else "insufficient_duration"
    slice_ = (first * size, (last + 1) * size)
    state = dict.fromkeys(gates, "Plateau")
    return Steady(status, verdict, size, passes, first, last, seconds, slice_, state, anomaly)


def _by_pass(values: Floats, size: int, passes: int, q: float) -> Floats:
    out = np.full(passes, np.nan)
    for at in range(passes):
        part = values[at * size : (at + 1) * size]
        part = part[~np.isnan(part)]
        if part.size:
            rank = math.floor(q * (part.size - 1))
            out[at] = np.partition(part, rank)[rank]
    return out


def _ramp(driver: Floats) -> int:
    """How many leading super-passes are ramp: those away from the level of the back half; 1 to half of them."""
    level = float(np.median(driver[driver.size // 2 :]))
    away = np.abs(driver - level) / level > DRIFT if level > 0 else np.zeros(driver.size, np.bool_)
    leading = int(np.argmin(away)) if not away.all() else driver.size
    return max(1, min(leading, driver.size // 2))


def _plateaus(gates: dict[str, Floats], start: int) -> list[tuple[int, int]]:
    """The flat stretches, each grown from the left as far as it stays flat; the next begins where it broke."""
    passes = next(iter(gates.values())).size
    found: list[tuple[int, int]] = []
    first = start
    while first + FEWEST_PASSES <= passes:
        last = first + FEWEST_PASSES - 1
        if not all(_flat(values[first : last + 1]) for values in gates.values()):
            first += 1
            continue
        while last + 1 < passes and all(_flat(values[first : last + 2]) for values in gates.values()):
            last += 1
        found.append((first, last))
        first = last + 1
    return found


def _flat(values: Floats) -> bool:
    mean = float(values.mean())
    return mean > 0 and float(values.std()) / mean <= FLAT_COV and _direction(values) == "Plateau"


def _direction(values: Floats) -> str:
    """Plateau, unless a trend is both significant (Mann–Kendall, Hamed–Rao) and 5 % of the median from end to end."""
    n = values.size
    x = np.arange(n, dtype=np.float64)
    slope = float(np.polyfit(x, values, 1)[0]) if n > 1 else 0.0
    median = float(np.median(values))
    if median <= 0 or abs(slope * (n - 1)) / median < DRIFT or trend_chance(values) >= ALPHA:
        return "Plateau"
    return "Drifting Up" if slope > 0 else "Drifting Down"


def trend_chance(values: Floats) -> float:
    """Two-sided p-value of the Mann–Kendall trend test, its variance corrected for autocorrelation of the ranks.

    Sources: Mann (1945), Kendall (1975); Hamed & Rao, J. Hydrology 204 (1998), eq. 8 and 9.
    """
    n = values.size
    if n < 3:
        return 1.0
    signs = np.sign(values[None, :] - values[:, None])
    score = float(np.triu(signs, 1).sum())
    _, ties = np.unique(values, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    if variance <= 0:
        return 1.0
    slopes = (values[None, :] - values[:, None])[np.triu_indices(n, 1)] / (
        np.arange(n)[None, :] - np.arange(n)[:, None]
    )[np.triu_indices(n, 1)]
    ranks = np.argsort(np.argsort(values - float(np.median(slopes)) * np.arange(n))).astype(np.float64)
    centred = ranks - ranks.mean()
    total = float((centred**2).sum())
    bound = 1.96 / math.sqrt(n)
    correction = 1.0
    for lag in range(1, n - 2):
        rho = float((centred[:-lag] * centred[lag:]).sum()) / total if total else 0.0
        if abs(rho) > bound:
            correction += 2 / (n * (n - 1) * (n - 2)) * (n - lag) * (n - lag - 1) * (n - lag - 2) * rho
    variance *= max(correction, 1e-9)
    z = (score - np.sign(score)) / math.sqrt(variance)
    return 2 * (1 - _NORMAL.cdf(abs(float(z))))


def change_chance(values: Floats) -> float:
    """p-value of Pettitt's test for one change point (Applied Statistics 28, 1979): 2·exp(−6K²/(n³ + n²))."""
    n = values.size
    signs = np.sign(values[:, None] - values[None, :])
    largest = max((abs(float(signs[: t + 1, t + 1 :].sum())) for t in range(n - 1)), default=0.0)
    return min(1.0, 2 * math.exp(-6 * largest**2 / (n**3 + n**2))) if n > 1 else 1.0


def _needed(driver: Floats, spans: Floats, latency: Floats, floor_seconds: float) -> float:
    """Shortest issue span of a plateau that is reported."""
    cov = float(driver.std() / driver.mean())
    passes = max(math.ceil((1.96 * cov / DRIFT) ** 2), FEWEST_PASSES)
    by_noise = passes * float(np.median(spans)) if passes > FEWEST_PASSES else 0.0
    p90 = float(np.partition(latency, k := math.floor(0.9 * (latency.size - 1)))[k]) / 1e9 if latency.size else 0.0
    return max(by_noise, 5 * p90, floor_seconds)


def _shift(driver: Floats, plateaus: list[tuple[int, int]]) -> str | None:
    """A later plateau at another level, confirmed by Pettitt's test."""
    first = plateaus[0]
    level = float(driver[first[0] : first[1] + 1].mean())
    for start, end in plateaus[1:]:
        later = float(driver[start : end + 1].mean())
        stretch = driver[first[0] : end + 1]
        if abs(later - level) / level > DRIFT and change_chance(stretch) < ALPHA:
            return f"TPOT p50 moved from {level / 1e6:.3g} to {later / 1e6:.3g} ms at super-pass {start}"
    return None


def _span(issued: Ints, size: int, first: int, last: int) -> float:
    """Last issue minus first issue of a stretch of super-passes, seconds."""
    return float(issued[(last + 1) * size - 1] - issued[first * size]) / 1e9


def _verdict_of(drifting: str) -> str:
    return "drifting_up" if drifting == "Drifting Up" else "drifting_down"
