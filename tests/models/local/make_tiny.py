"""Make the folder `tiny`: a BERT of random weights with all parts of a sentence-transformers model, and its vectors.

    python -m tests.models.local.make_tiny

Needs `sentence-transformers`, `onnx` and `onnxruntime`; run it again only when a test needs another model. The vectors
beside it, `vectors.npz`, are those of sentence-transformers itself, so that every test can compare with them.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoModel, BertConfig, BertModel, PreTrainedTokenizerFast

from tests.models.local.models import TEXTS, TINY

_WORDS = "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they"
_LIMIT = 32


def main() -> None:
    torch.manual_seed(13)
    shutil.rmtree(TINY, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        tokenizer = _tokenizer()
        tokenizer.save_pretrained(scratch)
        config = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=48,
            max_position_embeddings=64,
            initializer_range=0.4,
        )
        BertModel(config).save_pretrained(scratch)
        plain = SentenceTransformer(scratch, device="cpu")
        plain.max_seq_length = _LIMIT
        prompts = {"query": "query: ", "document": "text: "}
        model = SentenceTransformer(modules=[plain[0], Pooling(32, "mean")], prompts=prompts, device="cpu")
        model.save(str(TINY), create_model_card=False)
    _export(TINY / "onnx" / "model.onnx")
    quantize_dynamic(TINY / "onnx" / "model.onnx", TINY / "onnx" / "model_quint8.onnx", weight_type=QuantType.QUInt8)
    model = SentenceTransformer(str(TINY), device="cpu")
    np.savez(
        TINY.parent / "vectors.npz",
        documents=model.encode_document(TEXTS, normalize_embeddings=True),
        queries=model.encode_query(TEXTS, normalize_embeddings=True),
    )


def _tokenizer() -> Any:
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{one}" for one in letters), *_WORDS.split()]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    kind: Any = PreTrainedTokenizerFast
    return kind(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=_LIMIT,
    )


class _LastLayer(torch.nn.Module):  # type: ignore[misc, unused-ignore]  # torch need not be installed
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> Any:
        return self.model(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state


def _export(path: Path) -> None:
    path.parent.mkdir()
    model = _LastLayer(AutoModel.from_pretrained(TINY, attn_implementation="eager").eval())
    inputs, output = ["input_ids", "attention_mask", "token_type_ids"], "last_hidden_state"
    torch.onnx.export(
        model,
        (torch.ones(2, 9, dtype=torch.long),) * 3,
        str(path),
        input_names=inputs,
        output_names=[output],
        dynamic_axes={name: {0: "batch", 1: "tokens"} for name in [*inputs, output]},
        dynamo=False,
        opset_version=17,
    )


if __name__ == "__main__":
    main()
