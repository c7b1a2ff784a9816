"""The commands of an agent's shell: the few that agents use most, over files in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from relaymark.relay.agent.files import Files, ShellError

_MATCHED = 400  # characters of a line that a pattern is tried on
_RANGE = re.compile(r"(\d+)(?:,(\d+|\$))?([pd])")
_SUBSTITUTE = re.compile(r"(?:(\d+)(?:,(\d+))?)?s(.)(.*?)(?<!\\)\3(.*?)(?<!\\)\3([gI]*)", re.DOTALL)

Command = Callable[[Files, Sequence[str], str], tuple[int, str]]


def _split(words: Sequence[str], flags: str, valued: str = "") -> tuple[set[str], dict[str, str], list[str]]:
    """Single-letter flags, flags with a value, and the rest; any other flag is an error."""
    given: set[str] = set()
    values: dict[str, str] = {}
    rest: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if not word.startswith("-") or word == "-" or rest:
            rest.append(word)
            continue
        if word[1:].isdigit() and "n" in valued:
            values["n"] = word[1:]
            continue
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in valued:
                value = letters or (words[place] if place < len(words) else "")
                place += not letters
                values[letter], letters = value, ""
            elif letter in flags:
                given.add(letter)
            else:
                raise ShellError(f"unknown option -{letter}")
    return given, values, rest


def _whole(text: str) -> int:
    if not re.fullmatch(r"\+?\d{1,9}", text):
        raise ShellError(f"{text[:40]!r} is no number")
    return int(text)


def _texts(files: Files, names: Sequence[str], stdin: str) -> list[tuple[str, str]]:
    if not names:
        return [("-", stdin)]
    return [(name, stdin if name == "-" else files.read(name)) for name in names]


def _cat(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    given, _, names = _split(words, "nA")
    text = "".join(text for _, text in _texts(files, names, stdin))
    if "n" in given:
        text = "".join(f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(keepends=True), 1))
    return 0, text


def _echo(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del files, stdin
    silent = bool(words) and words[0] == "-n"
    rest = [word for place, word in enumerate(words) if place or word not in ("-n", "-e")]
    return 0, " ".join(rest) + ("" if silent else "\n")


def _printf(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del files, stdin
    if not words:
        raise ShellError("usage: printf format")
    text = words[0].replace("\\n", "\n").replace("\\t", "\t")
    for word in words[1:]:
        text = text.replace("%s", word, 1)
    return 0, text.replace("%s", "").replace("%%", "%")


def _ls(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del stdin
    given, _, names = _split(words, "laRA1Fhtr")
    lines: list[str] = []
    for name in names or ["."]:
        path = files.path(name)
        if path in files.texts:
            lines.append(name)
            continue
        found = files.under(name)
        inside = path.rstrip("/") + "/"
        if "R" in given:
            lines += [one.removeprefix(inside) for one in found]
            continue
        entries: set[str] = set()
        for one in found:
            first, slash, _ = one.removeprefix(inside).partition("/")
            entries.add(first + slash)
        for entry in sorted(entries):
            size = len(files.texts.get(inside + entry, ""))
            lines.append(f"{'d' if entry.endswith('/') else '-'}rw-r--r-- {size:>8} {entry}" if "l" in given else entry)
    return 0, "".join(line + "\n" for line in lines)


def _grep(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    given, values, rest = _split(words, "rRniEFlcvwoHhq", "eABC")
    if "e" in values:
        rest = [values["e"], *rest]
    if not rest:
        raise ShellError("usage: grep PATTERN FILE...")
    pattern = _pattern(rest[0], given)
    recursive = bool(given & {"r", "R"})
    if recursive:
        places = [path for name in rest[1:] or ["."] for path in files.under(name)]
        sources = [(files.shown(path), files.texts[path]) for path in places]
    else:
        sources = _texts(files, rest[1:], stdin)
    many = (recursive or len(sources) > 1 or "H" in given) and "h" not in given
    lines: list[str] = []
    for name, text in sources:
        found = [
            (number, line)
            for number, line in enumerate(text.splitlines(), 1)
            if (pattern.search(line[:_MATCHED]) is not None) != ("v" in given)
        ]
        if "l" in given:
            lines += [name] if found else []
        elif "c" in given:
            lines.append(f"{name}:{len(found)}" if many else str(len(found)))
        else:
            for number, line in found:
                lines.append((f"{name}:" if many else "") + (f"{number}:" if "n" in given else "") + line)
    if "q" in given:
        return (0 if lines else 1), ""
    return (0 if lines else 1), "".join(line + "\n" for line in lines)


def _pattern(text: str, given: set[str]) -> re.Pattern[str]:
    """A pattern as grep takes it; bounded, because it comes from a model and is matched here."""
    if len(text) > 200:
        raise ShellError("the pattern is too long")
    flags = re.IGNORECASE if "i" in given else 0
    if "F" in given:
        text = re.escape(text)
    elif "E" not in given:
        # Basic expressions: \| \( \) \+ are the operators, the bare ones are letters.
        text = re.sub(r"\\([|()+?{}])|([|()+?{}])", lambda m: m[1] if m[1] else "\\" + m[2], text)
    # It is a model's, and is matched in the worker: what could take for ever is refused.
    if re.search(r"\)[*+{?]", text) or len(re.findall(r"(?<!\\)[*+{]", text)) > 3:
        raise ShellError("repeated groups and more than three repetitions are not supported")
    if "w" in given:
        text = rf"\b(?:{text})\b"
    try:
        return re.compile(text, flags)
    except re.error as error:
        raise ShellError(f"invalid regular expression: {error}") from None


def _sed(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    given, values, rest = _split(words, "niEr", "e")
    if "e" in values:
        rest = [values["e"], *rest]
    if not rest:
        raise ShellError("usage: sed SCRIPT FILE...")
    output: list[str] = []
    for name, text in _texts(files, rest[1:], stdin):
        lines = text.splitlines(keepends=True)
        made = lines
        for script in rest[0].split("\n"):
            made = _sed_lines(script.strip(), made, given)
        if "i" in given:
            if name == "-":
                raise ShellError("no input files")
            files.write(files.path(name), "".join(made))
        else:
            output += made
    return 0, "".join(output)


def _sed_lines(script: str, lines: list[str], given: set[str]) -> list[str]:
    if (match := _RANGE.fullmatch(script)) is not None:
        first = int(match[1])
        last = len(lines) if match[2] == "$" else int(match[2] or first)
        if match[3] == "d":
            return [*lines[: first - 1], *lines[last:]]
        chosen = lines[max(0, first - 1) : last]
        return (
            chosen
            if "n" in given
            else [*lines[: first - 1], *(line for one in chosen for line in (one, one)), *lines[last:]]
        )
    match = _SUBSTITUTE.fullmatch(script)
    if match is None:
        raise ShellError(f"unsupported script: {script[:80]}")
    start, end = int(match[1] or 1), int(match[2] or match[1] or len(lines))
    pattern = _pattern(match[4].replace("\\" + match[3], match[3]), given | ({"E"} if given & {"E", "r"} else set()))
    replacement = re.sub(r"(?<!\\)&", r"\\g<0>", match[5].replace("\\" + match[3], match[3]))
    count = 0 if "g" in match[6] else 1
    try:
        return [
            pattern.sub(replacement, line, count=count) if start <= number <= end and len(line) <= _MATCHED else line
            for number, line in enumerate(lines, 1)
        ]
    except (re.error, IndexError) as error:
        raise ShellError(f"invalid replacement: {error}") from None


def _head(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    _, values, names = _split(words, "q", "nc")
    count = _whole(values.get("n", "10"))
    return 0, "".join("".join(text.splitlines(keepends=True)[:count]) for _, text in _texts(files, names, stdin))


def _tail(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    _, values, names = _split(words, "q", "n")
    told = values.get("n", "10")
    count = _whole(told)
    kept: list[str] = []
    for _, text in _texts(files, names, stdin):
        lines = text.splitlines(keepends=True)
        kept += lines[count - 1 :] if told.startswith("+") else lines[-count:] if count else []
    return 0, "".join(kept)


def _wc(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    given, _, names = _split(words, "lwc")
    lines: list[str] = []
    for name, text in _texts(files, names, stdin):
        counts = {"l": text.count("\n"), "w": len(text.split()), "c": len(text.encode())}
        told = " ".join(str(counts[key]) for key in "lwc" if not given or key in given)
        lines.append(f"{told} {name}" if names else told)
    return 0, "".join(line + "\n" for line in lines)


def _sort(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    given, _, names = _split(words, "rnu")
    lines = [line for _, text in _texts(files, names, stdin) for line in text.splitlines()]
    lines = list(dict.fromkeys(lines)) if "u" in given else lines
    number = re.compile(r"\s*(-?\d+(?:\.\d+)?)")
    lines.sort(key=(lambda line: (float(m[1]) if (m := number.match(line)) else 0.0, line)) if "n" in given else str)
    return 0, "".join(line + "\n" for line in (reversed(lines) if "r" in given else lines))


def _uniq(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    given, _, names = _split(words, "c")
    lines = [line for _, text in _texts(files, names, stdin) for line in text.splitlines()]
    kept: list[list[str]] = []
    for line in lines:
        if kept and kept[-1][0] == line:
            kept[-1].append(line)
        else:
            kept.append([line])
    return 0, "".join((f"{len(run):7} " if "c" in given else "") + run[0] + "\n" for run in kept)


def _find(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del stdin
    places: list[str] = []
    rest = list(words)
    while rest and not rest[0].startswith("-"):
        places.append(rest.pop(0))
    name, kind = "*", "f"
    while rest:
        option = rest.pop(0)
        if option in ("-name", "-iname", "-type", "-maxdepth", "-path") and rest:
            value = rest.pop(0)
            name = value if option in ("-name", "-iname") else name
            kind = value if option == "-type" else kind
        elif option not in ("-print",):
            raise ShellError(f"unknown predicate `{option}'")
    found = [path for place in places or ["."] for path in files.under(place)]
    if kind == "d":
        found = sorted({path.rsplit("/", 1)[0] for path in found})
    return 0, "".join(f"{files.shown(path)}\n" for path in found if fnmatchcase(path.rsplit("/", 1)[-1], name))


def _cp(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del stdin
    _, _, names = _split(words, "rRaf")
    return _moved(files, names, keep=True)


def _mv(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del stdin
    _, _, names = _split(words, "f")
    return _moved(files, names, keep=False)


def _moved(files: Files, names: Sequence[str], *, keep: bool) -> tuple[int, str]:
    if len(names) != 2:
        raise ShellError("needs a source and a target")
    source, target = files.path(names[0]), files.path(names[1])
    paths = files.under(names[0])
    into = target.rstrip("/") + "/" + source.rsplit("/", 1)[-1] if files.is_folder(target) else target
    for path in paths:
        made = into + path.removeprefix(source)
        if made != path:
            files.write(made, files.texts[path])
            if not keep:
                del files.texts[path]
    return 0, ""


def _rm(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del stdin
    given, _, names = _split(words, "rRf")
    for name in names:
        path = files.path(name)
        if path in files.texts:
            del files.texts[path]
        elif files.is_folder(path) and given & {"r", "R"}:
            for one in files.under(name):
                del files.texts[one]
        elif "f" not in given:
            raise ShellError(f"cannot remove '{name}': No such file or directory")
    return 0, ""


def _cd(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del stdin
    path = files.path(words[0] if words else "/work")
    if not files.is_folder(path):
        raise ShellError(f"{words[0]}: No such file or directory")
    files.here = path
    return 0, ""


def _pwd(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del words, stdin
    return 0, files.here + "\n"


def _nothing(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del files, words, stdin
    return 0, ""


def _false(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    del files, words, stdin
    return 1, ""


def _tee(files: Files, words: Sequence[str], stdin: str) -> tuple[int, str]:
    given, _, names = _split(words, "a")
    for name in names:
        path = files.path(name)
        files.write(path, files.texts.get(path, "") + stdin if "a" in given else stdin)
    return 0, stdin


COMMANDS: dict[str, Command] = {
    "cat": _cat,
    "cd": _cd,
    "cp": _cp,
    "echo": _echo,
    "false": _false,
    "find": _find,
    "grep": _grep,
    "head": _head,
    "ls": _ls,
    "mkdir": _nothing,
    "mv": _mv,
    "printf": _printf,
    "pwd": _pwd,
    "rm": _rm,
    "sed": _sed,
    "sort": _sort,
    "tail": _tail,
    "tee": _tee,
    "touch": lambda files, words, stdin: (_tee(files, ["-a", *words], "")[0], ""),
    "true": _nothing,
    "uniq": _uniq,
    "wc": _wc,
}
