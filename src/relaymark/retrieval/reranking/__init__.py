"""Rerankers behind one door."""

from relaymark.retrieval.reranking.door import open_reranker

__all__ = ["open_reranker"]
