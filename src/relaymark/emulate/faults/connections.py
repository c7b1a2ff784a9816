"""Connections that end early, late or never."""

from __future__ import annotations

import asyncio

from relaymark.emulate.faults.registry import absent, fault, none_at_all, until_cut
from relaymark.emulate.faults.stage import Stage
from relaymark.trace import Outcome

_ALL = ("chat", "completions", "responses", "embeddings")


@fault("keepalive-race", 23, "The server closes a kept-alive connection just as the next request arrives.",
       apis=_ALL, streams_only=False, note="one transparent reconnect")  # fmt: skip
async def _race(stage: Stage) -> None:
    if stage.nth == 0:
        await stage.answer()
    else:
        stage.close()


@fault("keepalive-race-rst", 23, "The same with a reset instead of an orderly close.",
       apis=_ALL, streams_only=False, note="one transparent reconnect")  # fmt: skip
async def _race_rst(stage: Stage) -> None:
    if stage.nth == 0:
        await stage.answer()
    else:
        await stage.reset()


@fault("close-after-response", 23, "The connection is closed after each answer without being announced.",
       apis=_ALL, streams_only=False)  # fmt: skip
async def _close_after(stage: Stage) -> None:
    await stage.answer()
    stage.close()


@fault("keepalive-idle", 23, "The server closes connections that were idle for a short while.",
       apis=_ALL, streams_only=False, seconds=0.05)  # fmt: skip
async def _idle_close(stage: Stage) -> None:
    await stage.answer()
    await asyncio.sleep(stage.params["seconds"])
    stage.close()


@fault("accept-then-close", 25, "The connection is closed without a byte of an answer.", Outcome.RESET,
       events=none_at_all, tokens=absent, apis=_ALL, streams_only=False)  # fmt: skip
async def _accept_close(stage: Stage) -> None:
    stage.close()


@fault("accept-then-rst", 25, "The connection is reset without a byte of an answer.", Outcome.RESET,
       events=none_at_all, tokens=absent, apis=_ALL, streams_only=False)  # fmt: skip
async def _accept_rst(stage: Stage) -> None:
    await stage.reset()


@fault("silent", 25, "The request is accepted, nothing ever comes back.", Outcome.TIMEOUT_FIRST_BYTE,
       events=none_at_all, tokens=absent, needs="first_byte", apis=_ALL, streams_only=False)  # fmt: skip
async def _silent(stage: Stage) -> None:
    await stage.until_gone()


@fault("stall", 25, "The stream stops in the middle and the connection stays open.", Outcome.TIMEOUT_IDLE,
       events=until_cut, tokens=absent, needs="idle", apis=_ALL, streams_only=False, after=5)  # fmt: skip
async def _stall(stage: Stage) -> None:
    await stage.first(stage.count("after"))
    await stage.until_gone()


@fault("stall-head", 25, "Headers at once, then nothing.", Outcome.TIMEOUT_IDLE,
       events=none_at_all, tokens=absent, needs="idle", apis=_ALL, streams_only=False)  # fmt: skip
async def _stall_head(stage: Stage) -> None:
    await stage.head()
    await stage.until_gone()


@fault("slow-loris", 25, "One byte at a time: never idle, never done.", Outcome.TIMEOUT_TOTAL,
       events=absent, tokens=absent, needs="total", apis=_ALL, streams_only=False, seconds=0.2)  # fmt: skip
async def _loris(stage: Stage) -> None:
    await stage.head()
    for piece in stage.pieces():
        for place in range(len(piece.data)):
            await stage.send(piece.data[place : place + 1])
            await asyncio.sleep(stage.params["seconds"])
    await stage.finish()


@fault("comments-for-ever", 25, "Keep-alive comments without end instead of tokens.", Outcome.TIMEOUT_TOTAL,
       events=none_at_all, tokens=absent, needs="total", apis=("chat", "completions", "responses"),
       seconds=0.05)  # fmt: skip
async def _comments_for_ever(stage: Stage) -> None:
    await stage.head()
    while True:
        await stage.send(b": keep-alive\n\n")
        await asyncio.sleep(stage.params["seconds"])
