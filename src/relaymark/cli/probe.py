"""``relaymark probe``: what an endpoint speaks, streams and reports; what would spoil a benchmark."""

from __future__ import annotations

import argparse

from relaymark.errors import ExitCode


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "probe",
        help="what an endpoint speaks, streams and reports, and what would spoil a benchmark",
        description="Asks an endpoint a handful of short questions and says in plain words what it found.",
    )
    parser.add_argument("--url", required=True, help="base URL of the endpoint, e.g. http://127.0.0.1:8000")
    parser.add_argument("--model", help="model to ask for; may be left out where just one is served")
    parser.add_argument("--api-key-env", default="OPENAI_API_KEY", help="variable that holds the key, if one is needed")
    parser.add_argument("--insecure", action="store_true", help="do not verify the TLS certificate")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Probes and prints; 1 when something would spoil a benchmark."""
    from relaymark.relay.probing import Weight, probe  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.findings import Mark, print_findings  # noqa: PLC0415 - lazy: start-up

    found = probe(options.url, options.model, api_key_env=options.api_key_env, verify_tls=not options.insecure)
    marks: dict[Weight, Mark] = {Weight.GOOD: "good", Weight.NOTE: "note", Weight.SPOILS: "bad"}
    rows: list[tuple[Mark, str, str]] = [
        (marks[finding.weight], finding.topic, finding.text) for finding in found.findings
    ]
    print_findings(f"{found.url}  model {found.model}", rows)
    return int(ExitCode.GATE_FAILED if found.spoils else ExitCode.GOOD)
