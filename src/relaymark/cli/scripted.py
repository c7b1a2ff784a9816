"""The options of ``relaymark emulate --script``: an endpoint that says what a script tells it to."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relaymark.errors import ConfigError

if TYPE_CHECKING:
    from relaymark.emulate import ScriptedConfig

_MALFORMED = ("not_json", "wrong_shape", "empty", "refusal", "huge")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options to the parser of ``relaymark emulate``."""
    group = parser.add_argument_group(
        "scripted answers",
        "With --script the answers come from a script, at once unless --ttft or --itl say otherwise; --tokens and the "
        "options of faults don't apply.",
    )
    group.add_argument(
        "--script",
        metavar="world:DIR",
        help="answer from the generated world in DIR, from table:FILE.jsonl or from record:FILE.jsonl",
    )
    group.add_argument("--wrong", type=float, metavar="SHARE", help="world: this share of the questions, exactly")
    group.add_argument("--misdecompose", type=float, metavar="SHARE", help="world: ask the wrong sub-queries")
    group.add_argument(
        "--malformed",
        metavar="KIND=SHARE",
        action="append",
        default=[],
        help=f"world: broken replies to this share of the questions; kinds: {', '.join(_MALFORMED)}",
    )
    group.add_argument("--key", metavar="HOW", help="record: what a request is known by: body, last or header:NAME")
    group.add_argument("--down-after", type=int, metavar="N", help="go away after N requests")


def scripted_config(options: argparse.Namespace) -> ScriptedConfig:
    """The configuration that the options describe.

    Raises:
        ConfigError: A time or share that is none.
    """
    from relaymark.emulate import PacedConfig, ScriptedConfig  # noqa: PLC0415 - lazy: start-up
    from relaymark.units import parse_duration  # noqa: PLC0415 - lazy: start-up

    def seconds(text: str | None, where: str) -> float:
        return 0.0 if text is None else parse_duration(text, where=where) / 1e9

    settings: dict[str, Any] = {}
    for name in ("wrong", "misdecompose", "key"):
        value = getattr(options, name)
        if value is not None:
            settings[name] = value
    if options.malformed:
        settings["malformed"] = dict(_share(text) for text in options.malformed)
    if options.script.startswith("world:"):
        settings["seed"] = options.seed
    log: Path | None = options.log
    return ScriptedConfig(
        script=options.script,
        settings=settings,
        paced=PacedConfig(
            ttft=seconds(options.ttft, "--ttft"),
            itl=seconds(options.itl, "--itl"),
            prefill=seconds(options.prefill, "--prefill"),
            tokens_per_chunk=options.tokens_per_chunk,
            slots=options.slots,
            usage=options.usage,
            model="scripted" if options.model is None else options.model,
            port=options.port,
            log_path=log,
        ),
        down_after=options.down_after,
    )


def _share(text: str) -> tuple[str, float]:
    kind, _, share = text.partition("=")
    try:
        return kind, float(share)
    except ValueError:
        raise ConfigError(f"{text!r} is not KIND=SHARE", where="--malformed", mend="write empty=0.1") from None
