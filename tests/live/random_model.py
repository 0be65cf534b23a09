"""Write a tiny llama model with random weights, as a GGUF file with its vocabulary and chat template.

A server that holds its replies to a JSON schema makes it say valid JSON with random words, votes and scores. Weights
on one constant direction of the hidden state make quotes, commas and ends likelier, so that texts come to an end.

    pip install gguf tokenizers
    python tests/live/random_model.py tiny.gguf
    python tests/live/random_model.py endless.gguf --end -12       # texts go on to the limit
    python tests/live/random_model.py raw.gguf --raw               # bytes that are no characters
"""

from __future__ import annotations

import argparse
import json
import math
from pydoc_data.topics import topics  # English prose that comes with Python

import gguf
import numpy as np
from tokenizers import ByteLevelBPETokenizer

LAYERS, WIDTH, HEADS, HIDDEN, CONSTANT = 2, 64, 4, 128, 8.0
NOTHING, BEGIN, END = SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def vocabulary(size: int) -> tuple[list[str], list[str]]:
    """Return the tokens and merges of a byte-level vocabulary."""
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(topics.values(), vocab_size=size, special_tokens=SPECIAL, show_progress=False)
    number = bpe.get_vocab()
    merges = json.loads(bpe._tokenizer.to_str())["model"]["merges"]
    return sorted(number, key=number.__getitem__), [
        pair if isinstance(pair, str) else " ".join(pair) for pair in merges
    ]


def likelier(token: str, end: float, raw: bool) -> float:
    """Return what is added to a token's logit."""
    if token in (NOTHING, BEGIN):
        return -20.0
    if token == END or '"' in token:
        return end
    word = token.lstrip("ĠĊ")  # blanks and line ends, as byte-level vocabularies write them
    if not raw and not word.isascii():
        return -20.0
    if word in (",", "}", "]"):
        return 6.0
    if word.isdigit():
        return -5.0 if word == "0" else -3.0 if len(word) == 1 else -9.0
    if word in ("-", ".", "e", "E", "\\"):
        return -9.0
    return 0.0 if word or token == "Ġ" else -8.0


def main() -> None:
    """Write the file."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("path")
    ask.add_argument("--end", type=float, default=5.0, help="added to the logits of quotes and of the end")
    ask.add_argument("--raw", action="store_true", help="allow bytes that are no characters")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--vocabulary", type=int, default=600)
    given = ask.parse_args()
    rng = np.random.default_rng(given.seed)
    tokens, merges = vocabulary(given.vocabulary)
    out = gguf.GGUFWriter(given.path, "llama")
    out.add_name("random")
    out.add_context_length(32768)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(HIDDEN)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_vocab_size(len(tokens))
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(tokens)
    kinds = gguf.TokenType
    out.add_token_types([kinds.CONTROL if token in SPECIAL else kinds.NORMAL for token in tokens])
    out.add_token_merges(merges)
    out.add_bos_token_id(tokens.index(NOTHING))
    out.add_eos_token_id(tokens.index(END))
    out.add_pad_token_id(tokens.index(NOTHING))
    out.add_add_bos_token(False)
    out.add_chat_template(TEMPLATE)

    def put(name: str, rows: int, columns: int) -> None:
        values = rng.normal(0.0, 1.0 / math.sqrt(columns), (rows, columns))
        if name == "token_embd":
            values *= math.sqrt(columns)
            values[:, 0] = CONSTANT
        if name.endswith(("attn_output", "ffn_down")):
            values[0] = 0.0  # nothing is added to the constant direction
        if name == "output":
            # After the last norm that direction is so large, and the others have about unit size.
            size = CONSTANT / math.sqrt((CONSTANT**2 + columns - 1) / columns)
            values[:, 0] = [likelier(token, given.end, given.raw) / size for token in tokens]
        out.add_tensor(f"{name}.weight", values.astype(np.float32))

    put("token_embd", len(tokens), WIDTH)
    for layer in range(LAYERS):
        out.add_tensor(f"blk.{layer}.attn_norm.weight", np.ones(WIDTH, dtype=np.float32))
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            put(f"blk.{layer}.{part}", WIDTH, WIDTH)
        out.add_tensor(f"blk.{layer}.ffn_norm.weight", np.ones(WIDTH, dtype=np.float32))
        put(f"blk.{layer}.ffn_gate", HIDDEN, WIDTH)
        put(f"blk.{layer}.ffn_up", HIDDEN, WIDTH)
        put(f"blk.{layer}.ffn_down", WIDTH, HIDDEN)
    out.add_tensor("output_norm.weight", np.ones(WIDTH, dtype=np.float32))
    put("output", len(tokens), WIDTH)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    main()
