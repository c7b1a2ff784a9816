"""A load level's figures made by hand."""

from __future__ import annotations

from relaymark.measure.summary import Stage


def stage_of(*, seconds: float, requests: int, ok: int, prompt: int, output: int, goodput: float | None) -> Stage:
    return Stage(
        index=0, name="x", load="x", duration=seconds * 1e9, requests=requests,
        outcomes={"ok": ok, "reset": requests - ok}, in_flight_at_end=0, distributions={}, offered_rate=None,
        request_rate=ok / seconds, output_token_rate=output / seconds, input_token_rate=prompt / seconds,
        prompt_tokens=prompt, completion_tokens=output, reasoning_tokens=None, cached_tokens=None, partial_tokens=0,
        goodput=goodput, slos=[], unique_prompts=None, coalesced_share=None, one_piece_share=None,
        token_source="usage", itl_weights="one",
    )  # fmt: skip
