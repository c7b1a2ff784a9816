"""The file of an agent that works by itself: ``kind: agent-live``."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from relaymark.bench._fields import Count, refuse
from relaymark.bench._sections import Sampling, Timeouts
from relaymark.bench.model import Benchmark
from relaymark.bench.rag_ask import Accuracy


class AgentLive(Benchmark):
    """A small agent with one tool, a shell over files in memory, on repair tasks whose end state is checked.

    ``tasks`` different ones are made from the seed; ``requests`` is how many are begun (each once, without a limit).
    The shell knows a few commands and never touches this machine. ``accuracy`` gates the share that is solved.
    """

    task_word: ClassVar[str] = "tasks"

    kind: Literal["agent-live"] = "agent-live"
    tasks: Annotated[Count, Field(le=100_000)] = 24
    max_turns: Annotated[Count, Field(le=200)] = 15
    sampling: Sampling = Sampling(max_tokens=512, temperature=0)
    timeouts: Timeouts = Timeouts.model_validate({"idle": "none", "total": "600s", "drain": "600s"})
    accuracy: Accuracy | None = None

    @model_validator(mode="after")
    def _speaks_chat(self) -> AgentLive:
        if self.endpoint.dialect != "openai-chat":
            raise refuse("calls tools: its endpoint must speak openai-chat", "drop endpoint.dialect")
        return self

    def limited(self) -> AgentLive:
        """The same with every task taken once, where the file sets no limit."""
        if self.duration is not None or self.requests is not None or any(s.duration or s.requests for s in self.stages):
            return self
        return self.model_copy(update={"requests": self.tasks})
