"""Every rule that a bundle is held to: its section in the MLPerf Endpoints rules, and what mends it.

The names are those of the official checker (``endpoints-submission-cli`` 1.5.3.0), so that two reports can be laid side
by side. Rules marked ``ours`` are in the written rules, or follow from them, but that checker lets bundles pass that
break them.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """Where a rule comes from and the usual way to mend what breaks it."""

    section: str
    mend: str
    ours: bool = False


def _ours(section: str, mend: str) -> Rule:
    return Rule(section, mend, ours=True)


RULEBOOK: dict[str, Rule] = {
    # the tree
    "path-exists": Rule("1", "Name the folder that holds results/, docs/ and src/."),
    "required-dir": Rule("1", "Make the folder; `relaymark rules build` lays the tree out."),
    "src-dir": Rule("2.2.1", "Put the implementation under src/<name>/ with a README.md."),
    "src-readme": Rule("2.2.1", "Say in README.md how the system is built, launched and measured."),
    "system-results-dir": Rule("1", "Results lie under results/<system>/<model>/r<concurrency>/."),
    "benchmark-model-dir": Rule("1", "Results lie under results/<system>/<model>/r<concurrency>/."),
    "point-dirs": Rule("1", "Each point has a folder r<concurrency>."),
    "measurement-points-present": Rule("1", "Write point.yaml for the point."),
    "config-file-present": Rule("8.1", "Put the client's resolved config.yaml beside point.yaml."),
    "result-summary-present": Rule("1", "Put the client's result_summary.json beside point.yaml."),
    "point-dirname-concurrency": Rule("1", "Name the folder r<concurrency>, as point.yaml has it."),
    "point-rules-skipped": Rule("1", "Mend point.yaml and check again: its other rules were not looked at."),
    "shared-path-resolution": Rule("9.1", "Give a folder of the bundle, relative to its root and without `..`."),
    # descriptions
    "system-description-present": Rule("8.2", "Put system_desc.json beside each point.yaml."),
    "system-description-valid": Rule("8.2", "See `relaymark rules sysinfo`, which writes what it can find out."),
    "system-description-consistency": Rule("8.5", "All points of a curve describe one system."),
    "model-name-valid": Rule("3.2", "Use the benchmark's exact name, such as llama3_1-8b."),
    "model-name-consistency": Rule("8.1", "The folder is named after point.yaml's model_name."),
    "point-config-valid": Rule("8.3", "Give the key a value of the kind that is asked for."),
    "point-disclosure-complete": Rule("8.3", "Fill the fields in; none may be empty."),
    "region-declared": Rule("8.3", "Leave region out, or use a name of the rules."),
    "region-placement": Rule("8.3", "Leave region out: it is computed."),
    "load-pattern": Rule("6.1", "Measure points at a fixed concurrency; only a dedicated Offline run may differ."),
    "warmup-present": Rule("6.3.3", "Declare the warm-up; all zeroes say that there was none."),
    "warmup-logs-retained": Rule("6.3", "Keep the warm-up's log and say logs_retained: true."),
    "warmup-salt": Rule("6.3", "Salting the warm-up is not asked for unless it uses the benchmark's own samples."),
    # the curve
    "region-basis": Rule("5.4", "C_max comes from system_desc.json, C_min from the points."),
    "c-min-override": Rule("5.4", "Give every point the same whole number from 1 to 32 that is also measured."),
    "region-computation": Rule("5.5", "max_supported_concurrency must be above 32."),
    "concurrency-in-range": Rule("9.1", "Measure at most 10 % above C_max."),
    "offline-declared": Rule("5.7", "Use dedicated, elected or none."),
    "offline-point-present": Rule("5.7", "Declare one Offline point: a run of its own, or the point at C_max."),
    "offline-ordering": Rule("5.7.2", "Run Offline again: it should not be slower than the point at C_max."),
    "ultra-low-concurrency-coverage": Rule("5.4", "Measure a point at 32 or fewer."),
    "low-concurrency-coverage": Rule("5.4", "Measure a point in the region; `relaymark rules plan` names one."),
    "med-concurrency-coverage": Rule("5.4", "Measure a point in the region; `relaymark rules plan` names one."),
    "high-concurrency-coverage": Rule("5.4", "Measure a point in the region; `relaymark rules plan` names one."),
    "point-count": Rule("5.3", "Measure more points; `relaymark rules plan` names them."),
    "point-cap": Rule("5.6", "Leave points out: 32 are the most."),
    "benchmark-type-consistency": Rule("6.1", "All points but a dedicated Offline run use one load pattern."),
    "config-consistency-dataset": Rule("9.1", "All points of a curve use one data set."),
    "config-consistency-model": Rule("9.1", "All points of a curve measure one model."),
    "tps-utilization": Rule("8.2", "Divide the point's system_tps by the curve's largest."),
    # time and steady state
    "point-duration": Rule("6.2", "Measure longer."),
    "steady-state-valid": Rule("4.4", "Use the words of the rules."),
    "steady-state-consistency": Rule("4.4", "windowable needs four passes and gates that are all flat."),
    "steady-state-basis": Rule("4.4", "Without a steady window the whole run counts; run more passes for a window."),
    "min-query-count": Rule("6.4", "Complete at least one pass of the data set."),
    # seeds and drafters
    "seed-set-consistency": Rule("4.6", "Bind one seed set for the whole submission."),
    "seed-set-membership": Rule("4.6", "Bind a published set; --seed-sets names a newer file of them."),
    "seed-set-adoption": Rule("4.6", "A set serves its cohort and the three after it: take a newer one."),
    "seed-runtime-match": Rule("4.6", "Run with the seeds of the set."),
    "target-cohort": Rule("4.6", "Write YYYY-MM-C0 or YYYY-MM-C1."),
    "seed-config-legacy": Rule("4.6", "Bind a seed set; seeds of 42 belong to v0.7."),
    "approved-drafter": Rule("2.9.4", "Use a drafter from the benchmark's approved list, or none."),
    "drafter-approval-lead-time": Rule("2.9.4", "A drafter may be used from the second cohort after its approval."),
    # results
    "result-file-valid": Rule("8.3", "Use the result_summary.json that the client wrote."),
    "metric-consistency-duration": Rule("9.1", "The run has to last."),
    "metric-consistency-accounting": Rule("9.1", "Completed and failed samples must add up to those issued."),
    "metric-consistency-output-tokens": Rule("9.1", "Token counts cannot be negative."),
    "metric-consistency-system-tps": Rule("9.1", "system_tps is total output tokens over the run's seconds."),
    "metric-consistency-tpot-p90": Rule("9.1", "Stream the responses, so that TPOT has a p90."),
    "metric-consistency-tps-per-user": Rule("9.1", "tps_per_user is 1000 over tpot_p90_ms."),
    "metric-consistency-tps-per-kw": Rule("4.5.3", "Divide system_tps by the power of the nodes that the point uses."),
    "agentic-metric-consistency": Rule("4.1", "e2e_avg_interactivity is output tokens over turn seconds."),
    # power
    "power-descriptor": Rule("4.5.2", "Write system_power.json as in Appendix E, each figure with its source."),
    "power-estimated": Rule("4.5.2", "Name a public source, or accept the tag MLC Estimated Power."),
    "nodes-used": Rule("4.5.3", "Name node sets that exist and hold the accelerators in use."),
    "maximal-engagement": Rule("4.5.3", "Run as many replicas as fit, or declare dp_shortfall with the reason."),
    # accuracy
    "accuracy-present": Rule("6.6", "Run accuracy at the required points."),
    "accuracy-coverage": Rule("4.3", "One accuracy result for each mandatory region, and one for Offline."),
    "accuracy-valid": Rule("4.3", "Use the accuracy_results.json that the client wrote."),
    "accuracy-sample-count": Rule("4.3", "Score the whole accuracy set."),
    "accuracy-gate": Rule("4.3", "The answers are not good enough: mend the system, not the file."),
    "agentic-accuracy": Rule("3.2", "The model has no published targets."),
    "agentic-accuracy-inline": Rule("4.3", "Every point needs its inline score, as a fraction, above the target."),
    "agentic-accuracy-swebench": Rule("4.3", "The mean of the four regions must pass."),
    "agentic-osl-range": Rule("4.3", "Mean output tokens a turn must lie in the range."),
    # what the official checker lets pass
    "run-complete": _ours("6.4", "Run the point to its end."),
    "ttft-present": _ours("4.1", "Stream the responses, so that TTFT has a p90."),
    "window-within-run": _ours("4.4", "The window lies inside the run: take it from the detector."),
    "whole-passes": _ours("6.4", "Issue a whole multiple of the data set."),
    "min-duration-setting": _ours("6.2", "Set runtime_settings.min_duration_ms to what the region asks for."),
    "dataset-known": _ours("6.4", "Use the data set's exact name, or the minimum number of queries goes unchecked."),
    "declarations-agree": _ours("8.3", "point.yaml and system_desc.json must say the same."),
    "dataset-type-known": _ours("8.3", "Use Accuracy, Performance or Accuracy + Performance."),
    "c-max-measured": _ours("5.7.2", "Measure a point at C_max, or declare the C_max that was measured."),
    "offline-cardinality": _ours("5.7.1", "A dedicated Offline run's concurrency is the size of the data set."),
    "offline-load-pattern": _ours("5.7.1", "Give the dedicated Offline run the pattern max_throughput."),
    "streaming-on": _ours("6.5", "Set model_params.streaming to on for every point but a dedicated Offline run."),
    "tps-utilization-present": _ours("8.2", "`relaymark rules build` fills tps_utilization in."),
    "accuracy-complete": _ours("4.3", "Run accuracy to its end."),
    "accuracy-all-metrics": _ours("4.3", "Score every metric that is gated."),
    "performance-first": _ours("8.1", "List the performance data set first in config.yaml: the builder files by it."),
    "secret-redacted": _ours("8.1", "Replace the key by <redacted> before anything is uploaded."),
    # MLPerf Inference v6.1: edge agentic and end-to-end RAG
    "inference-layout": Rule("", "`relaymark rules build --round v6.1` lays the files out."),
    "inference-measurements": Rule("", "Fill measurements.json in; no value may be empty."),
    "inference-seeds": Rule("", "Run with the seeds of the round."),
    "inference-duration": Rule("", "Configure settings.runtime.min_duration_ms: 600000."),
    "inference-counts": Rule("", "Run the whole data set."),
    "inference-percentiles": Rule("", "Use a result_summary.json with early_stopping_percentiles."),
    "inference-accuracy-file": Rule("", "Write accuracy.txt with its accuracy and the log's hash."),
    "inference-accuracy-target": Rule("", "The answers are not good enough: mend the system, not the file."),
    "inference-test09": Rule("", "Answers must be about as long as the reference's; see verify_output_len.txt."),
}
