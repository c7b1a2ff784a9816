"""From a question-answering benchmark to a run folder that is ready to run."""

from __future__ import annotations

import os
import random
from pathlib import Path

import msgspec

from relaymark.bench import Endpoint
from relaymark.bench.rag_ask import RagAsk
from relaymark.bench.secrets import request_headers
from relaymark.data.questions import Question, load_questions
from relaymark.dialects import dialect
from relaymark.errors import ConfigError
from relaymark.relay.foldering import Content, Drawn, make_folder, patience_of, plan_of
from relaymark.relay.pack import write_pack
from relaymark.relay.plan import Plan
from relaymark.relay.preflight import choose_model, look
from relaymark.relay.rag.plan import QUESTIONS_FILE, ROLES, RagPlan, Role, Rules, ServiceSpec, Speaker
from relaymark.relay.rag.recording import Replay
from relaymark.relay.redaction import Redactor
from relaymark.retrieval.specs import EmbedderSpec, RerankerSpec, ServerSpec
from relaymark.wire import parse_url, resolve


def prepare_rag(bench: RagAsk, parent: Path) -> Path:
    """Looks at the endpoints, then makes a run folder under ``parent`` with all that the workers need.

    Raises:
        ConfigError: Questions, recording, a model, key or header cannot be used.
        UnreachableError: An endpoint does not answer.
        TraceError: The folder cannot be made.
    """
    questions = load_questions(Path(bench.questions))
    if bench.replay:
        Replay(Path(bench.replay))  # that it can be read is found out now, not by every worker
    drawn = Drawn.of(bench)
    facts: dict[str, str] = {}
    named = _with_models(bench, facts)

    def fill(folder: Path) -> tuple[Plan, Content]:
        write_pack(folder, iter(()))
        (folder / QUESTIONS_FILE).write_bytes(b"".join(map(_line, _ordered(named, questions))))
        plan = plan_of(named, drawn)
        plan.rag = _rag_plan(named, len(questions))
        return plan, Content(len(questions))

    return make_folder(parent, named, drawn, named.endpoint.url, facts, fill)


def _line(question: Question) -> bytes:
    return msgspec.json.encode(question) + b"\n"


def _ordered(bench: RagAsk, questions: list[Question]) -> list[Question]:
    """The questions in the order they are asked: shuffled by the seed, so that no run is the file's order by chance."""
    order = list(questions)
    if bench.shuffle:
        random.Random(f"questions/{bench.seed_of_data}").shuffle(order)  # noqa: S311 - repeatable, not secret
    return order


def _with_models(bench: RagAsk, facts: dict[str, str]) -> RagAsk:
    """Fills in the models that endpoints serve where the file names none; each endpoint is looked at once."""
    if bench.service is not None:
        resolve(parse_url(bench.endpoint.url, verify_tls=bench.endpoint.verify_tls))
        return bench
    looked: dict[str, Endpoint] = {}

    def with_model(endpoint: Endpoint) -> Endpoint:
        key = f"{endpoint.url}\0{endpoint.model}"
        if key not in looked:
            target = resolve(parse_url(endpoint.url, verify_tls=endpoint.verify_tls))
            served = look(target, request_headers(endpoint, os.environ), Redactor.of(endpoint, os.environ))
            facts.update(served.facts)
            looked[key] = endpoint.model_copy(update={"model": choose_model(served, endpoint.model, target.url)})
        return endpoint.model_copy(update={"model": looked[key].model})

    roles = {
        name: section
        if section.endpoint is None
        else section.model_copy(update={"endpoint": with_model(section.endpoint)})
        for name, section in bench.roles.items()
    }
    return bench.model_copy(update={"endpoint": with_model(bench.endpoint), "roles": roles})


def _rag_plan(bench: RagAsk, count: int) -> RagPlan:
    loop, service = bench.loop, bench.service
    rules = Rules(
        rounds=loop.rounds,
        k=loop.k,
        max_queries=loop.max_queries,
        window=loop.window,
        parallel=loop.parallel,
        once=loop.once,
    )
    if service is not None:
        path = bench.endpoint.path or "/"
        spec = ServiceSpec(
            path=path, body=service.body, answer=service.answer, urls=service.urls, contexts=service.contexts
        )
        return RagPlan(questions=count, rules=rules, service=spec)
    retrieval = bench.retrieval
    server = ServerSpec(
        index=bench.index,
        embedder=EmbedderSpec(**retrieval.embedder.model_dump()),
        reranker=RerankerSpec(**retrieval.reranker.model_dump()),
        ef_search=retrieval.ef_search or None,
        wait_ms=retrieval.wait / 1e6,
    )
    if not (Path(bench.index) / "manifest.json").is_file():
        raise ConfigError(
            "there is no published index", where=bench.index, mend="build one with `relaymark run rag-build FILE.yaml`"
        )
    return RagPlan(
        questions=count,
        rules=rules,
        speakers={role: _speaker(bench, role) for role in ROLES},
        server=server,
        retrieval_ns=retrieval.timeout,
        rerank=retrieval.reranker.kind != "none",
        replay=bench.replay,
    )


def _speaker(bench: RagAsk, name: Role) -> Speaker:
    role = bench.role(name)
    endpoint = role.endpoint
    api = dialect(endpoint.dialect)
    sampling = role.sampling.request_fields()
    limit = sampling.pop("max_tokens", None)
    return Speaker(
        url=endpoint.url,
        path=endpoint.path or api.default_path,
        dialect=endpoint.dialect,
        model=endpoint.model or "",
        streamed=role.stream and api.streams,
        max_tokens=limit if isinstance(limit, int) else None,
        sampling=sampling,
        constrained=role.constrained,
        patience=patience_of(role.timeouts, role.retries),
        api_key_env=endpoint.api_key_env,
        headers=endpoint.headers,
        verify_tls=endpoint.verify_tls,
    )
