"""Untrained models for the tests of the decode stepper, all the states that it can be in, and a plain loop."""

import torch

from course_lib.data.batches import make_batch
from course_lib.data.vocabulary import BOS, EOS, Vocabulary
from course_lib.explore.decode_stepper import decode_stepper
from course_lib.recurrent import Decoder, Encoder, Seq2Seq
from course_lib.recurrent_attention import BahdanauDecoder

SYMBOLS = Vocabulary("0123456789-")
IDS = {symbol: number for number, symbol in enumerate(SYMBOLS.symbols)}
TARGET, LENGTH = "2046-02-07", 12
KINDS = ("every_step", "initial", "lstm", "attention")


def random_model(kind="every_step", seed=0, ends=0.0):
    """An untrained model that is sure of what it writes. ends: how much more than others it likes to stop."""
    torch.manual_seed(seed)
    cell = "lstm" if kind == "lstm" else "gru"
    encoder = Encoder(20, 8, 12, cell=cell)
    if kind == "attention":
        decoder = BahdanauDecoder(len(SYMBOLS), 8, 12, encoder.d_output, encoder.d_context)
    else:
        context = "initial" if kind == "initial" else "every_step"
        decoder = Decoder(len(SYMBOLS), 8, 12, encoder.d_context, cell=cell, context=context)
    with torch.no_grad():
        for name, parameter in decoder.named_parameters():
            parameter.mul_(6 if name.startswith("output") else 2)  # so that what is read matters
        decoder.output.bias[EOS] += ends
    return Seq2Seq(encoder, decoder)


def one_date(target=TARGET):
    return make_batch([([4, 5, 6, 7, 8, 9], SYMBOLS.encode(target))])


def make(kind="every_step", seed=0, ends=0.0, **arguments):
    arguments = {"source": "2046년 2월 7일", "max_length": LENGTH} | arguments
    return decode_stepper(random_model(kind, seed, ends), one_date(), SYMBOLS, **arguments)


def all_states(explorable):
    """Go through every mode without error, and with each error that can be chosen."""
    for explorable.forcing in (True, False):
        explorable.inject_at, explorable.inject_token = 0, ""
        yield
        for place in range(1, explorable.steps + 1):
            explorable.step = place
            for token, _ in explorable.choices():
                explorable.inject_at, explorable.inject_token = place, token
                yield


@torch.no_grad()
def by_loop(model, forcing, place=0, token=None):
    """(ids read, logits) of one run, as a plain loop over `model.step` gives it."""
    batch, model = one_date(), model.eval()
    state, wrote, read, found = model.encode(batch.source, batch.source_lengths), BOS, [], []
    for step in range(1, (batch.target.shape[1] if forcing else LENGTH) + 1):
        reads = batch.decoder_input[0, step - 1].item() if forcing else wrote
        reads = token if step == place else reads
        logits, state = model.step(torch.tensor([reads]), state)
        read.append(reads)
        found.append(logits[0].double())
        wrote = logits[0].argmax().item()
        if wrote == EOS and not forcing:
            break
    return read, found
