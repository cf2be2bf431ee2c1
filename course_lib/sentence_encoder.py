"""A published encoder of English sentences on the course's own blocks: MiniLM, where its weights are installed."""

from typing import NamedTuple

import torch
from torch.nn import functional

from course_lib.data.batches import pad_rows
from course_lib.data.minilm import load_minilm
from course_lib.data.vocabulary import PAD
from course_lib.data.wordpiece import WordPiece
from course_lib.encoder_only import EncoderOnly

NUM_HEADS, EPS = 12, 1e-12  # the two sizes that no weight tells


class SentenceEncoder(NamedTuple):
    """A network that reads, and the pieces that it reads.

    >>> pieces = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "dog", "##s"])
    >>> encoder = SentenceEncoder(EncoderOnly(7, d_model=8, num_heads=2, d_ff=16, num_layers=3).eval(), pieces)
    >>> torch.allclose(encoder.vectors(["cat", "dogs and cats"]).norm(dim=-1), torch.ones(2))
    True
    >>> found, weights = encoder.look("cats dog")
    >>> found, weights.shape
    (['[CLS]', 'cat', '##s', 'dog', '[SEP]'], torch.Size([3, 2, 5, 5]))
    """

    model: EncoderOnly
    tokenizer: WordPiece

    @torch.no_grad()
    def vectors(self, texts):
        """One vector of length 1 for each text: their dot products are cosines. texts: N strings. Returns (N, D)."""
        device = self.model.embedding.weight.device
        ids = pad_rows([self.tokenizer.encode(text) for text in texts]).to(device)
        return functional.normalize(self.model.pool(ids), dim=-1)

    @torch.no_grad()
    def look(self, text):
        """Where each piece of a text looks: the pieces, N strings, and weights (layers, H, N, N) on the CPU."""
        device = self.model.embedding.weight.device
        _, weights = self.model(torch.tensor([self.tokenizer.encode(text)], device=device), need_weights=True)
        return self.tokenizer.pieces(text), torch.cat(weights).cpu()


def load_sentence_encoder():
    """MiniLM (Wang et al. 2020) in evaluation mode on the CPU, 22,564,608 weights. Returns a `SentenceEncoder`.

    Raises WeightsMissing where they are not installed, and ValueError where a file is not the published one.
    """
    published = load_minilm()
    tokenizer = WordPiece(published.vocabulary)
    if tokenizer.pad != PAD:
        raise ValueError(f"vocabulary: expected {PAD} as the id of padding, got {tokenizer.pad}")
    return SentenceEncoder(encoder_from_bert(published.arrays), tokenizer)


def encoder_from_bert(arrays, num_heads=NUM_HEADS, eps=EPS):
    """An `EncoderOnly` with the weights of a BERT-like encoder (Devlin et al. 2019), by their usual names.

    arrays: {name: numpy array}, as the layers of `embeddings`, `encoder.layer.0`, ... store them; a pooler is not read.
    A text is always its first segment here, so that segment's vector goes into the positions.

    Returns it in evaluation mode. Raises KeyError, which names it, for a weight that is missing, ValueError where there
    is no layer or num_heads does not divide D, and RuntimeError where the shapes do not fit together.

    >>> encoder_from_bert({})
    Traceback (most recent call last):
    KeyError: 'embeddings.word_embeddings.weight'
    """
    weights = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    words, places = weights["embeddings.word_embeddings.weight"], weights["embeddings.position_embeddings.weight"]
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
    d_ff, d_model = weights["encoder.layer.0.intermediate.dense.weight"].shape
    model = EncoderOnly(
        len(words), d_model=d_model, num_heads=num_heads, d_ff=d_ff, num_layers=layers, dropout=0.0, eps=eps,
        positions="learned", max_length=len(places), norm_embedding=True, activation="gelu",
    )  # fmt: skip
    named = {
        "embedding.weight": words / model.embedding.scale,  # ours multiplies by √D, BERT does not
        "embedding.positions.weight": places + weights["embeddings.token_type_embeddings.weight"][0],
        **_both("embedding_norm", weights, "embeddings.LayerNorm"),
    }
    for number in range(layers):
        ours, theirs = f"encoder.blocks.{number}", f"encoder.layer.{number}"
        for kind in ("weight", "bias"):
            parts = [weights[f"{theirs}.attention.self.{name}.{kind}"] for name in ("query", "key", "value")]
            named[f"{ours}.self_attention.W_qkv.{kind}"] = torch.cat(parts)  # (3D, D) or (3D,)
        named |= _both(f"{ours}.self_attention.W_o", weights, f"{theirs}.attention.output.dense")
        named |= _both(f"{ours}.around_self_attention.norm", weights, f"{theirs}.attention.output.LayerNorm")
        named |= _both(f"{ours}.feed_forward.W_1", weights, f"{theirs}.intermediate.dense")
        named |= _both(f"{ours}.feed_forward.W_2", weights, f"{theirs}.output.dense")
        named |= _both(f"{ours}.around_feed_forward.norm", weights, f"{theirs}.output.LayerNorm")
    model.load_state_dict(named)
    return model.eval()


def _both(ours, weights, theirs):
    return {f"{ours}.{kind}": weights[f"{theirs}.{kind}"] for kind in ("weight", "bias")}
