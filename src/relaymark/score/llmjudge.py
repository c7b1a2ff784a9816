"""A model as judge: bounded parallel calls over the wire, retried where that can help, counted always."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from relaymark.bench.secrets import request_headers
from relaymark.dialects import Decoded, decode_capture, dialect
from relaymark.errors import ConfigError, UnreachableError
from relaymark.relay.plan import request_head
from relaymark.relay.preflight import choose_model, look
from relaymark.relay.redaction import Redactor
from relaymark.score.calling import HOPELESS, all_or_first_error, sweep, wait_before, worth_retrying
from relaymark.score.judgeprompt import PROMPT_SHA256, RESPONSE_FORMAT, judge_prompt, read_verdict
from relaymark.trace import Capture, Outcome
from relaymark.wire import Client, Target, Timeouts, new_loop, parse_url, resolve

MAX_TOKENS = 1_024
_NO_SCHEMAS = frozenset((400, 404, 422, 501))


class JudgeSettings(msgspec.Struct, kw_only=True, frozen=True):
    """Which model judges, and how it is called."""

    url: str
    model: str | None = None  # None: the only one that the endpoint serves
    parallel: int = 8
    attempts: int = 4  # for each answer
    timeout: float = 120.0  # seconds for one attempt
    backoff: float = 1.0  # seconds before the first retry; doubles with each
    constrained: bool = True  # ask for JSON by a schema; dropped when the endpoint refuses that
    dialect: str = "openai-chat"
    api_key_env: str = "OPENAI_API_KEY"
    headers: dict[str, str] = {}
    verify_tls: bool = True


class Case(NamedTuple):
    """One answer to be judged."""

    question: str
    gold: str
    answer: str


class Ruling(NamedTuple):
    """What came of it: right, wrong, or None when the judge failed; why; and how many requests it took."""

    correct: bool | None
    why: str
    requests: int


@dataclass(slots=True)
class JudgeCounts:
    """What the judging took."""

    requests: int = 0
    retries: int = 0
    failures: int = 0  # answers without a verdict in the end
    unconstrained: bool = False  # the endpoint refused the JSON schema
    prompt_tokens: int = 0
    completion_tokens: int = 0
    problems: dict[str, int] = field(default_factory=dict[str, int])  # failed requests, by what went wrong


class LlmJudge:
    """A judging model at an endpoint.

    Raises:
        ConfigError: The settings can't be used, or the endpoint doesn't serve the model.
        UnreachableError: Nothing answers at the URL.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        for name in ("parallel", "attempts"):
            if getattr(settings, name) < 1:
                raise ConfigError("must be at least 1", where=f"judge: {name}")
        self.settings = settings
        self.counts = JudgeCounts()
        self._dialect = dialect(settings.dialect)
        self._target: Target = resolve(parse_url(settings.url, verify_tls=settings.verify_tls))
        self._headers = request_headers(settings, os.environ)
        self._redactor = Redactor.of(settings, os.environ)
        self.model = choose_model(look(self._target, self._headers, self._redactor), settings.model, self._target.url)
        self._unreached = 0

    @property
    def name(self) -> str:
        """Identifies the judge: model and wording."""
        return f"llm:{self.model}:{PROMPT_SHA256[:12]}"

    def judge(self, cases: Sequence[Case], told: Callable[[int, Ruling], None]) -> None:
        """Judges the cases and tells each ruling, by its place among the cases, as it comes.

        Raises:
            UnreachableError: The endpoint went away.
        """
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(self._judge_all(cases, told))

    async def _judge_all(self, cases: Sequence[Case], told: Callable[[int, Ruling], None]) -> None:
        bound = int(self.settings.timeout * 1e9)
        client = Client(self._target, timeouts=Timeouts(connect=min(bound, 10_000_000_000), total=bound))
        places = iter(range(len(cases)))

        async def work() -> None:
            for place in places:
                told(place, await self._one(client, cases[place]))

        sweeper = asyncio.ensure_future(sweep(client))
        workers = [asyncio.ensure_future(work()) for _ in range(min(self.settings.parallel, len(cases)))]
        try:
            await all_or_first_error(workers)
        finally:
            for task in (sweeper, *workers):
                task.cancel()
            client.close()
            await asyncio.gather(sweeper, *workers, return_exceptions=True)

    async def _one(self, client: Client, case: Case) -> Ruling:
        prompt = judge_prompt(case.question, case.gold, case.answer)
        problem = ""
        used = mute = 0
        for attempt in range(1, self.settings.attempts + 1):
            constrained = self.settings.constrained and not self.counts.unconstrained
            decoded = await self._ask(client, prompt, constrained)
            used += 1
            if constrained and decoded.http_status in _NO_SCHEMAS:
                # Many servers know no schemas. The prompt asks for the same, so the judging goes on without.
                decoded = await self._ask(client, prompt, False)
                used += 1
                self.counts.unconstrained |= decoded.outcome.good
            verdict = read_verdict(_said(decoded)) if decoded.outcome.good else None
            if verdict is not None:
                self._unreached = 0
                return Ruling(verdict[0], self._redactor.text(verdict[1])[:500], used)
            problem = _problem(decoded)
            self.counts.problems[problem] = self.counts.problems.get(problem, 0) + 1
            self._mind(decoded)
            mute += decoded.outcome.good
            if attempt == self.settings.attempts or not _worth(decoded, mute):
                break
            self.counts.retries += 1
            if not decoded.outcome.good:
                await asyncio.sleep(wait_before(decoded, attempt, self.settings.backoff))
        self.counts.failures += 1
        return Ruling(None, f"the judge gave no verdict: {problem}", used)

    def _mind(self, decoded: Decoded) -> None:
        """Counts failures that never reached the endpoint: so many in a row, and it is gone."""
        if decoded.outcome not in (Outcome.REFUSED, Outcome.TIMEOUT_CONNECT):
            self._unreached = 0
            return
        self._unreached += 1
        if self._unreached >= HOPELESS:
            raise UnreachableError(
                "The judge's endpoint went away.",
                where=self._target.url,
                mend="Start it and score again: verdicts that were given are kept.",
            )

    async def _ask(self, client: Client, prompt: str, constrained: bool) -> Decoded:
        path, body = self._dialect.encode(
            text=prompt,
            max_tokens=MAX_TOKENS,
            sampling={"temperature": 0},
            extra={"response_format": RESPONSE_FORMAT} if constrained else None,
            model=self.model,
            stream=False,
        )
        head = request_head("POST", self._target.base_path + path, self._target.host_header, dict(self._headers))
        capture = Capture(leg_id=0, task_id=0, request=-1, dialect=self._dialect.name, streamed=False, kind="judge")
        self.counts.requests += 1
        sealed = await client.send(capture, b"%s%d\r\n\r\n" % (head, len(body)), body)
        decoded = decode_capture(sealed)
        self.counts.prompt_tokens += decoded.prompt_tokens or 0
        self.counts.completion_tokens += decoded.completion_tokens or 0
        return decoded


def _said(decoded: Decoded) -> str:
    """The answer; a reasoning model with a small budget may have put its verdict into its reasoning."""
    return (decoded.texts[0] if decoded.texts else "") or (decoded.reasonings[0] if decoded.reasonings else "")


def _worth(decoded: Decoded, mute: int) -> bool:
    """Whether another attempt could go better.

    A reply without a verdict is asked for once more: at temperature 0 most models will say the same again.
    """
    if decoded.outcome.good:
        return mute == 1
    return worth_retrying(decoded)


def _problem(decoded: Decoded) -> str:
    if decoded.outcome.good:
        return "its reply held no verdict"
    status = f" (HTTP {decoded.http_status})" if decoded.http_status else ""
    return str(decoded.outcome).replace("_", " ") + status
