"""From a live agent's benchmark to a run folder that is ready to run."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec

from relaymark.bench.agent_live import AgentLive
from relaymark.data.repairs import repairs
from relaymark.relay.agent.plan import LivePlan
from relaymark.relay.foldering import Content, Drawn, make_folder, plan_of, with_model
from relaymark.relay.pack import write_pack
from relaymark.relay.plan import Plan


def prepare_live(bench: AgentLive, parent: Path) -> Path:
    """Looks at the endpoint, then makes a run folder under ``parent`` with all that the workers need.

    Raises:
        ConfigError: The model, key or a header cannot be used.
        UnreachableError: The endpoint does not answer.
        TraceError: The folder cannot be made.
    """
    named, url, facts = with_model(bench.limited())
    drawn = Drawn.of(named)
    sampling = named.sampling.request_fields()
    limit = sampling.pop("max_tokens", None)
    tasks = repairs(named.seed, named.tasks)

    def fill(folder: Path) -> tuple[Plan, Content]:
        write_pack(folder, iter(()))
        plan = plan_of(named, drawn)
        plan.live = LivePlan(
            tasks=named.tasks,
            seed=named.seed,
            max_turns=named.max_turns,
            max_tokens=limit if isinstance(limit, int) else None,
            sampling=sampling,
        )
        return plan, Content(len(tasks), sha256(msgspec.json.encode(tasks)).hexdigest())

    return make_folder(parent, named, drawn, url, facts, fill)
