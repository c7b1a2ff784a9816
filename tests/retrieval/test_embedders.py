"""Embedders against vectors worked out by hand."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from small_models import WORDS, colbert_folder, sentence_folder, static_folder, vectors

from relaymark.errors import ConfigError, UnreachableError
from relaymark.retrieval.embedding import open_embedder
from relaymark.retrieval.embedding.tokens import batches
from relaymark.retrieval.reranking import open_reranker
from relaymark.retrieval.reranking.maxsim import maxsim
from relaymark.retrieval.specs import EmbedderSpec, RerankerSpec


def rows(*words: str) -> np.ndarray:
    return vectors()[[WORDS.index(word) for word in words]]


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_mean_pooling_leaves_padding_out_and_batches_do_not_matter(tmp_path: Path, runtime: Any) -> None:
    folder = sentence_folder(tmp_path / "m")
    for budget in (4, 64):
        embedder = open_embedder(EmbedderSpec(kind="onnx", path=str(folder), runtime=runtime, batch_tokens=budget))
        found = embedder.embed_passages(["red fish", "blue", "fish fish fish red"])
        assert np.allclose(found[0], unit(rows("[CLS]", "red", "fish", "[SEP]").mean(0)), atol=1e-5)
        assert np.allclose(found[1], unit(rows("[CLS]", "blue", "[SEP]").mean(0)), atol=1e-5)
        assert embedder.dimension == 4
        assert embedder.precision == "fp32"


def test_the_models_own_files_say_how_to_pool_and_where_to_cut(tmp_path: Path) -> None:
    embedder = open_embedder(EmbedderSpec(kind="onnx", path=str(sentence_folder(tmp_path / "m", pooling="cls"))))
    assert np.allclose(embedder.embed_passages(["red"])[0], unit(rows("[CLS]")[0]), atol=1e-5)
    told = open_embedder(EmbedderSpec(kind="onnx", path=str(tmp_path / "m"), pooling="mean", normalise=False))
    cut = rows("[CLS]", *["red"] * 6, "[SEP]").mean(0)  # max_seq_length is 8
    assert np.allclose(told.embed_passages(["red " * 50])[0], cut, atol=1e-5)


def test_prefixes_are_for_whom_they_are_meant(tmp_path: Path) -> None:
    spec = EmbedderSpec(kind="onnx", path=str(sentence_folder(tmp_path / "m")), query_prefix="query: ", normalise=False)
    embedder = open_embedder(spec)
    assert np.allclose(embedder.embed_queries(["red"])[0], rows("[CLS]", "query:", "red", "[SEP]").mean(0), atol=1e-5)
    assert np.allclose(embedder.embed_passages(["red"])[0], rows("[CLS]", "red", "[SEP]").mean(0), atol=1e-5)


def test_static_vectors_are_the_mean_of_their_tokens(tmp_path: Path) -> None:
    embedder = open_embedder(EmbedderSpec(kind="static", path=str(static_folder(tmp_path / "s"))))
    found = embedder.embed_passages(["red fish fish", "", "blue"])
    assert np.allclose(found[0], unit(rows("red", "fish", "fish").mean(0)), atol=1e-5)
    assert not found[1].any()
    assert np.allclose(found[2], unit(rows("blue")[0]), atol=1e-5)
    assert embedder.embed_queries([]).shape == (0, 4)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (EmbedderSpec(kind="onnx", path="nowhere"), "no model.onnx"),
        (EmbedderSpec(kind="static", path="nowhere"), "no static model"),
        (EmbedderSpec(kind="endpoint", url="ftp://x"), "no http"),
    ],
)
def test_what_is_missing_is_said(spec: EmbedderSpec, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        open_embedder(spec)


@given(st.lists(st.integers(0, 600), max_size=60), st.integers(1, 2000))
def test_every_text_is_in_one_batch_that_keeps_its_budget(lengths: list[int], budget: int) -> None:
    made = list(batches(lengths, budget))
    assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
    assert all(len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= budget for batch in made)


class Answering(BaseHTTPRequestHandler):
    answer: Any = None

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(type(self).answer(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def endpoint() -> Any:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_endpoint_that_drops_a_text_is_found_out(endpoint: str) -> None:
    def whole(asked: Any) -> Any:
        return {"data": [{"index": i, "embedding": [len(text), 1.0]} for i, text in enumerate(asked["input"])][::-1]}

    Answering.answer = staticmethod(whole)
    embedder = open_embedder(EmbedderSpec(kind="endpoint", url=endpoint, normalise=False))
    assert embedder.embed_passages(["aaa", "b"]).tolist() == [[3, 1], [1, 1]]
    Answering.answer = staticmethod(lambda asked: {"data": whole(asked)["data"][1:]})
    with pytest.raises(UnreachableError, match="2 texts were sent and 1 vectors"):
        embedder.embed_passages(["aaa", "b"])
    Answering.answer = staticmethod(lambda asked: {"data": [{"index": 0, "embedding": [1.0]}]})
    with pytest.raises(UnreachableError, match="different lengths"):
        embedder.embed_passages(["aaa"])


def test_maxsim_by_hand() -> None:
    query = np.array([[1, 0], [0, 1]], np.float32)
    passages = np.array([[[1, 0], [0.5, 0.5], [9, 9]], [[0, 0.25], [-1, 0], [0, 0]]], np.float32)
    mask = np.array([[True, True, False], [True, True, False]])
    # First: max(1, .5) + max(0, .5); the third token is padding. Second: max(0, -1) + max(.25, 0).
    assert maxsim(query, passages, mask).tolist() == [1.5, 0.25]


def test_the_plain_variant_is_raw_dot_products_over_all_tokens(tmp_path: Path) -> None:
    reranker = open_reranker(RerankerSpec(kind="plain", path=str(colbert_folder(tmp_path / "c"))))
    assert reranker is not None
    (scores,) = reranker.scores(["red"], [["blue fish .", "red"]])
    query = rows("[CLS]", "red", "[SEP]")
    for score, words in zip(scores, (("blue", "fish", "."), ("red",)), strict=True):
        passage = rows("[CLS]", *words, "[SEP]")
        assert score == pytest.approx(float((query @ passage.T).max(1).sum()), rel=1e-5)


def test_colbert_projects_marks_fills_up_and_skips_punctuation(tmp_path: Path) -> None:
    folder = colbert_folder(tmp_path / "c")
    reranker = open_reranker(RerankerSpec(kind="colbert", path=str(folder), query_length=6))
    assert reranker is not None
    (scores, _) = reranker.scores(["red", "fish"], [["blue fish .", "red"], []])
    linear = np.load(folder / "linear.npy")

    def projected(*words: str) -> np.ndarray:
        states = rows(*words) @ linear.T
        return states / np.linalg.norm(states, axis=1, keepdims=True)

    query = projected("[CLS]", "[unused0]", "red", "[SEP]", "[MASK]", "[MASK]")
    for score, words in zip(scores, (("blue", "fish"), ("red",)), strict=True):  # the full stop counts for nothing
        passage = projected("[CLS]", "[unused1]", *words, "[SEP]")
        assert score == pytest.approx(float((query @ passage.T).max(1).sum()), rel=1e-4)


def test_an_endpoint_reranks_in_input_order(endpoint: str) -> None:
    Answering.answer = staticmethod(
        lambda asked: {
            "results": [
                {"index": i, "relevance_score": len(text)} for i, text in reversed(list(enumerate(asked["documents"])))
            ]
        }
    )
    reranker = open_reranker(RerankerSpec(kind="endpoint", url=endpoint))
    assert reranker is not None
    assert reranker.scores(["q"], [["aa", "b"]]) == [[2.0, 1.0]]
    Answering.answer = staticmethod(lambda asked: {"results": []})
    with pytest.raises(UnreachableError, match="2 passages were sent and 0 scores"):
        reranker.scores(["q"], [["aa", "b"]])


def test_streams_change_the_speed_and_no_vector(tmp_path: Path) -> None:
    folder = str(sentence_folder(tmp_path / "m"))
    texts = [f"red {'fish ' * (number % 5)}" for number in range(40)]
    one, two = (
        open_embedder(
            EmbedderSpec(kind="onnx", path=folder, runtime=runtime, batch_tokens=16, streams=streams, threads=2)
        )
        for runtime, streams in (("onnxruntime", 1), ("openvino", 2))
    )
    assert np.allclose(one.embed_passages(texts), two.embed_passages(texts), atol=1e-5)


@pytest.mark.parametrize(
    ("file", "told", "says"),
    [
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pools by max_tokens"),
        (
            "1_Pooling/config.json",
            {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
            "mean_tokens and cls_token",
        ),
        (
            "modules.json",
            [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}],
            "a layer of its own, Dense",
        ),
    ],
)
def test_a_model_that_pools_otherwise_is_refused_and_not_guessed_at(
    tmp_path: Path, file: str, told: Any, says: str
) -> None:
    folder = sentence_folder(tmp_path / "m")
    (folder / file).write_text(json.dumps(told))
    with pytest.raises(ConfigError, match=says):
        open_embedder(EmbedderSpec(kind="onnx", path=str(folder)))


def test_weights_mapping_and_the_unknown_token_of_model2vec(tmp_path: Path) -> None:
    folder = static_folder(tmp_path / "s")
    table = np.stack([vectors()[8], vectors()[9]])  # two rows serve all words
    mapping = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1], np.int64)
    weights = np.linspace(0.5, 1.6, 12).astype(np.float32)
    save_file({"embeddings": table, "mapping": mapping, "weights": weights}, str(folder / "model.safetensors"))
    (folder / "config.json").write_text("{}")
    embedder = open_embedder(EmbedderSpec(kind="static", path=str(folder)))
    (found,) = embedder.embed_passages(["red nobody-knows-this blue"])
    assert np.allclose(found, unit((table[0] * weights[8] + table[1] * weights[9]) / 2), atol=1e-5)


def test_a_matrix_without_a_row_for_every_token_is_refused(tmp_path: Path) -> None:
    folder = static_folder(tmp_path / "s")
    save_file({"embedding.weight": vectors()[:5].copy()}, str(folder / "model.safetensors"))
    with pytest.raises(ConfigError, match="12 tokens and the matrix vectors for 5"):
        open_embedder(EmbedderSpec(kind="static", path=str(folder)))


def test_a_colbert_without_its_projection_is_refused(tmp_path: Path) -> None:
    """Plain states scored as if they were projected gave a ranking that looked right."""
    folder = colbert_folder(tmp_path / "c")
    linear = np.load(folder / "linear.npy")
    (folder / "linear.npy").unlink()
    (folder / "config.json").write_text(json.dumps({"hidden_size": 4}))
    with pytest.raises(ConfigError, match="no projection beside it"):
        open_reranker(RerankerSpec(kind="colbert", path=str(folder)))
    save_file({"linear.weight": linear, "bert.x": vectors()}, str(folder / "model.safetensors"))
    (folder / "artifact.metadata").write_text(json.dumps({"mask_punctuation": False, "attend_to_mask_tokens": True}))
    reranker = open_reranker(RerankerSpec(kind="colbert", path=str(folder), query_length=5))
    assert reranker is not None
    ((score,),) = reranker.scores(["red"], [["blue ."]])

    def projected(*words: str) -> np.ndarray:
        states = rows(*words) @ linear.T
        return states / np.linalg.norm(states, axis=1, keepdims=True)

    query = projected("[CLS]", "[unused0]", "red", "[SEP]", "[MASK]")
    passage = projected("[CLS]", "[unused1]", "blue", ".", "[SEP]")
    assert score == pytest.approx(float((query @ passage.T).max(1).sum()), rel=1e-4)


def test_sentence_transformers_is_named_where_it_is_missing() -> None:
    if find_spec("sentence_transformers") is not None:
        pytest.skip("sentence-transformers is installed here")
    with pytest.raises(ConfigError) as error:
        open_embedder(EmbedderSpec(kind="sentence-transformers", path="x"))
    assert error.value.mend == "pip install sentence-transformers"
