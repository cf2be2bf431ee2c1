"""Writing by chance: each token is drawn by its probability, once unlikely ones have been made rarer or ruled out."""

import torch

from .filters import keep_top_k, keep_top_p, with_temperature
from .greedy_search import follow


def sample(
    step,
    state,
    *,
    bos,
    eos,
    pad,
    max_length,
    batch_size,
    temperature=1.0,
    top_k=None,
    top_p=None,
    generator=None,
    device=None,
):
    """Draw a token, feed it back, again and again, until every row has ended. Returns ids (B, L) as `greedy` does.

    temperature, top_k, top_p, generator: as in `draw`. The other arguments: as in `greedy`. Errors as in both.
    With a seeded generator the same call writes the same. What a row draws depends on its place in the batch and on the
    batch's size, since one stream of random numbers serves all rows; but neither on what the other rows write nor on
    when they end, since each step draws for all of them.

    >>> step = lambda token, state: (torch.zeros(len(token), 5), state)  # all five are equally likely, always
    >>> limits = {"bos": 0, "eos": 4, "pad": 9, "max_length": 20, "batch_size": 3}
    >>> first, again = (sample(step, None, **limits, generator=torch.Generator().manual_seed(1)) for _ in range(2))
    >>> torch.equal(first, again)
    True
    """

    def choose(logits):
        return draw(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)

    ids = {"bos": bos, "eos": eos, "pad": pad}
    return follow(choose, step, state, **ids, max_length=max_length, batch_size=batch_size, device=device)


def draw(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    """One token for each row by its `probabilities`. logits: (B, V). Returns ids (B,).

    generator: a torch.Generator on the device of the logits, torch's own one unless given.
    Errors as in `probabilities`.

    >>> likely = torch.tensor([[0.7, 0.2, 0.1]]).log().expand(1000, 3)
    >>> draw(likely, top_k=1).unique().tolist(), draw(likely, top_p=0.9).unique().tolist()
    ([0], [0, 1])
    """
    chances = probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)  # (B, V)
    return torch.multinomial(chances, 1, generator=generator).squeeze(-1)  # (B, 1) to (B,)


def probabilities(logits, *, temperature=1.0, top_k=None, top_p=None):
    """What `draw` draws by: softmax(logits / temperature), among the top_k likeliest, among the nucleus of mass top_p.

    The filters work in this order, so top_p is a share of what top_k has left. None leaves a filter out.
    logits: (..., V). Returns (..., V), in float32 for half precision. Temperature 0: the likeliest has all.
    Raises ValueError for a negative or infinite temperature, a top_k below 1, a top_p outside 0 to 1.

    >>> probabilities(torch.tensor([0.5, 0.25, 0.25]).log(), top_k=1).tolist()
    [1.0, 0.0, 0.0]
    >>> torch.allclose(probabilities(torch.tensor([0.6, 0.2, 0.2]).log(), top_p=0.7), torch.tensor([0.75, 0.25, 0.0]))
    True
    """
    logits = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    logits = with_temperature(logits, temperature)
    logits = logits if top_k is None else keep_top_k(logits, top_k)
    logits = logits if top_p is None else keep_top_p(logits, top_p)
    return logits.softmax(dim=-1)
