"""A shell of a few commands over files that exist in memory alone. Nothing of the host is ever touched.

It understands words and quotes, ``>`` and ``>>``, here-documents, and ``;``, ``&&``, ``||`` and ``|`` between
commands: what agents write. There are no variables, no globs in writes, no processes; what is not known is an error
in words, as a shell gives it. Files, their sizes, output and the number of commands are bounded.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from relaymark.relay.agent.commands import COMMANDS
from relaymark.relay.agent.files import Files, ShellError

MAX_OUTPUT = 10_000  # characters; the middle of a longer output is left out
MAX_COMMANDS = 50  # in one call
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1")


@dataclass(slots=True)
class Shell:
    """Runs command lines over some files."""

    files: Files = field(default_factory=Files)

    def run(self, command: str) -> tuple[int, str]:
        """Runs a command line; its return code and what it printed. Never raises for what is written."""
        try:
            code, output = self._run(command)
        except ShellError as error:
            code, output = 2, f"sh: {error}\n"
        except RecursionError:
            code, output = 2, "sh: the expression is too deep\n"
        if len(output) > MAX_OUTPUT:
            half = MAX_OUTPUT // 2
            output = f"{output[:half]}\n[{len(output) - MAX_OUTPUT} characters left out]\n{output[-half:]}"
        return code, output

    def _run(self, command: str) -> tuple[int, str]:
        words, documents = _words(command)
        output: list[str] = []
        code, piped, skip = 0, None, False
        count = 0
        for operator, pieces in _commands(words):
            if operator == "&&":
                skip = code != 0
            elif operator == "||":
                skip = code == 0
            elif operator != "|":
                skip = False
            if operator != "|":
                piped = None
            if not pieces or skip:
                continue
            count += 1
            if count > MAX_COMMANDS:
                raise ShellError(f"more than {MAX_COMMANDS} commands in one line")
            stdin = piped if operator == "|" else documents.pop(0) if _reads(pieces) and documents else ""
            if operator == "|" and output:
                output.pop()  # what was printed goes into the pipe
            code, text = self._one(pieces, stdin or "")
            output.append(text)
            piped = text
        return code, "".join(output)

    def _one(self, pieces: Sequence[str], stdin: str) -> tuple[int, str]:
        words, target, append, quiet = _redirected(pieces)
        if not words:
            raise ShellError("a command is missing")
        call = COMMANDS.get(words[0].rsplit("/", 1)[-1])
        if call is None:
            return 127, "" if quiet else f"sh: {words[0][:80]}: not found\n"
        try:
            code, text = call(self.files, words[1:], stdin)
        except ShellError as error:
            return 1, "" if quiet else f"{words[0]}: {error}\n"
        if target is None or target == "/dev/null":
            return code, text if target is None else ""
        path = self.files.path(target)
        self.files.write(path, self.files.texts.get(path, "") + text if append else text)
        return code, ""


def _words(command: str) -> tuple[list[str], list[str]]:
    """The words and operators of a command line, and the texts of its here-documents."""
    lines = command.split("\n")
    documents: list[str] = []
    kept: list[str] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        marks = [match[2] for match in _HEREDOC.finditer(line)]
        kept.append(_HEREDOC.sub(" ", line))
        for mark in marks:
            body: list[str] = []
            while place < len(lines) and lines[place].strip() != mark:
                body.append(lines[place])
                place += 1
            place += 1
            documents.append("\n".join(body) + "\n" if body else "")
        if marks:
            kept[-1] = kept[-1].rstrip() + " \x00here"
    words: list[str] = []
    for number, line in enumerate(_joined(kept)):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        try:
            found = list(lexer)
        except ValueError as error:
            raise ShellError(f"syntax error: {str(error).lower()}") from None
        if number:
            words.append("\n")
        words += found
    return words, documents


def _joined(lines: Sequence[str]) -> list[str]:
    """Lines, those joined whose quotes reach over a line's end."""
    joined: list[str] = []
    open_line = ""
    for line in lines:
        open_line = f"{open_line}\n{line}" if open_line else line
        try:
            shlex.split(open_line, comments=False)
        except ValueError:
            continue
        joined.append(open_line)
        open_line = ""
    return [*joined, open_line] if open_line else joined


def _commands(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """(operator before it, its words) of each command."""
    found: list[tuple[str, list[str]]] = [(";", [])]
    for word in words:
        if word in (";", "&&", "||", "|", "\n", "&"):
            found.append((";" if word in ("\n", "&") else word, []))
        else:
            found[-1][1].append(word)
    return found


def _reads(pieces: Sequence[str]) -> bool:
    return "\x00here" in pieces


class _Redirected(NamedTuple):
    """A command's words, and where what it prints goes."""

    words: list[str]
    target: str | None
    append: bool
    quiet: bool  # complaints go nowhere


def _redirected(pieces: Sequence[str]) -> _Redirected:
    words: list[str] = []
    target: str | None = None
    append = quiet = False
    place = 0
    while place < len(pieces):
        word = pieces[place]
        following = pieces[place + 1] if place + 1 < len(pieces) else None
        if word in (">", ">>", "<", ">&", "&>"):
            if following is None:
                raise ShellError("syntax error near unexpected token `newline'")
            stream = words.pop() if word != "<" and words and words[-1] in ("1", "2") else "1"
            if word == "<":
                words.append(following)
            elif stream == "2":
                quiet = following == "/dev/null"
            elif word != ">&":
                target, append = following, word == ">>"
            place += 1
        elif word != "\x00here":
            words.append(word)
        place += 1
    return _Redirected(words, target, append, quiet)
