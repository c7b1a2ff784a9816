"""Embedders behind one door."""

from relaymark.retrieval.embedding.door import open_embedder

__all__ = ["open_embedder"]
