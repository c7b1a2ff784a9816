"""``point.yaml``: its schema, and the rules that one point breaks alone (§4.4, §6, §8.3)."""

from __future__ import annotations

from pathlib import Path

from relaymark.rules.bundle import PointFolder, dotted
from relaymark.rules.curve import AGENTIC, CONCURRENCY, DEDICATED, ELECTED, PointFacts
from relaymark.rules.fields import Fields, whole_number
from relaymark.rules.findings import Findings
from relaymark.rules.regions import DECLARABLE

_DISCLOSED = (
    "division",
    "max_supported_concurrency",
    "model_name",
    "model_precision",
    "link_to_model",
    "dataset_name",
    "dataset_type",
    "dataset_link",
    "shared_src",
    "shared_docs",
    "seed_set",
    "target_cohort",
)
_STATUSES = ("windowable", "insufficient_duration", "insufficient_passes", "partial_dataset")
_VERDICTS = ("STEADY STATE", "drifting_up", "drifting_down", "anomaly", "not found")
_STATES = ("Plateau", "Drifting Up", "Drifting Down")
FEWEST_PASSES = 4
_DAY = 86_400


def read_point(folder: PointFolder, findings: Findings) -> PointFacts:
    """What ``point.yaml`` says; an unusable one still counts as a point, by its number or its folder's name."""
    document = folder.point
    facts = PointFacts(folder, concurrency=folder.number)
    if document.mapping is None:
        if document.present:
            says = f"point.yaml {document.problem or 'is not a mapping'}."
            findings.error("point-config-valid", document.place, says)
        return facts
    fields = document.fields()
    concurrency = fields.whole("concurrency", required=True, least=1)
    _read_runtime(fields, facts)
    _read_warmup(fields)
    _read_power(fields, facts)
    window = _read_steady_state(fields, facts)
    for key in ("model_precision", "link_to_model", "link_to_model_transformation", "model_notes", "dataset_name"):
        fields.text(key)
    for key in ("division", "dataset_type", "dataset_link", "shared_src", "shared_docs"):
        fields.text(key)
    fields.whole("max_supported_concurrency")
    facts.region, facts.offline = fields.text("region"), fields.text("offline")
    facts.model_name, facts.dataset = fields.text("model_name"), fields.text("dataset") or ""
    facts.seed_set, facts.target_cohort = fields.text("seed_set"), fields.text("target_cohort")
    speculative = fields.mapping("speculative_decoding")
    facts.speculative = (speculative.data or None) if speculative is not None else None
    for problem in fields.problems:
        place = document.at(*problem.keys)
        findings.error("point-config-valid", place, f"{dotted(problem.keys)} {problem.says}.")
    raw = whole_number(fields.data.get("concurrency"))
    facts.concurrency = raw if raw is not None and raw > 0 else folder.number
    facts.usable = not fields.problems and concurrency is not None
    if not facts.usable:
        findings.warning("point-rules-skipped", document.place, "The point's other rules were not looked at.")
        return facts
    if folder.number != facts.concurrency:
        says = f"The folder says {folder.number}, point.yaml says {facts.concurrency}."
        findings.warning("point-dirname-concurrency", document.at("concurrency"), says)
    _check_words(facts, fields, findings)
    _check_warmup(facts, fields, findings)
    _check_steady_state(facts, window, findings)
    return facts


def check_shared(points: list[PointFacts], root: Path, findings: Findings) -> None:
    """``shared_src`` and ``shared_docs`` lead to folders of the bundle; each value is reported once."""
    seen: set[tuple[str, str]] = set()
    for point in points:
        for key in ("shared_src", "shared_docs"):
            value = (point.folder.point.mapping or {}).get(key)
            if not isinstance(value, str) or not value or (key, value) in seen:
                continue
            seen.add((key, value))
            parts = [part for part in value.strip().replace("\\", "/").split("/") if part not in ("", ".")]
            unsafe = value.strip().startswith(("/", "~")) or not parts or ".." in parts
            if unsafe or not root.joinpath(*parts).is_dir():
                says = f"{key}: {value!r} is no folder of the bundle."
                findings.error("shared-path-resolution", point.folder.point.at(key), says)


def _read_runtime(fields: Fields, facts: PointFacts) -> None:
    settings = fields.mapping("runtime_settings", required=True)
    if settings is None:
        return
    facts.load_pattern = settings.text("load_pattern") or CONCURRENCY
    facts.min_duration_ms = settings.whole("min_duration_ms")
    settings.whole("min_sample_count")
    settings.flag("stream_all_chunks")
    warmup = settings.mapping("warmup")
    if warmup is not None:
        warmup.flag("salt")
    runtime = settings.mapping("runtime", required=True)
    if runtime is None:
        return
    # v0.7 called two of the seeds otherwise; they are still read, and told apart from a set that is bound.
    older = {"scheduler_rng_seed": "scheduler_random_seed", "sample_index_rng_seed": "dataloader_random_seed"}
    for name in ("scheduler_rng_seed", "sample_index_rng_seed", "model_seed"):
        value = runtime.whole(name)
        if value is None and name in older:
            value = runtime.whole(older[name])
        facts.seeds[name] = value


def _read_warmup(fields: Fields) -> None:
    warmup = fields.mapping("warmup")
    if warmup is None:
        return
    seconds = warmup.number("duration_s", required=True, least=0, most=_DAY)
    issued = warmup.whole("requests_issued", required=True, least=0)
    completed = warmup.whole("requests_completed", required=True, least=0)
    warmup.text("data_source", required=True, least=1)
    concurrency = warmup.whole("concurrency", required=True, least=0)
    warmup.texts("initialization_steps")
    warmup.flag("logs_retained")
    warmup.text("link_logs")
    if issued is not None and completed is not None and completed > issued:
        warmup.says("requests_completed", f"is {completed}, more than the {issued} issued")
    if concurrency == 0 and (seconds or issued or completed):
        warmup.says("concurrency", "is 0, though something was sent")


def _read_power(fields: Fields, facts: PointFacts) -> None:
    nodes = fields.rows("nodes_used")
    if nodes is not None:
        pairs = [
            (row.whole("system_node_ensemble_id", required=True), row.whole("nodes", required=True)) for row in nodes
        ]
        facts.nodes_used = [
            (ensemble, count) for ensemble, count in pairs if ensemble is not None and count is not None
        ]
    shortfall = fields.mapping("dp_shortfall")
    if shortfall is not None:
        actual = shortfall.whole("dp_actual", required=True)
        formula = shortfall.whole("dp_formula", required=True)
        reason = shortfall.text("reason", required=True, least=1)
        if actual is not None and formula is not None and reason is not None:
            facts.dp_shortfall = (actual, formula, reason)


def _read_steady_state(fields: Fields, facts: PointFacts) -> Fields | None:
    block = fields.mapping("steady_state")
    if block is None:
        return None
    facts.status = block.text("status")
    block.text("verdict")
    window = block.mapping("window")
    if window is not None:
        for key in ("super_pass_start", "super_pass_end", "super_pass_size", "n_samples"):
            facts.window[key] = window.whole(key)
        facts.window["duration_s"] = window.number("duration_s")
    state = block.mapping("state")
    if state is not None:
        for key in state.data:
            state.text(key, required=True)
    return block


def _check_words(facts: PointFacts, fields: Fields, findings: Findings) -> None:
    document = facts.folder.point
    missing = [key for key in _DISCLOSED if fields.data.get(key) in (None, "")]
    if missing:
        findings.error("point-disclosure-complete", document.place, f"Not filled in: {', '.join(missing)}.")
    if facts.region is not None and facts.region not in DECLARABLE:
        says = f"region {facts.region!r} is none of {', '.join(DECLARABLE)}."
        findings.error("region-declared", document.at("region"), says)
    if facts.offline is not None and facts.offline not in (DEDICATED, ELECTED, "none"):
        says = f"offline {facts.offline!r} is none of dedicated, elected, none."
        findings.error("offline-declared", document.at("offline"), says)
    if not facts.dedicated and facts.load_pattern not in (CONCURRENCY, AGENTIC):
        place = document.at("runtime_settings", "load_pattern")
        findings.error("load-pattern", place, f"A point's load pattern cannot be {facts.load_pattern!r}.")


def _check_warmup(facts: PointFacts, fields: Fields, findings: Findings) -> None:
    document, warmup = facts.folder.point, fields.mapping("warmup")
    if warmup is None:
        findings.error("warmup-present", document.place, "The point does not declare its warm-up.")
    else:
        used = any(warmup.data.get(key) for key in ("duration_s", "requests_issued", "requests_completed"))
        if used and warmup.data.get("logs_retained") is not True:
            says = "The warm-up's log is not said to be kept."
            findings.warning("warmup-logs-retained", document.at("warmup", "logs_retained"), says)
    settings = fields.mapping("runtime_settings")
    salt = settings.mapping("warmup") if settings is not None else None
    if salt is not None and salt.data.get("salt") is True:
        place = document.at("runtime_settings", "warmup", "salt")
        findings.warning("warmup-salt", place, "The warm-up's prompts are salted.")


def _check_steady_state(facts: PointFacts, block: Fields | None, findings: Findings) -> None:
    if block is None:
        return
    document = facts.folder.point
    verdict, states = block.data.get("verdict"), block.data.get("state") or {}
    wrong = [f"status {facts.status!r}"] if facts.status is not None and facts.status not in _STATUSES else []
    wrong += [f"verdict {verdict!r}"] if verdict is not None and verdict not in _VERDICTS else []
    wrong += [f"state of {metric} {state!r}" for metric, state in states.items() if state not in _STATES]
    if wrong:
        says = f"Words the rules do not know: {', '.join(wrong)}."
        findings.error("steady-state-valid", document.at("steady_state"), says)
    passes = window_passes(facts)
    drifting = [metric for metric, state in states.items() if str(state).startswith("Drifting")]
    place = document.at("steady_state", "status")
    if facts.status == "windowable" and passes is not None and passes < FEWEST_PASSES:
        says = f"windowable, but the window holds {passes} super-passes of the {FEWEST_PASSES} it needs."
        findings.error("steady-state-consistency", place, says)
    if facts.status == "windowable" and drifting:
        says = f"windowable, but {', '.join(drifting)} drifts."
        findings.error("steady-state-consistency", place, says)
    if facts.status == "insufficient_passes" and passes is not None and passes >= FEWEST_PASSES:
        says = f"insufficient_passes, but the window holds {passes} super-passes."
        findings.error("steady-state-consistency", place, says)


def window_passes(facts: PointFacts) -> int | None:
    """How many super-passes the declared window holds."""
    start, end = facts.window.get("super_pass_start"), facts.window.get("super_pass_end")
    return None if start is None or end is None else int(end - start + 1)
