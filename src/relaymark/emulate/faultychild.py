"""Main module of the faulty endpoint's process (``python -m relaymark.emulate.faultychild``)."""

from __future__ import annotations

import sys
from functools import partial

from relaymark.emulate.child import Serve, serve_for_parent
from relaymark.emulate.faults import FaultyConfig, serve_faulty
from relaymark.emulate.pacedconfig import decode_config


def _prepare(line: bytes) -> tuple[Serve, str]:
    config = decode_config(line, FaultyConfig)
    return partial(serve_faulty, config), f"{config.paced.host}:{config.paced.port}"


if __name__ == "__main__":
    sys.exit(serve_for_parent(_prepare))
