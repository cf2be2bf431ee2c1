"""Models with random weights that write varied texts, and the same models written down without any cache."""

from typing import NamedTuple

import torch

from course_lib.data.batches import make_batch
from course_lib.data.vocabulary import BOS, EOS, PAD
from course_lib.recurrent import Decoder, Encoder, Seq2Seq
from course_lib.recurrent_attention import BahdanauDecoder, LuongDecoder
from course_lib.transformer import Transformer

from .small_transformer import ORDERS, POSITIONS, spread

V = 9  # symbols of both vocabularies
IDS = {"bos": BOS, "eos": EOS, "pad": PAD}


def transformer(**options):
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 12, "encoder_layers": 1, "decoder_layers": 2, "dropout": 0.3}
    return spread(Transformer(V, V, **sizes, **options)).eval()


def recurrent(cls, cell="gru", **options):
    torch.manual_seed(4)
    encoder = Encoder(V, 4, 6, cell, bidirectional=True)
    looks = () if cls is Decoder else (encoder.d_output,)
    model = Seq2Seq(encoder, cls(V, 4, 5, *looks, encoder.d_context, cell, **options))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    return model.eval()


MODELS = {
    f"{order}, {positions}": lambda order=order, positions=positions: transformer(
        **ORDERS[order], **POSITIONS[positions]
    )
    for order in ORDERS
    for positions in POSITIONS
} | {
    "recurrent": lambda: recurrent(Decoder),
    "recurrent, every step": lambda: recurrent(Decoder, "lstm", context="every_step"),
    "bahdanau": lambda: recurrent(BahdanauDecoder, "lstm"),
    "luong": lambda: recurrent(LuongDecoder, score="concat"),
    "luong, fed": lambda: recurrent(LuongDecoder, "rnn", input_feeding=True),
}


def sources(*lengths):
    """A batch of random sources of these lengths; its targets mean nothing."""
    return make_batch([(torch.randint(4, V, (length,)).tolist(), [4]) for length in lengths])


class Text(NamedTuple):
    """The state of a model without a cache: all that was read and all that was written. A step begins from scratch."""

    model: torch.nn.Module
    source: torch.Tensor
    lengths: torch.Tensor
    written: torch.Tensor

    def select(self, rows):
        return Text(self.model, *(part[rows] for part in self[1:]))


def without_cache(model, batch):
    """The first state for `step_without_cache`."""
    return Text(model, batch.source, batch.source_lengths, batch.source[:, :0])


def step_without_cache(token, state):
    state = state._replace(written=torch.cat([state.written, token.unsqueeze(1)], dim=1))
    return state.model(state.source, state.lengths, state.written)[:, -1], state


def log_probability(model, batch, row, text):
    """What the model itself gives to a text (a list of ids) by teacher forcing, as a float."""
    source, lengths = batch.source[row : row + 1], batch.source_lengths[row : row + 1]
    with torch.no_grad():
        logits = model(source, lengths, torch.tensor([[BOS, *text[:-1]]]))[0]  # (T, V)
    return logits.log_softmax(-1)[range(len(text)), text].sum().item()


def real_part(ids):
    """A row of ids as a list, up to and with its end token."""
    ids = ids.tolist()
    return ids[: ids.index(EOS) + 1] if EOS in ids else ids
