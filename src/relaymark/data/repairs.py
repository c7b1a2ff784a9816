"""Small repair tasks for an agent with a shell: some files, what is to be done, and the files as they must be in the
end.

Made from a seed, so that their number is unlimited and nobody can have learnt them. Whether a task is solved is not
judged: the end state is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import msgspec

_NOUN_WORDS = """
parser buffer window signal report ledger filter worker handler column packet border driver token record schema bucket
socket cursor margin folder engine harvest canyon meadow lantern copper willow granite summit orchard pebble
"""
_NOUNS = tuple(_NOUN_WORDS.split())


class Repair(msgspec.Struct, frozen=True):
    """One task. ``solution`` is a command that solves it: the proof that it can be solved."""

    id: str
    kind: str
    instruction: str
    files: dict[str, str]  # absolute path → text, as the agent finds them
    wanted: dict[str, str]  # files that must have just this text in the end, but for blanks at line ends
    gone: tuple[str, ...] = ()  # files that must not be there any more
    solution: str = ""

    def solved_by(self, files: dict[str, str]) -> bool:
        """Whether the end state is the wanted one."""
        right = all(path in files and _plain(files[path]) == _plain(text) for path, text in self.wanted.items())
        return right and not any(path in files for path in self.gone)


def repairs(seed: int, count: int) -> list[Repair]:
    """``count`` tasks, of every kind in turn."""
    made: list[Repair] = []
    for number in range(count):
        kind, make = _KINDS[number % len(_KINDS)]
        made.append(make(Random(f"{seed}/{number}"), f"{kind}-{number:04}"))  # noqa: S311 - repeatable, not secret
    return made


def _plain(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().split("\n")]


def _project(draw: Random) -> tuple[dict[str, str], list[str]]:
    """A few modules that use one another, with a setting and a log; and the words in them."""
    words: list[str] = draw.sample(_NOUNS, 6)
    a, b, c, d, e, f = words
    files = {
        f"/work/src/{a}.py": f'"""Keeps the {b}."""\n\nfrom src.{c} import read_{d}\n\n\n'
        f"def {b}_total(items, fee):\n    return sum(items) + fee\n\n\n"
        f"def {b}_first(items):\n    return read_{d}(items)[0]\n",
        f"/work/src/{c}.py": f'"""Reads the {d}."""\n\n\ndef read_{d}(items):\n    return sorted(items)\n\n\n'
        f"def count_{d}(items):\n    return len(read_{d}(items))\n",
        "/work/settings.ini": f"[{e}]\ntimeout = {draw.randrange(5, 60)}\nretries = {draw.randrange(1, 9)}\n"
        f"name = {f}\n",
        f"/work/notes/{f}.md": f"# {f}\n\nThe {b} is kept by {a}.py, the {d} is read by {c}.py.\n",
    }
    levels = ("INFO", "WARN", "ERROR")
    lines = [
        f"{number:03} {draw.choices(levels, (6, 2, 1))[0]} {draw.choice(words)} {draw.randrange(1000, 9999)}"
        for number in range(draw.randrange(25, 45))
    ]
    files[f"/work/logs/{e}.log"] = "\n".join(lines) + "\n"
    return files, words


def _rename(draw: Random, name: str) -> Repair:
    files, (_, _, c, d, _, f) = _project(draw)
    new = f"load_{f}"
    wanted = {path: text.replace(f"read_{d}", new) for path, text in files.items() if f"read_{d}" in text}
    return Repair(
        name,
        "rename",
        f"Rename the function read_{d}, which is defined in src/{c}.py, to {new} in all files under src.",
        files,
        wanted,
        solution=f"sed -i 's/read_{d}/{new}/g' " + " ".join(sorted(wanted)),
    )


def _setting(draw: Random, name: str) -> Repair:
    files, _ = _project(draw)
    before = files["/work/settings.ini"]
    value = draw.randrange(61, 600)
    old = next(line for line in before.split("\n") if line.startswith("timeout"))
    return Repair(
        name,
        "setting",
        f"In settings.ini set timeout to {value}. Change nothing else.",
        files,
        {"/work/settings.ini": before.replace(old, f"timeout = {value}")},
        solution=f"sed -i 's/^timeout = .*/timeout = {value}/' settings.ini",
    )


def _count(draw: Random, name: str) -> Repair:
    files, _ = _project(draw)
    log = next(path for path in files if path.endswith(".log"))
    count = files[log].count(" WARN ")
    short = log.removeprefix("/work/")
    return Repair(
        name,
        "count",
        f"How many lines of {short} have the level WARN? Write the number, and nothing else, into answer.txt.",
        files,
        {"/work/answer.txt": f"{count}\n"},
        solution=f"grep -c ' WARN ' {short} > answer.txt",
    )


def _bug(draw: Random, name: str) -> Repair:
    files, (a, b, *_) = _project(draw)
    path = f"/work/src/{a}.py"
    good = files[path]
    files[path] = good.replace("return sum(items) + fee", "return sum(items) - fee")
    return Repair(
        name,
        "bug",
        f"{b}_total in src/{a}.py should give the sum of the items with the fee added, but it takes the fee away. "
        "Mend that line.",
        files,
        {path: good},
        solution=f"sed -i 's/sum(items) - fee/sum(items) + fee/' src/{a}.py",
    )


def _move(draw: Random, name: str) -> Repair:
    files, (_, _, _, _, _, f) = _project(draw)
    path = f"/work/notes/{f}.md"
    return Repair(
        name,
        "move",
        f"Move notes/{f}.md into the folder archive.",
        files,
        {f"/work/archive/{f}.md": files[path]},
        (path,),
        solution=f"mkdir -p archive && mv notes/{f}.md archive/{f}.md",
    )


def _find(draw: Random, name: str) -> Repair:
    files, _ = _project(draw)
    log = next(path for path in files if path.endswith(".log"))
    line = draw.choice(files[log].strip().split("\n"))
    number = line.rsplit(" ", 1)[1]
    # Numbers may repeat: the first line that has it is asked for.
    first = next(one for one in files[log].split("\n") if one.endswith(number))
    short = log.removeprefix("/work/")
    return Repair(
        name,
        "find",
        f"Find the first line of {short} that ends with {number}. "
        "Write its level (INFO, WARN or ERROR) into answer.txt.",
        files,
        {"/work/answer.txt": first.split(" ")[1] + "\n"},
        solution=f"echo {first.split(' ')[1]} > answer.txt",
    )


_KINDS: tuple[tuple[str, Callable[[Random, str], Repair]], ...] = (
    ("rename", _rename),
    ("setting", _setting),
    ("count", _count),
    ("bug", _bug),
    ("move", _move),
    ("find", _find),
)
