"""Main module of the paced endpoint's process (``python -m relaymark.emulate.pacedchild``)."""

from __future__ import annotations

import sys
from functools import partial

from relaymark.emulate.child import Serve, serve_for_parent
from relaymark.emulate.endpoint import serve_paced
from relaymark.emulate.pacedconfig import PacedConfig, decode_config


def _prepare(line: bytes) -> tuple[Serve, str]:
    config = decode_config(line, PacedConfig)
    return partial(serve_paced, config), f"{config.host}:{config.port}"


if __name__ == "__main__":
    sys.exit(serve_for_parent(_prepare))
