"""What a turn does, by MLPerf's rule; and the figures that the specification gives of the recording."""

from __future__ import annotations

from collections import Counter

import pytest
from recorded import SHARED_FILE, needs_the_recording

from relaymark.data.trajectories import load_trajectories
from relaymark.score.actions import actions_of, classes_of, overlap
from relaymark.trace.turns import SaidCall


@pytest.mark.parametrize(
    ("command", "classes"),
    [
        ("cd /testbed && python3.11 -m pytest -x | tail -20", ["python", "tail"]),
        ("grep -rn 'a; rm x' . || echo none", ["grep"]),
        ("FOO=1 env BAR=2 sudo /usr/bin/python2 x.py; cat a\nless b", ["python", "cat", "cat"]),
        ('echo "unclosed; python x', ["python"]),
        ("cat > a.py << 'EOF'\npython inside\nprint('x')\nEOF", ["cat", "python"]),
        (". venv/bin/activate; source x; `cat y`", ["source", "source"]),
        ("RG -n x; ./manage.py; pip3.12 install y; time -p ls", ["grep", "pip"]),
        ("", []),
    ],
)
def test_commands_have_the_classes_of_the_rule(command: str, classes: list[str]) -> None:
    assert list(classes_of(command)) == classes


def test_only_bash_with_a_command_counts() -> None:
    calls = [
        SaidCall("bash", '{"command": "ls; ls"}'),
        SaidCall("bash", '{"cmd": "cat x"}'),
        SaidCall("python", '{"command": "ls"}'),
        SaidCall("bash", "[1]"),
        SaidCall("bash", "{broken"),
        SaidCall("bash", '{"command": 5}'),
    ]
    assert actions_of(calls) == Counter(ls=2, cat=1)


def test_overlap_by_hand() -> None:
    assert overlap(Counter(cat=2, grep=1), Counter(cat=1, sed=1)) == 1 / 4
    assert overlap(Counter(cat=1), Counter()) == 0


@needs_the_recording
def test_the_recordings_figures_are_those_of_the_specification() -> None:
    scores: dict[str, list[float]] = {"python": [], "sed": [], "grep": [], "before": []}
    total: Counter[str] = Counter()
    sizes: Counter[int] = Counter()
    for one in load_trajectories(SHARED_FILE):
        before: Counter[str] = Counter()
        for turn in one.turns:
            assert turn.reply is not None
            wanted = actions_of([SaidCall(call.name, call.arguments) for call in turn.reply.calls])
            if wanted:
                total.update(wanted)
                sizes[min(3, wanted.total())] += 1
                for program in ("python", "sed", "grep"):
                    scores[program].append(overlap(wanted, Counter((program,))))
                scores["before"].append(overlap(wanted, before))
            before = wanted
    assert len(scores["before"]) == 1006
    means = {name: round(sum(values) / len(values), 4) for name, values in scores.items()}
    assert means == {"python": 0.2625, "sed": 0.2136, "grep": 0.1560, "before": 0.3235}
    assert total.most_common(3) == [("python", 361), ("grep", 228), ("sed", 227)]
    assert sizes == {1: 680, 2: 266, 3: 60}
