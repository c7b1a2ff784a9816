"""Main module of the scripted endpoint's process (``python -m relaymark.emulate.scriptedchild``)."""

from __future__ import annotations

import sys
from functools import partial

from relaymark.emulate.child import Serve, serve_for_parent
from relaymark.emulate.pacedconfig import decode_config
from relaymark.emulate.script import open_script
from relaymark.emulate.scriptedconfig import ScriptedConfig
from relaymark.emulate.scriptedserver import serve_scripted


def _prepare(line: bytes) -> tuple[Serve, str]:
    config = decode_config(line, ScriptedConfig)
    script = open_script(config.script, config.settings)
    return partial(serve_scripted, config, script), f"{config.paced.host}:{config.paced.port}"


if __name__ == "__main__":
    sys.exit(serve_for_parent(_prepare))
