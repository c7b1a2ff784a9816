"""The static report: one self-contained HTML file that loads nothing and runs only the script it came with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relaymark.errors import RelaymarkError
from relaymark.measure.definitions import METRICS
from relaymark.measure.summary import Summary
from relaymark.report import page, verdict
from relaymark.report.clean import plain_line
from relaymark.report.labels import GENERAL_MEANINGS, title
from relaymark.report.pages import render_page
from relaymark.report.score import Scored, score_rows, score_title
from relaymark.report.tasks import task_facts, task_table
from relaymark.report.turns import depth_head, depth_plots, depth_table, reasoning_facts, turn_facts


def render_html(summary: Summary, scores: Sequence[Scored] = ()) -> str:
    """The report as HTML text, with how good the answers were where that was judged.

    Everything in the summary counts as untrusted: it is cleaned of control characters and direction overrides,
    escaped, and never becomes a link, a style or a script. The page's policy (``default-src 'none'``) allows
    exactly one style sheet and one script, by their SHA-256.
    """
    return render_page(
        "report",
        styles=("report.css",),
        scripts=("report.js",),
        scores=[(score_title(score), score_rows(score)) for score in scores],
        **_content(summary),
    )


def write_html(summary: Summary, path: Path, scores: Sequence[Scored] = ()) -> Path:
    """Write the report to `path` (UTF-8), whole or not at all.

    Raises:
        RelaymarkError: the file cannot be written.
    """
    text = render_html(summary, scores)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        os.replace(partial, path)  # noqa: PTH105 (rename that overwrites, spelled as the atomic call it is)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RelaymarkError(
            f"the report cannot be written: {error.strerror or error}",
            where=str(path),
            mend="check that the folder exists, is writable and has space",
        ) from error
    return path


def _content(summary: Summary) -> dict[str, Any]:
    headline = page.headline_table(summary)
    used = {metric for stage in summary.stages for metric in stage.distributions}
    return {
        "title": plain_line(summary.name, 80) or "run",
        "model": plain_line(summary.model, 120),
        "url": plain_line(summary.url, 300),
        "dialect": plain_line(summary.dialect, 60),
        "started": plain_line(summary.started_at, 60),
        "run_id": plain_line(summary.run_id, 120),
        "version": plain_line(summary.version, 40),
        "schedule": plain_line(summary.schedule_sha256, 80),
        "verdict": page.verdict_parts(summary),
        "key": [(page.stage_class(s), page.names(summary)[s.index]) for s in summary.stages],
        "headline": headline,
        "headline_remark": page.headline_remark(headline),
        "tasks": [
            (page.names(summary)[s.index], task_facts(s.tasks), task_table(s)) for s in summary.stages if s.tasks
        ],
        "turns": [
            (page.names(summary)[s.index], turn_facts(s.turns), depth_table(s), depth_plots(s), depth_head(s.turns))
            for s in summary.stages
            if s.turns
        ],
        "reasoning": [reasoning_facts(one) for one in summary.reasoning],
        "quantiles": page.all_quantiles(summary),
        "withheld": verdict.withheld(summary),
        "plots": page.distribution_plots(summary),
        "timelines": page.time_plots(summary),
        "outcomes": page.outcome_rows(summary),
        "errors": {s.index: page.error_rows(s) for s in summary.stages},
        "stage_facts": {s.index: page.stage_facts(s) for s in summary.stages},
        "scatters": page.scatter_plots(summary),
        "server_table": page.server_table(summary),
        "slos": page.slo_rows(summary),
        "warnings": [verdict.sentence(w) for w in summary.verdict.warnings],
        "notes": [verdict.sentence(n) for n in summary.notes],
        "meanings": [(title(k), m.definition) for k, m in METRICS.items() if k in used],
        "general": GENERAL_MEANINGS,
        "config": page.config_text(summary),
        "environment": page.facts(summary.environment),
        "server": page.facts(summary.server),
    }
