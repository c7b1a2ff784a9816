"""How fast: every number of a run, computed from its trace.

``relaymark.measure.summary``, ``inputs`` and ``definitions`` load without numpy. What computes is imported by name
where it is needed, since it loads numpy and pyarrow: ``from relaymark.measure.summarise import summarise``.
"""

from relaymark.measure.definitions import METRICS, Metric
from relaymark.measure.inputs import Gates, RunInfo, Slo, StageInfo

__all__ = ["METRICS", "Gates", "Metric", "RunInfo", "Slo", "StageInfo"]
