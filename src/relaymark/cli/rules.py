"""``relaymark rules``: plan, build and check MLPerf submissions; describe a system; import official runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from relaymark.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from relaymark.rules import Submission

_ABOUT = """\
MLPerf, before it counts: which points to run, a bundle from the runs, and every rule checked.

  relaymark rules plan --model llama3_1-8b --c-max 256 --from runs/sweep-…
  relaymark rules sysinfo --url http://127.0.0.1:8000 > system_desc.json
  relaymark rules build submission.yaml --out bundles
  relaymark rules check bundles/Acme/draft

Official Standardized and CoP entries must be measured with MLCommons' own reference client. What is built from
Relaymark's runs is for preparation, private comparison and RDI-style use."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "rules",
        help="plan, build and check MLPerf submissions",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    _add_plan(inner)
    _add_build(inner)
    _add_check(inner)
    _add_sysinfo(inner)
    _add_import(inner)
    _add_judge(inner)


def _add_plan(inner: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    plan = inner.add_parser("plan", help="which points to run for a C_max, and how long they take")
    plan.add_argument("--model", required=True, metavar="NAME", help="exact benchmark name, such as llama3_1-8b")
    plan.add_argument("--c-max", required=True, type=int, metavar="N", help="maximum supported concurrency, above 32")
    plan.add_argument("--c-min", type=int, default=8, metavar="N", help="the lowest point, 1 to 32 (default 8)")
    plan.add_argument("--points", type=int, metavar="N", help="points at fixed concurrency (default 8: one to spare)")
    plan.add_argument("--offline", choices=("dedicated", "elected"), default="dedicated", help="default dedicated")
    plan.add_argument("--from", dest="sweep", type=Path, metavar="SWEEP", help="a sweep that gives the speed")
    plan.add_argument(
        "--rate", action="append", default=[], metavar="C=RATE", help="requests/s at a concurrency, e.g. 64=12.5"
    )
    plan.add_argument("--longest", default="4h", metavar="TIME", help="most time for a point (default 4h)")
    plan.add_argument("--json", action="store_true", help="print the plan as JSON")
    plan.set_defaults(call=call_plan)


def _add_build(inner: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    build = inner.add_parser("build", help="a bundle from runs and a submission file, then checked")
    build.add_argument("file", nargs="?", type=Path, metavar="SUBMISSION.yaml", help="see --example")
    build.add_argument("--out", type=Path, default=Path("bundles"), metavar="FOLDER", help="default bundles")
    build.add_argument("--round", choices=("endpoints", "v6.1"), default="endpoints", help="default endpoints (v1.0)")
    build.add_argument("--archives", type=Path, metavar="FOLDER", help="also write each run with its events.jsonl here")
    build.add_argument("--example", action="store_true", help="print a submission file and stop")
    _add_tables(build)
    build.set_defaults(call=call_build)


def _add_check(inner: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    check = inner.add_parser("check", help="check a bundle: the official checker's rules, and those it lets pass")
    check.add_argument(
        "bundle", type=Path, metavar="BUNDLE", help="the folder that holds results/, or the one around it"
    )
    check.add_argument("--round", choices=("endpoints", "v6.1"), default="endpoints", help="default endpoints (v1.0)")
    check.add_argument("--strict", action="store_true", help="warnings fail too")
    check.add_argument("--json", action="store_true", help="print the findings as JSON")
    _add_tables(check)
    check.set_defaults(call=call_check)


def _add_sysinfo(inner: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    sysinfo = inner.add_parser("sysinfo", help="describe this machine as system_desc.json; unknown stays null")
    sysinfo.add_argument("--url", help="the endpoint, which is asked for its engine and version")
    sysinfo.set_defaults(call=call_sysinfo)


def _add_import(inner: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    imported = inner.add_parser("import", help="a run folder of MLCommons' reference client as a Relaymark run")
    imported.add_argument("run", type=Path, metavar="RUN", help="holds config.yaml and performance/result_summary.json")
    imported.add_argument("--out", type=Path, default=Path("runs"), metavar="FOLDER", help="default runs")
    imported.set_defaults(call=call_import)


def _add_judge(inner: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    judge = inner.add_parser("judge", help="a run against a scenario of MLPerf Inference: duration, queries, limits")
    judge.add_argument("run", type=Path, metavar="RUN", help="a run's folder")
    judge.add_argument("--benchmark", required=True, metavar="NAME", help="such as llama3.1-8b")
    judge.add_argument(
        "--scenario", required=True, choices=("SingleStream", "MultiStream", "Offline", "Server", "Interactive")
    )
    judge.add_argument("--round", choices=("v5.1", "v6.0", "v6.1"), default="v6.1", help="default v6.1")
    judge.add_argument("--stage", type=int, default=0, metavar="N", help="of the run (default 0)")
    judge.set_defaults(call=call_judge)


def _add_tables(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed-sets", type=Path, metavar="FILE", help="newer seed sets than the packaged ones")
    parser.add_argument("--drafters", type=Path, metavar="FILE", help="a newer list of approved drafters")


def call_plan(options: argparse.Namespace) -> int:
    """Plans a curve."""
    from relaymark.report.rules import plan_json, print_plan  # noqa: PLC0415 - lazy: start-up
    from relaymark.rules import endpoints, plan_curve  # noqa: PLC0415 - lazy: start-up
    from relaymark.units import parse_duration  # noqa: PLC0415 - lazy: start-up

    model = endpoints().model(options.model)
    if model is None:
        known = ", ".join(each.name for each in endpoints().models)
        raise ConfigError(f"There is no benchmark {options.model!r}.", where="--model", mend=f"Known: {known}.")
    rates = dict(map(_rate, options.rate))
    if options.sweep is not None:
        from relaymark.measure.curve import measured_rates  # noqa: PLC0415 - lazy: start-up

        rates = {**measured_rates(options.sweep), **rates}
    plan = plan_curve(
        model,
        options.c_max,
        c_min=options.c_min,
        points=options.points,
        offline=options.offline,
        rates=rates,
        longest_seconds=parse_duration(options.longest, where="--longest") / 1e9,
    )
    if options.json:
        sys.stdout.buffer.write(plan_json(plan))
    else:
        print_plan(plan, model, endpoints().seed_sets)
    return int(ExitCode.GOOD)


def call_build(options: argparse.Namespace) -> int:
    """Builds a bundle and checks it; exits with 1 when the check finds errors."""
    from relaymark.report.rules import count_on_stderr, print_findings  # noqa: PLC0415 - lazy: start-up
    from relaymark.rules import build_bundle, check_bundle, read_submission, with_newer  # noqa: PLC0415 - start-up
    from relaymark.rules.inference_check import check_inference  # noqa: PLC0415 - lazy: start-up
    from relaymark.rules.inference_layout import EXAMPLE as INFERENCE_EXAMPLE  # noqa: PLC0415 - lazy: start-up
    from relaymark.rules.inference_layout import build_inference, read_inference_submission  # noqa: PLC0415 - as above
    from relaymark.rules.submission import EXAMPLE  # noqa: PLC0415 - lazy: start-up

    if options.example:
        sys.stdout.write(EXAMPLE if options.round == "endpoints" else INFERENCE_EXAMPLE)
        return int(ExitCode.GOOD)
    if options.file is None:
        raise ConfigError("No submission file was named.", where="relaymark rules build", mend="See --example.")
    if options.round != "endpoints":
        root = build_inference(read_inference_submission(options.file), options.out)
        findings = check_inference(root, options.round)
        print_findings(findings, root)
        return int(ExitCode.GATE_FAILED if findings.errors else ExitCode.GOOD)
    tables = with_newer(options.seed_sets, options.drafters)
    submission = read_submission(options.file)
    root = build_bundle(submission, options.out, tables, count_on_stderr("points"))
    if options.archives is not None:
        _write_archives(submission, options.archives)
    findings = check_bundle(root, tables)
    print_findings(findings, root)
    return int(ExitCode.GATE_FAILED if findings.errors else ExitCode.GOOD)


def _write_archives(submission: Submission, folder: Path) -> None:
    """Each Relaymark run as a run folder of the reference client, events and all; others have theirs already."""
    from relaymark.rules.events import write_run_archive  # noqa: PLC0415 - lazy: start-up
    from relaymark.trace.runfolder import RUN_FILE  # noqa: PLC0415 - lazy: start-up

    for point in submission.points:
        if (point.run / RUN_FILE).is_file():
            write_run_archive(point.run, folder / point.run.name, point.stage)


def call_check(options: argparse.Namespace) -> int:
    """Checks a bundle; exits with 1 when there are errors."""
    from relaymark.report.rules import findings_json, print_findings  # noqa: PLC0415 - lazy: start-up
    from relaymark.rules import check_bundle, with_newer  # noqa: PLC0415 - lazy: start-up

    if options.round == "endpoints":
        findings = check_bundle(options.bundle, with_newer(options.seed_sets, options.drafters))
    else:
        from relaymark.rules.inference_check import check_inference  # noqa: PLC0415 - lazy: start-up

        findings = check_inference(options.bundle, options.round)
    if options.json:
        sys.stdout.buffer.write(findings_json(findings, options.bundle))
    else:
        print_findings(findings, options.bundle)
    failed = bool(findings.errors) or (options.strict and bool(findings.warnings))
    return int(ExitCode.GATE_FAILED if failed else ExitCode.GOOD)


def call_sysinfo(options: argparse.Namespace) -> int:
    """Prints the description as JSON, and on standard error what is left to be filled in."""
    import json  # noqa: PLC0415 - lazy: start-up

    from relaymark.rules.sysinfo import describe_system, unknown_of  # noqa: PLC0415 - lazy: start-up

    described = describe_system(options.url)
    sys.stdout.write(json.dumps(described, indent=2) + "\n")
    sys.stderr.write(f"Still to be filled in by hand: {', '.join(unknown_of(described))}.\n")
    return int(ExitCode.GOOD)


def call_import(options: argparse.Namespace) -> int:
    """Imports a run, then reports it as any other."""
    from relaymark.cli.session import print_table, write_files  # noqa: PLC0415 - lazy: start-up
    from relaymark.rules.official_run import import_run  # noqa: PLC0415 - lazy: start-up

    folder, summary = import_run(options.run, options.out)
    if summary is None:
        from relaymark.measure.run import summarise_run  # noqa: PLC0415 - lazy: start-up

        summary = summarise_run(folder)
    print_table(summary, write_files(folder, summary))
    return int(ExitCode.GOOD)


def call_judge(options: argparse.Namespace) -> int:
    """Holds a run against a scenario; exits with 1 when something is not met."""
    from relaymark.bench import load_benchmark  # noqa: PLC0415 - lazy: start-up
    from relaymark.measure.steady_samples import stage_samples  # noqa: PLC0415 - lazy: start-up
    from relaymark.relay import finish  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.rules import print_judgement  # noqa: PLC0415 - lazy: start-up
    from relaymark.rules.scenario import judge_scenario  # noqa: PLC0415 - lazy: start-up
    from relaymark.trace.runfolder import CONFIG_FILE  # noqa: PLC0415 - lazy: start-up

    finish(options.run)
    seed = load_benchmark(options.run / CONFIG_FILE).seed
    samples = stage_samples(options.run, options.stage)
    judged = judge_scenario(samples, options.benchmark, options.scenario, options.round, {"schedule_rng_seed": seed})
    print_judgement(judged, options.benchmark, options.round)
    return int(ExitCode.GOOD if judged.valid else ExitCode.GATE_FAILED)


def _rate(text: str) -> tuple[int, float]:
    from relaymark.units import parse_rate  # noqa: PLC0415 - lazy: start-up

    concurrency, equals, rate = text.partition("=")
    if not equals or not (concurrency.isascii() and concurrency.isdigit()) or len(concurrency) > 9:
        raise ConfigError(f"{text!r} is not CONCURRENCY=RATE.", where="--rate", mend="Write --rate 64=12.5/s.")
    return int(concurrency), parse_rate(rate, where=f"--rate {text}")
