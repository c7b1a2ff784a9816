"""Opens the embedder that a specification names; each kind's libraries are loaded only then."""

from __future__ import annotations

from relaymark.errors import ConfigError
from relaymark.retrieval.protocols import Embedder
from relaymark.retrieval.specs import EmbedderSpec


def open_embedder(spec: EmbedderSpec) -> Embedder:
    """Opens an embedder.

    Raises:
        ConfigError: Its files are missing or not of that kind, or a package is not installed (says which).
    """
    try:
        if spec.kind == "static":
            from relaymark.retrieval.embedding.static import StaticEmbedder  # noqa: PLC0415 - only who has it

            return StaticEmbedder(spec)
        if spec.kind == "onnx":
            from relaymark.retrieval.embedding.onnx import OnnxEmbedder  # noqa: PLC0415 - only who has it

            return OnnxEmbedder(spec)
        if spec.kind == "sentence-transformers":
            from relaymark.retrieval.embedding.sentence import SentenceEmbedder  # noqa: PLC0415 - only who has it

            return SentenceEmbedder(spec)
        from relaymark.retrieval.embedding.endpoint import EndpointEmbedder  # noqa: PLC0415 - only who has it

        return EndpointEmbedder(spec)
    except ImportError as error:
        raise ConfigError(
            f"the embedder needs a package that isn't installed: {error.name}",
            where=f"embedder.kind {spec.kind}",
            mend="pip install sentence-transformers"
            if spec.kind == "sentence-transformers"
            else "pip install 'relaymark[rag]'",
        ) from None
