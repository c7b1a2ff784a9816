"""Opens the reranker that a specification names."""

from __future__ import annotations

from relaymark.errors import ConfigError
from relaymark.retrieval.protocols import Reranker
from relaymark.retrieval.specs import RerankerSpec


def open_reranker(spec: RerankerSpec) -> Reranker | None:
    """Opens a reranker; ``None`` where there is none.

    Raises:
        ConfigError: Its files are missing or not of that kind, or a package is not installed (says which).
    """
    if spec.kind == "none":
        return None
    try:
        if spec.kind == "endpoint":
            from relaymark.retrieval.reranking.endpoint import EndpointReranker  # noqa: PLC0415 - only who has it

            return EndpointReranker(spec)
        from relaymark.retrieval.reranking.late_interaction import LateInteraction  # noqa: PLC0415 - only who has it

        return LateInteraction(spec)
    except ImportError as error:
        raise ConfigError(
            f"the reranker needs a package that isn't installed: {error.name}",
            where=f"reranker.kind {spec.kind}",
            mend="pip install 'relaymark[rag]'",
        ) from None
