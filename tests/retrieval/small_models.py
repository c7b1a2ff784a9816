"""Models small enough to compute by hand, in the layouts that real ones have."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "[unused0]", "[unused1]", ".", "red", "blue", "fish", "query:"]
HIDDEN = 4


def vectors() -> np.ndarray:
    """A row a word; distinct, and the same in every test."""
    return np.random.default_rng(3).normal(size=(len(WORDS), HIDDEN)).astype(np.float32)


def tokenizer(path: Path, *, special: bool = True) -> None:
    """A word-level tokenizer with BERT's special tokens."""
    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if special:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    made.save(str(path))


def onnx_model(path: Path, *, with_types: bool = True) -> None:
    """An encoder whose last hidden state of a token is its row of :func:`vectors`, whatever stands around it."""
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if with_types else [])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", HIDDEN])
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["gathered"], axis=0)]
    # The other inputs must be used, or a runtime drops them: they add nothing.
    spare = names[1:]
    for name in spare:
        nodes.append(helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Mul", [f"{name}_f", "zero"], [f"{name}_0"]))
        nodes.append(helper.make_node("Unsqueeze", [f"{name}_0", "axis"], [f"{name}_1"]))
    last = "gathered"
    for name in spare:
        nodes.append(helper.make_node("Add", [last, f"{name}_1"], [f"{last}+"]))
        last += "+"
    nodes.append(helper.make_node("Identity", [last], ["last_hidden_state"]))
    constants = [
        numpy_helper.from_array(vectors(), "table"),
        numpy_helper.from_array(np.array(0, np.float32), "zero"),
        numpy_helper.from_array(np.array([2], np.int64), "axis"),
    ]
    graph = helper.make_graph(nodes, "small", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def sentence_folder(folder: Path, *, pooling: str = "mean") -> Path:
    """The layout of sentence-transformers: model.onnx, tokenizer.json, 1_Pooling/config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx_model(folder / "model.onnx")
    tokenizer(folder / "tokenizer.json")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    told = {"pooling_mode_cls_token": pooling == "cls", "pooling_mode_mean_tokens": pooling == "mean"}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(told))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    return folder


def colbert_folder(folder: Path, *, width: int = 3) -> Path:
    """The layout of ColBERTv2: an encoder and the projection beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx_model(folder / "model.onnx", with_types=False)
    tokenizer(folder / "tokenizer.json", special=False)
    np.save(folder / "linear.npy", np.random.default_rng(5).normal(size=(width, HIDDEN)).astype(np.float32))
    return folder


def static_folder(folder: Path) -> Path:
    """The layout of static embeddings: a matrix and a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({"embedding.weight": vectors()}, str(folder / "model.safetensors"))
    tokenizer(folder / "tokenizer.json", special=False)
    return folder
