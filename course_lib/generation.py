"""Writing with a trained model, one token at a time."""

from contextlib import contextmanager

import torch

from course_lib.data.vocabulary import BOS, EOS, PAD


@contextmanager
def evaluating(model):
    """`model` in evaluation mode; afterwards in the mode that it was in."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


@torch.no_grad()
def greedy(step, state, *, bos, eos, pad, max_length, batch_size, device=None):
    """Write the likeliest token, feed it back, again and again, until every row has ended.

    step: function (token (B,), state) -> (logits (B, V), state). state: anything that `step` understands.
    Returns ids (B, at most max_length): each row up to and with its `eos`, then `pad`.
    """
    if max_length < 1:
        raise ValueError(f"max_length: expected at least 1, got {max_length}")
    token = torch.full((batch_size,), bos, device=device)
    finished = torch.zeros(batch_size, dtype=torch.bool, device=device)
    written = []
    for _ in range(max_length):
        logits, state = step(token, state)
        token = logits.argmax(dim=-1).masked_fill(finished, pad)  # (B,)
        written.append(token)
        finished = finished | (token == eos)
        if finished.all():
            break
    return torch.stack(written, dim=1)


@torch.no_grad()
def write(model, batch, max_length, need_weights=False):
    """What `model` writes for a batch of sources, greedily. Returns ids (B, at most max_length).

    model: has `encode(source, source_lengths)` and `step`; it is put into evaluation mode meanwhile.
    need_weights: for a model that has `look`, also return where it looked, weights (B, L, S): row t belongs
    to the t-th token written. Rows of tokens written after a row's end mean nothing.
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
        ids = greedy(
            step, state, bos=BOS, eos=EOS, pad=PAD, max_length=max_length, batch_size=len(batch), device=device
        )
    return (ids, torch.cat(looked, dim=1)) if need_weights else ids
