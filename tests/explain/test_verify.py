"""Predictions against what really making a stage faster gives, on emulated endpoints: twelve combinations."""

from __future__ import annotations

from relaymark.explain.verifying import COMBINATIONS, verify


def test_every_prediction_is_within_its_bound() -> None:
    assert len(COMBINATIONS) >= 12
    checks = list(verify())
    # A busy machine stretches a run: one of twelve may be off once, and is then done again by itself.
    late = [one for place, one in enumerate(COMBINATIONS) if not checks[place].met]
    again = list(verify(tuple(late))) if late else []
    assert len(late) <= 2 and all(check.met for check in again), [(c.load, c.faster, c.error) for c in checks]
