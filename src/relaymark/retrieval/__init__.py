"""How text is found: parsing, chunking, embedding, reranking and the vector index, and the process that runs them."""
