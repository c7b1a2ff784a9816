"""Building an index beside a plain baseline: the same texts, the same model, the same machine.

python benchmarks/rag_build.py CORPUS MODEL [--documents N] [--repeat N]

CORPUS is a folder of HTML (Debian's libreoffice-help-en-us), MODEL an ONNX sentence embedder's folder. The baseline is
what most people write first: four threads, each parsing a document with BeautifulSoup over lxml and embedding its
passages in one call in fp32, an index that is added to under a lock.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from relaymark.retrieval.acceptance import document_overlap
from relaymark.retrieval.build import BuildSpec, build_index
from relaymark.retrieval.chunking import chunk
from relaymark.retrieval.embedding import open_embedder
from relaymark.retrieval.index import new_index, open_published
from relaymark.retrieval.parsing import find_documents, open_parser
from relaymark.retrieval.specs import EmbedderSpec, IndexSpec


def baseline(corpus: Path, model: str) -> tuple[float, int]:
    """Documents/s and passages of the plain way."""
    documents = find_documents(corpus).documents
    embedder = open_embedder(EmbedderSpec(kind="onnx", path=model, runtime="onnxruntime", batch_tokens=1 << 30))
    index = new_index(IndexSpec(), embedder.dimension)
    parse = open_parser("mlperf")
    lock = threading.Lock()

    def one(document: Any) -> int:
        texts = chunk(parse(document).text)
        if texts:
            vectors = embedder.embed_passages(texts)
            with lock:
                index.add(vectors)
        return len(texts)

    begin = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        passages = sum(pool.map(one, documents))
    return len(documents) / (time.monotonic() - begin), passages


def ours(corpus: Path, place: Path, embedder: dict[str, Any]) -> dict[str, Any]:
    """One build by the command line, in processes of its own; its summary."""
    shutil.rmtree(place, ignore_errors=True)
    file = place.parent / "build.yaml"
    file.write_text(json.dumps({"corpus": str(corpus), "index": str(place), "embedder": embedder}))
    command = [sys.executable, "-m", "relaymark", "run", "rag-build", str(file), "--json"]
    done = subprocess.run([*command, "--out", str(place.parent / "runs")], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> int:
    """Prints the table; always 0."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("corpus", type=Path)
    arguments.add_argument("model")
    arguments.add_argument("--documents", type=int, default=200, help="how many of the corpus for the model runs")
    arguments.add_argument("--repeat", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        some = Path(folder) / "some"
        some.mkdir()
        every = find_documents(options.corpus).documents
        for number, document in enumerate(every[:: max(1, len(every) // options.documents)]):
            shutil.copy(document.path, some / f"{number:05}.html")
        plain, passages = [], 0
        for _ in range(options.repeat):
            rate, passages = baseline(some, options.model)
            plain.append(rate)
        base = median(plain)
        print(f"{len(list(some.iterdir()))} documents, {passages} passages")
        print("| build | documents/s | × baseline | peak MB | same passages | overlap@10 |")
        print("|---|--:|--:|--:|---|--:|")
        print(f"| baseline | {base:.1f} | 1.00 | | | |")
        flat = Path(folder) / "flat"
        fp32 = EmbedderSpec(kind="onnx", path=options.model, runtime="onnxruntime")
        build_index(BuildSpec(corpus=str(some), index_folder=str(flat), embedder=fp32, index=IndexSpec(kind="flat")))
        reference, embedder = open_published(flat), open_embedder(fp32)
        rng = np.random.default_rng(0)
        queries = [reference.passages[int(row)].text[:120] for row in rng.integers(0, len(reference.passages), 50)]
        for name, told in (
            ("ONNX Runtime", {"kind": "onnx", "path": options.model, "runtime": "onnxruntime"}),
            ("auto", {"kind": "onnx", "path": options.model, "runtime": "auto", "precision": "auto"}),
        ):
            builds = [ours(some, Path(folder) / "built", told) for _ in range(options.repeat)]
            rate = median(built["documents_per_second"] for built in builds)
            manifest, peak = builds[-1]["manifest"], builds[-1]["peak_bytes"] / 1e6
            published = open_published(Path(folder) / "built")
            overlap = document_overlap(queries, published, open_embedder(EmbedderSpec(**told)), reference, embedder)
            same = "yes" if manifest["corpus_set_sha256"] == reference.manifest.corpus_set_sha256 else "**no**"
            chose = f"{manifest['embedding_model'].rpartition(', ')[2]}, {manifest['embedding_precision']}"
            print(f"| {name} ({chose}) | {rate:.1f} | {rate / base:.2f} | {peak:.0f} | {same} | {overlap:.3f} |")
        static = {"kind": "static", "path": "wordllama"}
        builds = [ours(options.corpus, Path(folder) / "built", static) for _ in range(options.repeat)]
        rate = median(built["documents_per_second"] for built in builds)
        print(f"| static, {len(every)} documents | {rate:.0f} | | {builds[-1]['peak_bytes'] / 1e6:.0f} | | |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
