"""One text a row: choose a token, feed it back, again and again."""

import torch


def greedy(step, state, *, bos, eos, pad, max_length, batch_size, device=None):
    """Write the likeliest token, feed it back, again and again, until every row has ended.

    step: function (token (B,), state) -> (logits (B, V), state). state: anything that `step` understands.
    Returns ids (B, at most max_length): each row up to and with its `eos`, then `pad`.
    Raises ValueError for a max_length below 1.

    >>> def count(token, state):
    ...     return torch.eye(5)[token + 1], state  # after each number the next one
    >>> greedy(count, None, bos=0, eos=4, pad=9, max_length=8, batch_size=2).tolist()
    [[1, 2, 3, 4], [1, 2, 3, 4]]
    """
    ids = {"bos": bos, "eos": eos, "pad": pad}
    return follow(likeliest_token, step, state, **ids, max_length=max_length, batch_size=batch_size, device=device)


def likeliest_token(logits):
    """(B, V) to (B,), the id of each row's highest score; of equal ones the smaller id.

    >>> likeliest_token(torch.tensor([[0.0, 2.0, 2.0], [5.0, 2.0, 2.0]])).tolist()
    [1, 0]
    """
    return logits.argmax(dim=-1)


@torch.no_grad()
def follow(choose, step, state, *, bos, eos, pad, max_length, batch_size, device=None):
    """As `greedy`, where choose, a function (logits (B, V)) -> ids (B,), says which token is written.

    It is asked for all rows at every step, those that have ended among them: what they get is not read.

    >>> def unlikeliest(logits):
    ...     return logits.argmin(dim=-1)
    >>> limits = {"bos": 0, "eos": 4, "pad": 9, "max_length": 3, "batch_size": 1}
    >>> follow(unlikeliest, lambda token, state: (torch.eye(5)[token], state), None, **limits).tolist()
    [[1, 0, 1]]
    """
    require_length(max_length)
    token = torch.full((batch_size,), bos, device=device)
    finished = torch.zeros(batch_size, dtype=torch.bool, device=device)
    written = []
    for _ in range(max_length):
        logits, state = step(token, state)
        token = choose(logits).masked_fill(finished, pad)  # (B,)
        written.append(token)
        finished = finished | (token == eos)
        if finished.all():
            break
    return torch.stack(written, dim=1)


def require_length(max_length):
    """Raise ValueError unless at least one token may be written.

    >>> require_length(0)
    Traceback (most recent call last):
    ValueError: max_length: expected at least 1, got 0
    """
    if max_length < 1:
        raise ValueError(f"max_length: expected at least 1, got {max_length}")
