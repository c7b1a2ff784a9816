"""A look-alike workload from a profile: conversations with the same lengths and pauses, in words of our own.

Each conversation takes after one of the profile's, drawn by the seed. A turn has its length to the character: what it
says is made up, a shell command now and then, and never the recorded text, which a profile does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from relaymark.data.trajectories.model import Call, Reply, Result, Trajectory, Turn
from relaymark.data.trajectories.profiling import ConversationProfile, Profile, TurnProfile
from relaymark.errors import ConfigError

_SYSTEM = "You repair a program by running shell commands, one at a time, and reading what they print. "
_TOOL = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Runs a command and returns what it prints.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
}
_NOUN_WORDS = """
parser buffer window signal report ledger filter worker handler column packet border driver token module record schema
bucket socket thread cursor margin folder engine
"""
_VERB_WORDS = "reads drops keeps sorts splits joins checks copies counts closes opens writes skips loses moves"
_NOUNS, _VERBS = tuple(_NOUN_WORDS.split()), tuple(_VERB_WORDS.split())
_THOUGHTS = (
    "The {a} {v} the {b} before the {c} is ready.",
    "Let me look at how the {a} {v} its {b}.",
    "It seems that the {b} of the {a} {v} one {c} too many.",
    "Next the {a} should be tested with an empty {b}.",
)
_OUTPUT = (
    "src/{a}/{b}.py:{n}: {v} {c}",
    "    def {a}_{b}(self, {c}, limit={n}):",
    "test_{a}.py::test_{b}_{v} PASSED [{p}%]",
    "        return self.{a}.{b}({c}[{n}:])",
)
_COMMANDS = (
    "grep -rn '{a}_{b}' src/",
    "sed -n '{n},{m}p' src/{a}/{b}.py",
    "python -m pytest tests/test_{a}.py -q",
    "cat src/{a}/{b}.py | head -{n}",
    "git diff src/{a}",
    "find . -name '{b}*.py'",
)


def small_profile() -> Profile:
    """A profile of our own for a small machine: eight turns, contexts that grow from some 300 tokens to 1,500."""
    lengths = (
        (900, 60, 120),
        (350, 70, 60),
        (600, 50, 90),
        (250, 80, 140),
        (500, 60, 70),
        (700, 90, 60),
        (300, 50, 110),
    )
    turns = [
        TurnProfile(
            role="user" if not place else "tool",
            new_input_chars=fresh,
            reasoning_chars=thought,
            tool_args_chars=arguments,
            tool_calls=1,
            delay_s=None if not place else 0.2,
        )
        for place, (fresh, arguments, thought) in enumerate(lengths)
    ]
    turns.append(TurnProfile(role="tool", new_input_chars=200, content_chars=160, delay_s=0.1))
    return Profile(conversations=[ConversationProfile(turns=turns, system_chars=95, n_tools=1)])


def synthesise(
    profile: Profile, *, seed: int, conversations: int, scale: float = 1.0, most_turns: int | None = None
) -> Iterator[Trajectory]:
    """Conversations that look like the profile's.

    Args:
        profile: Whose lengths they have.
        seed: Same seed, same conversations.
        conversations: How many.
        scale: Multiplies every length, for machines that read a few hundred tokens a second.
        most_turns: Longer conversations are cut there.

    Raises:
        ConfigError: A number makes no sense.
    """
    if conversations < 1 or not 0 < scale <= 100 or (most_turns is not None and most_turns < 1):
        raise ConfigError("needs at least one conversation and turn, and a scale above 0 and up to 100")
    usable = [one for one in profile.conversations if one.turns]
    order: list[ConversationProfile] = []
    for number in range(conversations):
        draw = Random(f"{seed}/{number}")  # noqa: S311 - repeatable, not secret
        if not order:
            # Without replacement as long as there are any: a set as large as the profile's has just its lengths.
            order = list(usable)
            Random(f"{seed}/order/{number}").shuffle(order)  # noqa: S311
        yield _conversation(order.pop(), f"synthetic-{number + 1:05}", draw, scale, most_turns)


def _conversation(like: ConversationProfile, name: str, draw: Random, scale: float, most: int | None) -> Trajectory:
    turns: list[Turn] = []
    calls: tuple[Call, ...] = ()
    for number, turn in enumerate(like.turns[:most]):
        if turn.role == "tool" and calls:
            incoming = _scaled(turn.new_input_chars, scale)
            share = max(1, incoming // len(calls))
            results = tuple(Result(call.id, _output(draw, share)) for call in calls)
            made = Turn("tool", results=results, delay=turn.delay_s)
        else:
            made = Turn("user", _prose(draw, _scaled(turn.new_input_chars, scale)), delay=turn.delay_s)
        reply = _reply(turn, number, draw, scale)
        calls = reply.calls
        turns.append(Turn(made.role, made.content, made.results, made.delay, reply))
    system = (_SYSTEM * (like.system_chars // len(_SYSTEM) + 1))[: max(1, like.system_chars or len(_SYSTEM))].strip()
    return Trajectory(name, tuple(turns), system or _SYSTEM.strip(), (_TOOL,))


def _reply(turn: TurnProfile, number: int, draw: Random, scale: float) -> Reply:
    reasoning = _prose(draw, _scaled(turn.reasoning_chars, scale)) if turn.reasoning_chars else None
    content = _prose(draw, _scaled(turn.content_chars, scale)) if turn.content_chars else None
    calls = tuple(
        Call(
            f"call:{number}:{place}", "bash", _arguments(draw, _scaled(turn.tool_args_chars, scale) // turn.tool_calls)
        )
        for place in range(turn.tool_calls)
    )
    if not calls and not content:
        content = "Done."
    return Reply(content, reasoning, calls)


def _scaled(length: int, scale: float) -> int:
    return max(1, round(length * scale))


def _fill(draw: Random, form: str) -> str:
    start = draw.randrange(1, 400)
    return form.format(
        a=draw.choice(_NOUNS),
        b=draw.choice(_NOUNS),
        c=draw.choice(_NOUNS),
        v=draw.choice(_VERBS),
        n=start,
        m=start + draw.randrange(5, 60),
        p=draw.randrange(100),
    )


def _exactly(draw: Random, length: int, forms: tuple[str, ...], between: str) -> str:
    """Text of just this length."""
    pieces: list[str] = []
    size = -len(between)
    while size < length:
        pieces.append(_fill(draw, draw.choice(forms)))
        size += len(pieces[-1]) + len(between)
    return between.join(pieces)[:length].ljust(length, ".")


def _prose(draw: Random, length: int) -> str:
    return _exactly(draw, length, _THOUGHTS, " ")


def _output(draw: Random, length: int) -> str:
    head = "<returncode>0</returncode>\n<output>\n"
    return head + _exactly(draw, length - len(head), _OUTPUT, "\n") if length > len(head) + 8 else "." * length


def _arguments(draw: Random, length: int) -> str:
    """``{"command": …}`` of this length, as near as a command that means something allows."""
    room = length - len('{"command":""}')
    command = _fill(draw, draw.choice(_COMMANDS))
    while len(command) + 4 < room:
        more = _fill(draw, draw.choice(_COMMANDS))
        if len(command) + 4 + len(more) > room:
            break
        command += " && " + more
    if len(command) + 3 < room:
        command += " # " + _exactly(draw, room - len(command) - 3, _THOUGHTS, " ").replace('"', "'")
    return f'{{"command":"{command}"}}'
