from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.bench import LoadSpec, StageSpec
from relaymark.load import Part, build_schedule, partition, schedule_sha256

S = 10**9


def stage(index: int = 0, *, duration: int | None = None, requests: int | None = None, **load: Any) -> StageSpec:
    return StageSpec(index=index, name=f"stage {index}", load=LoadSpec(**load), duration=duration, requests=requests)


def poisson(index: int = 0) -> StageSpec:
    return stage(index, kind="poisson", rate=20.0, duration=30 * S)


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 64, 1000])
def test_open_parts_are_every_nth_task_and_together_the_schedule(workers: int) -> None:
    schedule = build_schedule(poisson(), 3)
    assert schedule.times is not None
    before = schedule.sha256()
    owned: dict[int, int] = {}
    for part in partition(schedule, workers):
        sends = part.send_times()
        assert part.quota == len(sends)
        for k, at in enumerate(sends):
            assert part.task_index(k) not in owned
            owned[part.task_index(k)] = at
    assert [owned[index] for index in range(len(owned))] == schedule.times.tolist()
    assert schedule.sha256() == before


@settings(deadline=None)
@given(slots=st.integers(1, 50), workers=st.integers(1, 20), requests=st.integers(1, 300))
def test_closed_parts_share_slots_and_requests_without_gap_or_repeat(slots: int, workers: int, requests: int) -> None:
    parts = partition(build_schedule(stage(kind="concurrency", concurrency=slots, requests=requests), 0), workers)
    assert sum(part.slots for part in parts) == slots
    assert max(part.slots for part in parts) - min(part.slots for part in parts) <= 1
    started = [part.task_index(k) for part in parts for k in range(part.quota or 0)]
    assert sorted(started) == list(range(requests))
    assert all(part.slots or not part.quota for part in parts)


def test_closed_parts_without_a_quota_never_repeat_a_task() -> None:
    parts = partition(build_schedule(stage(kind="concurrency", concurrency=5, duration=S), 0), 3)
    started = [part.task_index(k) for part in parts for k in range(40)]
    assert len(set(started)) == len(started)
    assert all(part.quota is None and part.duration == S for part in parts)


def test_single_is_one_slot_with_one_worker() -> None:
    parts = partition(build_schedule(stage(kind="single", concurrency=1, requests=9), 0), 4)
    assert [(part.slots, part.quota) for part in parts] == [(1, 9), (0, 0), (0, 0), (0, 0)]


def test_a_part_survives_msgpack() -> None:
    part = partition(build_schedule(poisson(), 3), 2)[1]
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(part), type=Part)
    assert again == part
    assert list(again.send_times()) == list(part.send_times())


def test_the_hash_covers_every_stage_its_order_and_its_limits_but_not_its_name() -> None:
    def run(*stages: StageSpec) -> str:
        return schedule_sha256([build_schedule(spec, 5) for spec in stages])

    closed = stage(1, kind="concurrency", concurrency=4, duration=S)
    whole = run(poisson(), closed)
    renamed = msgspec.structs.replace(closed, name="other")
    assert run(poisson(), renamed) == whole
    wider = stage(1, kind="concurrency", concurrency=5, duration=S)
    longer = stage(1, kind="concurrency", concurrency=4, duration=2 * S)
    assert len({whole, run(poisson(), wider), run(poisson(), longer), run(poisson()), run(closed, poisson())}) == 5


def test_the_offered_rate_is_what_the_schedule_asks_for() -> None:
    assert build_schedule(stage(kind="constant", rate=4.0, duration=10 * S), 0).offered_rate == 4.0
    assert build_schedule(stage(kind="constant", rate=4.0, requests=10), 0).offered_rate == 4.0
    assert build_schedule(stage(kind="offline", requests=10), 0).offered_rate is None
    assert build_schedule(stage(kind="single", concurrency=1, requests=10), 0).offered_rate is None


def test_workers_load_parts_and_prompts_without_heavy_modules() -> None:
    code = (
        "import sys; from relaymark.load import Part; from relaymark.data import load_prompts, Prompt;"
        "from relaymark.bench import PromptSource, StageSpec, SloSpec;"
        "load_prompts(PromptSource(kind='builtin')).for_task(3);"
        "print([m for m in ('numpy', 'pydantic', 'ruamel.yaml', 'pyarrow') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
