"""BFCL's package for tests: fetched from the registry or the cache, and importable where its own checker is asked."""

from __future__ import annotations

import sys
from pathlib import Path

from relaymark.data.fetching import fetch_bfcl, mpmath_folder


def importable() -> Path:
    """The package's folder, from which it and what it stands on can be imported."""
    folder = fetch_bfcl()
    for place in (folder, mpmath_folder()):
        if str(place) not in sys.path:
            sys.path.insert(0, str(place))
    return folder
