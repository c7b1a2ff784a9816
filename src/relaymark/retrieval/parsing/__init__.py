"""Documents to text: HTML as MLPerf's reference reads it or fast, Markdown, plain text, JSON lines."""

from relaymark.retrieval.parsing.documents import Corpus, Document, find_documents
from relaymark.retrieval.parsing.door import Parser, open_parser

__all__ = ["Corpus", "Document", "Parser", "find_documents", "open_parser"]
