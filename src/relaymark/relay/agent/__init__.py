"""Conversations of agents as tasks: recorded ones replayed, and a small agent that really works."""
