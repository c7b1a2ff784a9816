"""Relaymark scores the whole relay team: LLM endpoints and pipelines, timed leg by leg, with an error bar."""

__version__ = "0.1.0"
