"""Rows made for a test: what is not named is alike in all of them."""

from __future__ import annotations

from typing import Any

from relaymark.published.normalise import normalise
from relaymark.published.row import Row

ALIKE = {
    "organization": "Acme",
    "availability": "available",
    "division": "closed",
    "category": "datacenter",
    "platform": "box",
    "benchmark": "gpt-oss-120b",
    "model": "gpt-oss-120b",
    "scenario": "Offline",
    "result": "1000.5",
    "units": "Tokens/s",
    "accuracy": "exact_match: 83.1",
    "nodes": "1",
    "accelerator": "NVIDIA H200-SXM-141GB",
    "total": "8",
    "framework": "vLLM 1",
    "weights": "fp8",
}


def made(record: int = 2, round_name: str = "v9.9", **fields: Any) -> Row:
    """A row as the importer would make it; fields are those of a raw record, as text or number."""
    return normalise(round_name, record, {**ALIKE, **{name: str(value) for name, value in fields.items()}}, {})


def several(*each: dict[str, Any], **common: Any) -> list[Row]:
    """Rows with records 2, 3, …"""
    return [made(record, **{**common, **fields}) for record, fields in enumerate(each, 2)]
