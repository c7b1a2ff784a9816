"""From a benchmark to a run folder that is ready to run: prompts serialised, schedules drawn, everything hashed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from relaymark.bench import Benchmark, StageSpec
from relaymark.bench.agent_live import AgentLive
from relaymark.bench.agent_replay import AgentReplay
from relaymark.bench.rag_ask import RagAsk
from relaymark.data import PromptSet, load_prompts
from relaymark.dialects import Dialect, dialect
from relaymark.errors import ConfigError
from relaymark.relay.foldering import Content, Drawn, make_folder, plan_of, planned_of, with_model
from relaymark.relay.pack import write_pack
from relaymark.relay.plan import Plan

_PACK_BYTES = 2 << 30
# Prompts made for a closed loop that only a duration limits, where nobody knows how many will be sent.
_UNKNOWN_COUNT = 2_000


def prepare(bench: Benchmark, parent: Path, base_dir: Path) -> Path:
    """Looks at the endpoint, then makes a run folder under ``parent`` with all that the workers need.

    Args:
        bench: What is to be run. A missing model is filled in from what the endpoint serves.
        parent: Folder of runs; made if need be.
        base_dir: What a relative prompt file counts from.

    Raises:
        ConfigError: The prompts, model, key or a header cannot be used.
        UnreachableError: The endpoint does not answer.
        TraceError: The folder cannot be made.
    """
    if isinstance(bench, RagAsk):
        from relaymark.relay.rag.preparation import prepare_rag  # noqa: PLC0415 - it builds on this file

        return prepare_rag(bench, parent)
    if isinstance(bench, AgentReplay):
        from relaymark.relay.agent.preparation import prepare_replay  # noqa: PLC0415 - it builds on this file

        return prepare_replay(bench, parent)
    if isinstance(bench, AgentLive):
        from relaymark.relay.agent.live_preparation import prepare_live  # noqa: PLC0415 - it builds on this file

        return prepare_live(bench, parent)
    prompts = load_prompts(bench.prompt_source(), seed=bench.seed_of_data, base_dir=base_dir)
    drawn = Drawn.of(bench)
    named, url, facts = with_model(bench)
    api, model = dialect(named.endpoint.dialect), named.endpoint.model or ""

    def fill(folder: Path) -> tuple[Plan, Content]:
        counts = [planned_of(schedule) for schedule in drawn.schedules]
        firsts, needed = _prompt_ranges(counts, drawn.stages)
        count, digest = write_pack(folder, _bodies(named, api, model, prompts, min(needed, len(prompts))))
        return plan_of(named, drawn, firsts), Content(count, digest)

    return make_folder(parent, named, drawn, url, facts, fill)


def _prompt_ranges(counts: list[int | None], stages: list[StageSpec]) -> tuple[list[int], int]:
    """Where in the pack each stage begins, and how many prompts that asks for.

    Stages go on where the one before stopped, so that no stage is flattered by a prefix cache that an earlier one
    filled; the warm-up takes its own from the end (vllm bench re-sends prompt 0, which primes the cache).
    """
    total = sum(count or _UNKNOWN_COUNT for count in counts)
    firsts: list[int] = []
    following = 0
    for count, stage in zip(counts, stages, strict=True):
        size = count or _UNKNOWN_COUNT
        if stage.index < 0:
            firsts.append(total - size)
        else:
            firsts.append(following)
            following += size
    return firsts, total


def _bodies(bench: Benchmark, api: Dialect, model: str, prompts: PromptSet, count: int) -> Iterator[bytes]:
    sampling = bench.sampling.request_fields()
    size = 0
    for index in range(count):
        prompt = prompts[index]
        _, body = api.encode(
            messages=prompt.messages,
            text=prompt.text,
            max_tokens=prompt.max_tokens,
            extra=prompt.extra,
            sampling=sampling,
            model=model,
            stream=bench.stream,
        )
        size += len(body)
        if size > _PACK_BYTES:
            raise ConfigError(
                f"The requests come to more than {_PACK_BYTES >> 30} GiB.",
                where="prompts",
                mend="Use fewer or shorter prompts; prompts.synthetic.unique bounds how many are made.",
            )
        yield body
