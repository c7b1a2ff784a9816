"""How text is found: parsing, chunking, embedding, reranking and the vector index, and the process that runs them.

Everything is imported where it is used (``relaymark.retrieval.build``, ``.client``, ``.process``, ``.embedding``,
``.index``, ``.reranking``, ``.parsing``): a worker needs the client alone, and numpy or a model runtime costs others
dear.
"""
