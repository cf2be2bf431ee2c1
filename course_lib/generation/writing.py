"""Writing with a model of the course: what a batch of sources becomes."""

from contextlib import contextmanager

import torch

from course_lib.data.vocabulary import BOS, EOS, PAD

from .greedy_search import greedy


@contextmanager
def evaluating(model):
    """`model` in evaluation mode; afterwards in the mode that it was in.

    >>> model = torch.nn.Dropout(0.5)
    >>> with evaluating(model):
    ...     print(model.training)
    False
    >>> model.training
    True
    """
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


@torch.no_grad()
def write(model, batch, max_length, need_weights=False, search=greedy, **options):
    """What `model` writes for a batch of sources, greedily unless `search` says otherwise.

    model: has `encode(source, source_lengths)` and `step`; it is put into evaluation mode meanwhile.
    search: `greedy`, `sample` or `beam`, or any function with the arguments of `greedy`. options: further ones of it,
    as in write(model, batch, 30, search=beam, width=4).
    Returns what the search returns: ids (B, at most max_length), or `Hypotheses` of a beam.
    need_weights: for a model that has `look`, also return where it looked, weights (B, L, S): row t belongs
    to the t-th token written. Rows of tokens written after a row's end mean nothing. Not for a beam, whose rows change
    places: raises ValueError there.

    >>> from course_lib.data.batches import make_batch
    >>> from course_lib.transformer import Transformer
    >>> model = Transformer(9, 7, d_model=8, num_heads=2, d_ff=16, encoder_layers=1, decoder_layers=1)
    >>> ids, weights = write(model, make_batch([([5, 6], []), ([5, 6, 8], [])]), 4, need_weights=True)
    >>> weights.shape == (2, ids.shape[1], 3), weights[0, :, 2].any().item()  # nobody looks at padding
    (True, False)
    """
    device = next(model.parameters()).device
    batch = batch.to(device)
    looked = []

    def look(token, state):
        logits, state, weights = model.look(token.unsqueeze(1), state)
        looked.append(weights)
        return logits.squeeze(1), state

    with evaluating(model):
        state = model.encode(batch.source, batch.source_lengths)
        step = look if need_weights else model.step
        limits = {"max_length": max_length, "batch_size": len(batch), "device": device}
        written = search(step, state, bos=BOS, eos=EOS, pad=PAD, **limits, **options)
    if not need_weights:
        return written
    weights = torch.cat(looked, dim=1)  # (B, L, S)
    if isinstance(written, tuple):
        raise ValueError("need_weights: a beam's rows change places; ask the model again about the text that it found")
    return written, weights
