"""Vector indexes behind one door, and the folder they are published in."""

from relaymark.retrieval.index.door import load_index, new_index
from relaymark.retrieval.index.manifest import Manifest
from relaymark.retrieval.index.published import PublishedIndex, check_place, open_published, publish
from relaymark.retrieval.index.store import PassageStore, PassageWriter

__all__ = [
    "Manifest",
    "PassageStore",
    "PassageWriter",
    "PublishedIndex",
    "check_place",
    "load_index",
    "new_index",
    "open_published",
    "publish",
]
