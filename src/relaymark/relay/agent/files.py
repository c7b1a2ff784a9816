"""Files that exist in memory alone: what an agent works on. Nothing of the host is ever touched."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

MAX_FILE = 64 << 10  # characters
MAX_FILES = 500


class ShellError(Exception):
    """What a command prints when it fails."""


@dataclass(slots=True)
class Files:
    """Texts by absolute path, and a place among them; a folder is there when something lies under it."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    here: str = "/work"

    def path(self, name: str) -> str:
        """The absolute path of a name."""
        parts: list[str] = [] if name.startswith("/") else [part for part in self.here.split("/") if part]
        for part in name.split("/"):
            if part == "..":
                parts = parts[:-1]
            elif part not in ("", "."):
                parts.append(part)
        return "/" + "/".join(parts)

    def read(self, name: str) -> str:
        """A file's text."""
        path = self.path(name)
        if path in self.texts:
            return self.texts[path]
        raise ShellError(f"{name}: {'Is a directory' if self.is_folder(path) else 'No such file or directory'}")

    def write(self, path: str, text: str) -> None:
        """Writes a file; folders need not be made first, but what is a folder is no file."""
        if self.is_folder(path):
            raise ShellError(f"{path}: Is a directory")
        if len(text) > MAX_FILE or (path not in self.texts and len(self.texts) >= MAX_FILES):
            raise ShellError(f"{path}: No space left on device")
        self.texts[path] = text

    def is_folder(self, path: str) -> bool:
        """Whether anything lies under a path."""
        inside = path.rstrip("/") + "/"
        return path in {"/", self.here} or any(name.startswith(inside) for name in self.texts)

    def under(self, name: str) -> list[str]:
        """Paths of the files that a name stands for: itself, or all in the folder."""
        path = self.path(name)
        if path in self.texts:
            return [path]
        inside = path.rstrip("/") + "/"
        found = sorted(one for one in self.texts if one.startswith(inside))
        if not found and not self.is_folder(path):
            matching = sorted(one for one in self.texts if fnmatchcase(one, path))
            if matching:
                return matching
            raise ShellError(f"{name}: No such file or directory")
        return found

    def shown(self, path: str) -> str:
        """A path as seen from here."""
        inside = self.here.rstrip("/") + "/"
        return path.removeprefix(inside)
