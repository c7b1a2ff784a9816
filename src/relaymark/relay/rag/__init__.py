"""Retrieval-augmented generation as tasks: the loop, its LLM roles, its retrieval, and what it leaves behind."""
