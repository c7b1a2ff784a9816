"""Trajectories without what says whose they are: names, paths, e-mail addresses, hosts and keys replaced.

Each replacement has the length and the kind of characters of what it stands for, and the same thing is always
replaced by the same, so that lengths, prefixes and repetitions, which decide how fast a server is, stay as they were.
What a thing becomes depends on a key that is thrown away: without it nobody can try names until one fits.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from relaymark.data.trajectories.model import Call, Reply, Result, Trajectory, Turn

_EMAIL = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}")
_URL_HOST = re.compile(r"(?<=://)[A-Za-z0-9.-]+\.[A-Za-z]{2,}")
_KEY = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|AKIA|ASIA|AIza|hf|npm|eyJ)[-_A-Za-z0-9.]{12,}"
    r"|(?<![A-Za-z0-9/+_-])(?=[A-Za-z0-9+_-]*\d)(?=[A-Za-z0-9+_-]*[A-Za-z])[A-Za-z0-9+_-]{32,}={0,2}(?![A-Za-z0-9/+_-])"
)
_SECRET = re.compile(
    r"(?i)((?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|pwd)[\"']?\s*[:=]\s*[\"']?)([^\s\"',;]{4,})"
)
_BEARER = re.compile(r"(?i)(\bbearer\s+)([A-Za-z0-9._~+/=-]{8,})")
_IPV4 = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")
_HOME = re.compile(r"(?:/home|/Users|/mnt/users|C:\\Users)[/\\]([A-Za-z0-9._-]+)")
_PATH = re.compile(
    r"(?<![A-Za-z0-9:/<])(?:~|\.{1,2})?(?:/[A-Za-z0-9._@+-]+){2,}/?"  # absolute
    r"|(?<![A-Za-z0-9:/<.])[A-Za-z0-9_-]+(?:/[A-Za-z0-9._@+-]+)*/[A-Za-z0-9_@+-]+\.[A-Za-z]\w{0,4}\b"  # to a file
    r"|(?<![A-Za-z0-9:/<.])[A-Za-z0-9_-]+(?:/[A-Za-z0-9._@+-]+){2,}"  # "and/or" is none
)
_SIGNED = re.compile(
    r"(?:Author|Committer|Signed-off-by|Co-authored-by|Reviewed-by|Reported-by|From|cc):\s*([A-Z][\w.'-]+(?:\s+[A-Z][\w.'-]+){1,3})"
)
_MENTION = re.compile(r"(?<![\w.@/])@([A-Za-z0-9][A-Za-z0-9-]{2,38})\b")
_EXTENSION = re.compile(r"(\.[A-Za-z0-9]{1,5})$")
# Words of paths that every machine has, and that say what kind of thing lies there.
_COMMON_WORDS = """
bin boot dev etc home lib lib64 mnt opt proc root run sbin srv sys tmp usr var local share include site-packages
dist-packages python python3 node_modules src tests test docs doc examples build dist target main java data config conf
scripts script tools util utils core common api app index init __init__ __main__ setup README Users testbed workspace
repo git github com org net www http https output null stdin stdout stderr dir file path
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_LETTERS, _CAPITALS, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
_FEWEST = 3  # a shorter name would be found in half of all words


class Anonymiser:
    """Replaces; ``counts`` says what and how often."""

    def __init__(self, names: Iterable[str] = (), key: bytes | None = None) -> None:
        self._key = key if key is not None else secrets.token_bytes(32)
        self._names: set[str] = {name.strip() for name in names if len(name.strip()) >= _FEWEST}
        self._pattern: re.Pattern[str] | None = None
        self.counts: Counter[str] = Counter()

    def learn(self, trajectories: Iterable[Trajectory]) -> None:
        """Finds people's names: owners of home folders, authors of commits, whoever is mentioned or has an address."""
        for trajectory in trajectories:
            for text in _texts(trajectory):
                self._names.update(match[1] for match in _HOME.finditer(text))
                for match in _SIGNED.finditer(text):
                    self._names.update(part for part in match[1].split())
                self._names.update(match[1] for match in _MENTION.finditer(text))
                for match in _EMAIL.finditer(text):
                    self._names.update(re.split(r"[._%+-]+", match[0].partition("@")[0]))
        kept = {name for name in self._names if len(name) >= _FEWEST and not name.isdigit() and name not in _COMMON}
        if kept:
            longest = sorted(kept, key=len, reverse=True)
            inner = "|".join(map(re.escape, longest))
            self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{inner})(?![A-Za-z0-9])", re.IGNORECASE)

    def apply(self, trajectory: Trajectory, name: str) -> Trajectory:
        """The conversation with everything replaced, under another name."""
        return Trajectory(
            name, tuple(map(self._turn, trajectory.turns)), self.text(trajectory.system), trajectory.tools
        )

    def text(self, text: str) -> str:
        """A text with everything replaced; as long as it was."""
        text = self._replaced("keys", _KEY, text, self._scrambled)
        text = _SECRET.sub(lambda match: match[1] + self._counted("keys", match[2], self._scrambled), text)
        text = _BEARER.sub(lambda match: match[1] + self._counted("keys", match[2], self._scrambled), text)
        text = self._replaced("e-mail addresses", _EMAIL, text, self._scrambled)
        text = self._replaced("hosts", _URL_HOST, text, self._host)
        text = self._replaced("addresses", _IPV4, text, self._ip)
        text = self._replaced("paths", _PATH, text, self._path)
        if self._pattern is not None:
            text = self._replaced("names", self._pattern, text, lambda name: self._word(name, fold=True))
        return text

    # -- one kind at a time -------------------------------------------------------------------------------------

    def _replaced(self, kind: str, pattern: re.Pattern[str], text: str, by: Callable[[str], str]) -> str:
        return pattern.sub(lambda match: self._counted(kind, match[0], by), text)

    def _counted(self, kind: str, found: str, by: Callable[[str], str]) -> str:
        made = by(found)
        self.counts[kind] += made != found
        return made

    def _digits(self, text: str) -> Iterator[int]:
        block = 0
        while True:
            yield from hmac.digest(self._key, f"{block}/{text}".encode("utf-8", "surrogatepass"), "sha256")
            block += 1

    def _scrambled(self, text: str) -> str:
        """Letters for letters, digits for digits; what stands between stays."""
        return "".join(_one(char, number) for char, number in zip(text, self._digits(text), strict=False))

    def _word(self, word: str, *, fold: bool = False) -> str:
        """The same for a word; with ``fold`` in any spelling the same letters."""
        numbers = self._digits(word.lower() if fold else word)
        return "".join(_one(char, number) for char, number in zip(word, numbers, strict=False))

    def _host(self, host: str) -> str:
        *labels, top = host.split(".")
        return ".".join([*(label if label in _COMMON else self._word(label, fold=True) for label in labels), top])

    def _ip(self, address: str) -> str:
        return address if address.startswith(("127.", "0.")) else self._scrambled(address)

    def _path(self, path: str) -> str:
        """Each part of a path by itself, so that what lies in one folder still does; endings and common words stay."""
        return "/".join(map(self._part, path.split("/")))

    def _part(self, part: str) -> str:
        stem = _EXTENSION.sub("", part)
        if not stem or stem.strip(".~") == "" or stem in _COMMON or stem.isdigit():
            return part
        pieces = (piece if piece in _COMMON else self._word(piece, fold=True) for piece in stem.split("_"))
        return "_".join(pieces) + part[len(stem) :]

    # -- through a conversation ---------------------------------------------------------------------------------

    def _turn(self, turn: Turn) -> Turn:
        return Turn(
            turn.role,
            self.text(turn.content),
            tuple(Result(one.call_id, self.text(one.content)) for one in turn.results),
            turn.delay,
            None if turn.reply is None else self._reply(turn.reply),
            turn.overrides,
        )

    def _reply(self, reply: Reply) -> Reply:
        return Reply(
            None if reply.content is None else self.text(reply.content),
            None if reply.reasoning is None else self.text(reply.reasoning),
            tuple(Call(call.id, call.name, self._arguments(call.arguments)) for call in reply.calls),
            reply.intents,
        )

    def _arguments(self, text: str) -> str:
        """Arguments are JSON: the texts in it are replaced, not its escapes."""
        try:
            told: Any = json.loads(text)
        except (ValueError, RecursionError):
            return self.text(text)
        made = self._within(told)
        loose = json.dumps(made, ensure_ascii=text.isascii())
        return (
            loose if len(loose) == len(text) else json.dumps(made, ensure_ascii=text.isascii(), separators=(",", ":"))
        )

    def _within(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._within(one) for one in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {key: self._within(one) for key, one in cast("dict[str, Any]", value).items()}
        return value


def anonymise(
    trajectories: Sequence[Trajectory], *, names: Iterable[str] = (), key: bytes | None = None
) -> tuple[list[Trajectory], dict[str, int]]:
    """All of them, and how often each kind of thing was replaced.

    Args:
        trajectories: Learnt from as a whole before any is changed.
        names: Further names to be replaced: people, projects, products.
        key: Decides what things become; a random one by default, which nobody keeps.
    """
    anonymiser = Anonymiser(names, key)
    anonymiser.learn(trajectories)
    made = [anonymiser.apply(one, f"conversation-{number:05}") for number, one in enumerate(trajectories, 1)]
    return made, dict(anonymiser.counts)


def _one(char: str, number: int) -> str:
    for kind in (_LETTERS, _CAPITALS, _DIGITS):
        if char in kind:
            return kind[number % len(kind)]
    return char


def _texts(trajectory: Trajectory) -> Iterator[str]:
    yield trajectory.system
    for turn in trajectory.turns:
        yield turn.content
        for result in turn.results:
            yield result.content
        if turn.reply is not None:
            yield turn.reply.content or ""
            yield turn.reply.reasoning or ""
            for call in turn.reply.calls:
                yield call.arguments
