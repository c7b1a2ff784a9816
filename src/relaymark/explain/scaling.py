"""How throughput grows with size or load: efficiency against linear, and the universal scalability law.

N. Gunther's law: X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), with σ for what is done one after the other and κ for what
each must agree on with every other. N/X is linear in (1, N − 1, N(N − 1)), so three measured sizes fit it; the
interval is from drawing residuals anew, and with fewer than five sizes it says little, which is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from relaymark.errors import ConfigError
from relaymark.explain.legs import Floats
from relaymark.explain.path import interval

_RESAMPLES = 500
_KNEE = 0.8  # efficiency


class Size(msgspec.Struct, kw_only=True, frozen=True):
    """One size. ``efficiency``: rate per unit / that of the smallest size."""

    size: float
    rate: float
    per_unit: float
    efficiency: float


class Law(msgspec.Struct, kw_only=True, frozen=True):
    """The fitted law; intervals are 95 %. ``peak``: the size of the highest rate, ``None`` where it never falls."""

    rate_of_one: float
    sigma: float
    sigma_low: float
    sigma_high: float
    kappa: float
    kappa_low: float
    kappa_high: float
    peak: float | None
    explained: float  # R² of the rates
    sizes: int


class Scaling(msgspec.Struct, kw_only=True, frozen=True):
    """All of it. ``knee``: the largest size before efficiency falls below 80 %."""

    unit: str
    sizes: list[Size]
    knee: float | None
    law: Law | None
    notes: list[str] = []


def scaling_of(points: Sequence[tuple[float, float]], unit: str) -> Scaling:
    """From (size, rate) of each run.

    Raises:
        ConfigError: Fewer than two sizes, or a number that is not above 0.
    """
    if len({size for size, _ in points}) < 2 or any(not size > 0 or not rate > 0 for size, rate in points):
        raise ConfigError("scaling needs at least two different sizes, and rates above 0")
    merged: dict[float, list[float]] = {}
    for size, rate in points:
        merged.setdefault(size, []).append(rate)
    ordered = sorted((size, float(np.mean(rates))) for size, rates in merged.items())
    base = ordered[0][1] / ordered[0][0]
    sizes = [Size(size=size, rate=rate, per_unit=rate / size, efficiency=rate / size / base) for size, rate in ordered]
    knee = None
    for one in sizes:
        if one.efficiency < _KNEE:
            break
        knee = one.size
    notes: list[str] = []
    law = _law(np.array([s for s, _ in points]), np.array([r for _, r in points])) if len(sizes) >= 3 else None
    if law is None:
        notes.append("The scalability law needs three sizes.")
    elif len(sizes) < 5:
        notes.append(f"{len(sizes)} sizes: the law passes near any such points, and its interval says little.")
    return Scaling(unit=unit, sizes=sizes, knee=knee if knee != sizes[-1].size else None, law=law, notes=notes)


def _law(size: Floats, rate: Floats) -> Law:
    rate_of_one, sigma, kappa = _fit(size, rate)
    predicted = _rates(size, rate_of_one, sigma, kappa)
    residual = rate / predicted
    rng = np.random.default_rng(0)
    fits = np.array([_fit(size, predicted * rng.choice(residual, len(size))) for _ in range(_RESAMPLES)])
    spread = float(((rate - rate.mean()) ** 2).sum())
    (s_low, s_high), (k_low, k_high) = interval(fits[:, 1]), interval(fits[:, 2])
    return Law(
        rate_of_one=rate_of_one,
        sigma=sigma,
        sigma_low=s_low,
        sigma_high=s_high,
        kappa=kappa,
        kappa_low=k_low,
        kappa_high=k_high,
        peak=math.sqrt((1 - sigma) / kappa) if kappa > 0 and sigma < 1 else None,
        explained=1 - float(((rate - predicted) ** 2).sum()) / spread if spread else 1.0,
        sizes=len(set(size.tolist())),
    )


def _rates(size: Floats, rate_of_one: float, sigma: float, kappa: float) -> Floats:
    return rate_of_one * size / (1 + sigma * (size - 1) + kappa * size * (size - 1))


def _fit(size: Floats, rate: Floats) -> tuple[float, float, float]:
    """Least squares of N/X, relative; what would come out negative is 0, and the others are fitted again."""
    y = size / rate
    columns = np.stack([np.ones_like(size), size - 1, size * (size - 1)], 1) / y[:, None]
    kept = [0, 1, 2]
    while True:
        found = np.linalg.lstsq(columns[:, kept], np.ones(len(y)), rcond=None)[0]
        negative = [place for place, value in zip(kept, found, strict=True) if value < 0 and place]
        if not negative:
            break
        kept.remove(negative[-1])
    told = dict(zip(kept, found.tolist(), strict=True))
    base = told[0] if told[0] > 0 else 1e-12
    return 1 / base, told.get(1, 0.0) / base, told.get(2, 0.0) / base
