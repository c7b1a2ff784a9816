"""One stage of the trace, read twice: counts and bins first, then exact ranks, series and points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from relaymark.measure import metrics, outcomes
from relaymark.measure.arrivals import TOKEN_UNIT, Arrivals, Gaps, arrivals
from relaymark.measure.columns import Mask, Piece
from relaymark.measure.definitions import METRICS
from relaymark.measure.distribution import distribution, failure_weight, wanted_ranks, with_failures
from relaymark.measure.exact import ExactQuantiles
from relaymark.measure.inputs import Slo, StageInfo
from relaymark.measure.outcomes import Counts, single_or_mixed
from relaymark.measure.percentiles import QUANTILES, Floats, Ints, interval_ranks
from relaymark.measure.rates import Window, offered_rate, token_rate, window_of
from relaymark.measure.series import PointPicker, SeriesSum
from relaymark.measure.summary import Distribution, SloResult, Stage

COLUMNS = tuple(dict.fromkeys([*metrics.COLUMNS, *outcomes.COLUMNS, "read_added"]))
AGAIN = tuple(dict.fromkeys([*metrics.COLUMNS, "read_added", "task_id"]))
"""Columns of the first and of the second pass."""

# A response of one token has none of these, and cannot have missed a bound on them.
_NOT_OWED = ("tpot", "tps_per_user", "itl", "chunk_gap", "stall")


class StageScan:
    """Reads a stage's pieces: ``add`` for each, ``turn`` between the passes, ``again`` for each, then ``result``."""

    def __init__(self, info: StageInfo, slos: Sequence[Slo]) -> None:
        self.info = info
        self.counts = Counts()
        self.added = ExactQuantiles()
        self.statistics = {
            key: ExactQuantiles(TOKEN_UNIT if metric.per == "token" else 1) for key, metric in METRICS.items()
        }
        self.window = Window(0, 0)
        self._slos = [slo for slo in slos if slo.metric in METRICS]
        self._all_slos = slos
        self._met = 0
        self._added_low: int | None = None
        self._series = SeriesSum(self.window)
        self._points = PointPicker(self.window, self.counts)

    def add(self, piece: Piece) -> None:
        """First pass."""
        self.counts.add(piece)
        self.added.add(read_added(piece))
        view = _View(piece)
        for key, values, weights in view.values():
            self.statistics[key].add(values, weights)
        if self._slos:
            self._met += int(self._meets(view).sum())

    def turn(self) -> None:
        """Between the passes: sizes are known now, so the window and the ranks to look for are."""
        self.window = window_of(self.info, self.counts)
        self._series = SeriesSum(self.window)
        self._points = PointPicker(self.window, self.counts)
        self._added_low = interval_ranks(self.added.total, 0.99)[0]
        self.added.want([*(self.added.rank(q) for q in QUANTILES), self._added_low or 0])
        for key, statistics in self.statistics.items():
            extra = [slo.q for slo in self._slos if slo.metric == key]
            statistics.want(wanted_ranks(METRICS[key], statistics, self._failures(key), extra))

    def again(self, piece: Piece) -> None:
        """Second pass, over the same legs."""
        self.added.collect(read_added(piece))
        view = _View(piece)
        for key, values, weights in view.values():
            self.statistics[key].collect(values, weights)
        self._series.add(piece, view.good, view.arrivals, view.winners)
        self._points.add(piece, view.good, metrics.ttft(piece), metrics.latency(piece))

    @property
    def added_low(self) -> float | None:
        """Lower end of the 95 % interval of client-added p99."""
        return self.added.at(self._added_low) if self._added_low else None

    @property
    def one_piece_share(self) -> float | None:
        """Share of the streams of at least two events that came in one read."""
        return self.counts.one_piece / self.counts.streams_of_two if self.counts.streams_of_two else None

    def result(self, withhold_streaming: bool) -> Stage:
        """The stage. ``withhold_streaming``: streams were not incremental, so TTFT, ITL and their kin are left out."""
        counts, window = self.counts, self.window
        shown = {
            key: distribution(METRICS[key], statistics, self._failures(key))
            for key, statistics in self.statistics.items()
            if statistics.total
            and not (withhold_streaming and METRICS[key].streaming)
            and (counts.retried or key != "latency_total")
        }
        slos = [self._slo(slo, shown) for slo in self._all_slos]
        points = self._points.result()
        tpot_p90 = next((x.value for x in shown["tpot"].quantiles if x.q == 0.9), None) if "tpot" in shown else None
        measurable = bool(slos) and all(slo.metric in shown for slo in self._all_slos)
        return Stage(
            index=self.info.index,
            name=self.info.name,
            load=self.info.load,
            duration=float(window.end - window.begin),
            requests=counts.requests,
            outcomes=dict(counts.outcomes.most_common()),
            in_flight_at_end=counts.in_flight,
            retries=counts.retries,
            retried=counts.retried,
            reconnects=counts.reconnects,
            distributions=shown,
            offered_rate=offered_rate(self.info, counts),
            request_rate=window.rate(counts.good),
            output_token_rate=token_rate(window, counts, "completion_tokens"),
            input_token_rate=token_rate(window, counts, "prompt_tokens"),
            prompt_tokens=self._tokens("prompt_tokens"),
            completion_tokens=self._tokens("completion_tokens"),
            reasoning_tokens=self._tokens("reasoning_tokens"),
            cached_tokens=self._tokens("cached_tokens"),
            partial_tokens=counts.partial_tokens,
            # without one success no bound can be measured, but nothing met them all either
            goodput=window.rate(self._met) if measurable or (slos and not counts.good) else None,
            slos=slos,
            unique_prompts=counts.prompts.count,
            coalesced_share=counts.coalesced / counts.events if counts.events else None,
            one_piece_share=self.one_piece_share,
            token_source=single_or_mixed(counts.token_sources),
            itl_weights=single_or_mixed(counts.weight_sources),
            server_prefill=shown.pop("server_prefill", None),
            server_decode_rate=shown.pop("server_decode_rate", None),
            series=self._series.result() if counts.requests + counts.in_flight else None,
            points=[msgspec.structs.replace(point, ttft=None) for point in points] if withhold_streaming else points,
            errors=counts.messages.most_common(10),
            tps_per_user=1e9 / tpot_p90 if tpot_p90 else None,
        )

    def _failures(self, key: str) -> int:
        return failure_weight(METRICS[key], self.statistics[key], self.counts.good, self.counts.failed)

    def _tokens(self, name: str) -> int | None:
        return self.counts.tokens[name] if self.counts.tokens_known[name] else None

    def _slo(self, slo: Slo, shown: dict[str, Distribution]) -> SloResult:
        measured = None
        if slo.metric in shown:
            measured = with_failures(
                METRICS[slo.metric], self.statistics[slo.metric], self._failures(slo.metric), slo.q
            )
        higher = slo.metric in METRICS and METRICS[slo.metric].better == "higher"
        met = measured is not None and (measured >= slo.bound if higher else measured <= slo.bound)
        return SloResult(text=slo.text, metric=slo.metric, q=slo.q, bound=slo.bound, measured=measured, met=met)

    def _meets(self, view: _View) -> Mask:
        """Which successful legs met every bound on their own.

        A request meets a bound on TTFT, latency, … when its own value does, whatever the percentile; a bound on a
        percentile of gaps when that percentile of its own gaps does.
        """
        met = np.ones(len(view.winners), np.bool_)
        for slo in self._slos:
            if slo.metric in metrics.PER_LEG:
                values = view.per_leg(slo.metric)
                within = values >= slo.bound if METRICS[slo.metric].better == "higher" else values <= slo.bound
                met &= within | (np.isnan(values) if slo.metric in _NOT_OWED else False)
            else:
                met &= _gaps_meet(view.gaps(slo.metric), slo, len(view.winners))
        return met


class _View:
    """A piece with its successful legs and what is computed from them, each once."""

    def __init__(self, piece: Piece) -> None:
        self.sent = piece.where(piece.known("ended"))
        self.good = piece.good
        self.winners = piece.where(self.good)
        self.arrivals: Arrivals = arrivals(self.winners)
        self._per_leg: dict[str, Floats] = {}
        self._gaps: dict[str, Gaps] = {}

    def per_leg(self, key: str) -> Floats:
        """A metric of one value a leg, over the legs it is defined for."""
        if key not in self._per_leg:
            legs = self.sent if METRICS[key].over == "sent" else self.winners
            self._per_leg[key] = metrics.PER_LEG[key](legs)
        return self._per_leg[key]

    def gaps(self, key: str) -> Gaps:
        """A metric of gaps, over the successful legs."""
        if key not in self._gaps:
            self._gaps[key] = metrics.GAPS[key](self.arrivals, len(self.winners))
        return self._gaps[key]

    def values(self) -> Iterator[tuple[str, Floats, Ints | None]]:
        """Every metric's values and weights."""
        for key in metrics.PER_LEG:
            values = self.per_leg(key)
            yield key, values[~np.isnan(values)], None
        for key in metrics.GAPS:
            gaps = self.gaps(key)
            yield key, gaps.value, gaps.weight


def read_added(piece: Piece) -> Floats:
    """user stamp − kernel stamp of every read that has both, in ns."""
    return piece.lists("read_added")[1].astype(np.float64)


def _gaps_meet(gaps: Gaps, slo: Slo, legs: int) -> Mask:
    weight = np.ones(gaps.value.size) if gaps.weight is None else gaps.weight.astype(np.float64)
    total = np.bincount(gaps.leg, weights=weight, minlength=legs)
    within = np.bincount(gaps.leg, weights=np.where(gaps.value <= slo.bound, weight, 0.0), minlength=legs)
    return within >= total * slo.q
