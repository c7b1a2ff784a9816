"""A llama model of 0.6 MB with random weights: nonsense at a real server's speed, an honest load target.

It writes common words only, one token each and never the end token: each request runs to its max_tokens and each event
of a stream holds exactly one token. Any prompt can be tokenised: the vocabulary holds all 256 bytes.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

_WORDS = """
the relay runs past every mark and hands its time on to next leg of it a stone river moves under old bridge while
birds watch from trees near house where people sing about bread salt water wind fire rain snow light dark day night
"""
_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
_DIM, _FF, _HEADS, _LAYERS, _CONTEXT = 64, 128, 4, 2, 8192


def write_tiny_gguf(path: Path, seed: int = 0) -> Path:
    """Write the model; the same seed gives the same file."""
    kind = gguf.TokenType
    vocabulary: list[tuple[str, float, int]] = [
        ("<unk>", 0.0, kind.UNKNOWN),
        ("<s>", 0.0, kind.CONTROL),
        ("</s>", 0.0, kind.CONTROL),
        *((f"<0x{byte:02X}>", 0.0, kind.BYTE) for byte in range(256)),
    ]
    first_word = len(vocabulary)
    vocabulary += [(f"\u2581{word}", -float(rank), kind.NORMAL) for rank, word in enumerate(_WORDS.split())]

    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_DIM)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_FF)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_DIM // _HEADS)
    writer.add_vocab_size(len(vocabulary))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token.encode() for token, _, _ in vocabulary])
    writer.add_token_scores([score for _, score, _ in vocabulary])
    writer.add_token_types([int(kind) for _, _, kind in vocabulary])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_chat_template(_TEMPLATE)

    draw = np.random.default_rng(seed)

    def matrix(rows: int, columns: int, scale: float) -> np.ndarray:
        return (draw.standard_normal((rows, columns)) * scale).astype(np.float32)

    # The architecture has no output bias. A large constant first coordinate of every embedding survives the layers and
    # serves as one: with a negative weight on it everything that isn't a word stays out of reach of the sampler.
    embedding = matrix(len(vocabulary), _DIM, 1.0)
    embedding[:, 0] = 20.0
    output = matrix(len(vocabulary), _DIM, 0.5)
    output[:, 0] = -20.0
    output[first_word:, 0] = 0.0
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(_DIM, dtype=np.float32))
    for layer in range(_LAYERS):
        name = f"blk.{layer}."
        for part in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{name}{part}.weight", np.ones(_DIM, dtype=np.float32))
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"{name}{part}.weight", matrix(_DIM, _DIM, 0.05))
        writer.add_tensor(f"{name}ffn_gate.weight", matrix(_FF, _DIM, 0.05))
        writer.add_tensor(f"{name}ffn_up.weight", matrix(_FF, _DIM, 0.05))
        writer.add_tensor(f"{name}ffn_down.weight", matrix(_DIM, _FF, 0.05))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
