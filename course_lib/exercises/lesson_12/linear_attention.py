"""Exercise `linear_attention`: features in place of the softmax, so that a matrix remembers all keys."""

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import batched, call, close, rows_independent
from course_lib.exercises.lesson_05.masked_attention import FORBIDDEN

from .linear_attention_mistakes import MISTAKES


def linear_attention(query, key, value):
    """Causal attention with the weights φ(q) · φ(k) / sum instead of a softmax, φ(x) = elu(x) + 1, never negative.

    query, key: (..., T, Dk). value: (..., T, Dv). What a query needs of all keys so far is one matrix, Σ φ(k) v^T, and
    one vector, Σ φ(k) (Katharopoulos et al. 2020); no (T, T) matrix is made. Returns (..., T, Dv).
    """
    query, key = functional.elu(query) + 1, functional.elu(key) + 1
    memory = (key.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(dim=-3)  # (..., T, Dk, Dv)
    total = key.cumsum(dim=-2)  # (..., T, Dk)
    output = (query.unsqueeze(-2) @ memory).squeeze(-2)  # (..., T, 1, Dk) @ (..., T, Dk, Dv)
    return output / (query * total).sum(dim=-1, keepdim=True)


def cases(generator):
    """Without a batch axis, with one and with two; one token; equal sizes; features far above 0, and all below."""

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def tokens(T, Dk, Dv, *leading):
        return draw(*leading, T, Dk), draw(*leading, T, Dk), draw(*leading, T, Dv)

    def loud(*shape):
        """Features near ±1000, the first one never negative: φ makes 0 of -1000, and a query must weigh something."""
        signs = torch.randint(0, 2, shape, generator=generator) * 2.0 - 1.0
        signs[..., 0] = 1.0
        return 1000 * signs + draw(*shape)

    yield Case("a batch of 2", tokens(4, 3, 5, 2), group="a batch")
    yield Case("a batch of 3", tokens(5, 4, 2, 3), group="a batch")
    yield Case("no batch axis", tokens(5, 3, 4), group="no batch axis")
    yield Case("two axes in front, (B, H)", tokens(4, 5, 3, 2, 3), group="heads")
    yield Case("a single sentence", tokens(6, 4, 3, 1), group="batch 1")
    yield Case("one token", tokens(1, 4, 3, 2), group="one token")
    yield Case("keys as wide as values", tokens(5, 4, 4, 2), group="Dk = Dv")
    yield Case("as many tokens as features", tokens(4, 4, 3, 2), group="T = Dk")
    yield Case("every size 3", tokens(3, 3, 3, 3), group="all equal")
    query, key, value = tokens(4, 6, 3, 2)
    yield Case("every feature below 0", (-0.5 - query.abs(), -0.5 - key.abs(), value), group="below 0")
    yield Case("features of ±1000", (loud(2, 4, 5), loud(2, 4, 5), draw(2, 4, 3)), group="large features")
    yield Case("features of ±1000, no batch axis", (loud(3, 4), loud(3, 4), draw(3, 2)), group="large features")


def token_by_token(query, key, value):
    """As a recurrent network: one matrix and one vector are all that is carried from token to token."""
    memory, total, rows = 0.0, 0.0, []
    for q, k, v in zip(query.unbind(-2), key.unbind(-2), value.unbind(-2), strict=True):
        q, k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (q, k))
        memory, total = memory + k[..., :, None] * v[..., None, :], total + k
        rows.append((q[..., None] * memory).sum(-2) / (q * total).sum(-1, keepdim=True))
    return torch.stack(rows, -2)


def by_einsum(query, key, value):
    """A scale behind φ cancels out."""
    query, key = (functional.elu(query) + 1) * query.shape[-1] ** -0.5, functional.elu(key) + 1
    memory = torch.einsum("...td,...tm->...tdm", key, value).cumsum(-3)
    divisor = torch.einsum("...td,...td->...t", query, key.cumsum(-2))
    return torch.einsum("...td,...tdm->...tm", query, memory) / divisor.unsqueeze(-1)


def a_value_of_one(query, key, value):
    """The total is the memory's column for a value that is always 1."""
    query, key = (functional.relu(x) + torch.exp(-functional.relu(-x)) for x in (query, key))
    value = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)
    memory = torch.cumsum(key.unsqueeze(-1) * value.unsqueeze(-2), dim=-3)
    both = torch.matmul(query.unsqueeze(-2), memory).squeeze(-2)
    return both[..., :-1] / both[..., -1:]


def in_chunks(query, key, value, size=2):
    """As fast kernels do it: weights inside a chunk of `size` tokens, the memory for all that came before."""
    query, key = functional.elu(query).add(1), functional.elu(key).add(1)
    memory, total, chunks = key.new_zeros(()), key.new_zeros(()), []
    for q, k, v in zip(query.split(size, -2), key.split(size, -2), value.split(size, -2), strict=True):
        weights = (q @ k.mT).tril()  # (..., size, size)
        numerator, divisor = weights @ v, weights.sum(-1, keepdim=True)
        if chunks:
            numerator, divisor = numerator + q @ memory, divisor + q @ total.unsqueeze(-1)
        chunks.append(numerator / divisor)
        memory, total = memory + k.mT @ v, total + k.sum(-2)
    return torch.cat(chunks, -2)


def as_a_mean_that_moves(query, key, value):
    """The weights are divided first: each query's shares of the keys' features, one feature after the other."""
    query, key = functional.elu(query) + 1, functional.elu(key) + 1
    total = key.cumsum(-2)
    shares = query / (query * total).sum(-1, keepdim=True)  # (..., T, Dk)
    parts = [shares[..., d, None] * (key[..., d, None] * value).cumsum(-2) for d in range(key.shape[-1])]
    return sum(parts)


def _of_ones(function, cases, generator):
    for case in cases:
        query, key, value = case.args
        found = call(function, Case("", (query, key, torch.ones_like(value))))
        # Lax, since a small number in the divisor, as in the authors' code, is no mistake.
        if not close(found, torch.ones_like(found), 1e-4):
            return f"the mean of values that are all 1 is not 1 ({case.label})"
    return None


def _prefix(function, cases, generator):
    for case in cases:
        whole = call(function, case)
        for end in range(1, whole.shape[-2]):
            prefix = call(function, Case("", tuple(x[..., :end, :] for x in case.args)))
            if not close(prefix, whole[..., :end, :], 1e-6):
                return f"the first {end} tokens alone give something else than in the whole ({case.label})"
    return None


EXERCISE = Exercise(
    name="linear_attention",
    reference=linear_attention,
    cases=cases,
    laws=(
        Law("weights sum to 1", _of_ones, "By what must a sum of values be divided so that it is their mean?"),
        Law("a prefix is enough", _prefix, "Which line lets a token see what comes after it?"),
        batched(rows_independent({0, 1, 2})),
    ),
    mistakes=MISTAKES,
    accepts=(token_by_token, by_einsum, a_value_of_one, in_chunks, as_a_mean_that_moves),
    hints=(
        "Σ (φ(q) · φ(k)) v is φ(q) times Σ φ(k) v^T: the sum over the keys does not know the query. `cumsum` gives it "
        "for the keys so far.",
        "φ(k) v^T for all positions at once: `key.unsqueeze(-1) * value.unsqueeze(-2)`, (..., T, Dk, Dv). The "
        "positions are now axis -3.",
        "The divisor is the same with a 1 for each value: φ(q) times Σ φ(k), `(query * key.cumsum(dim=-2))` summed "
        "over the features.",
    ),
    minutes=12,
    difficulty=3,
    points=3,
    forbidden=FORBIDDEN,
)  # fmt: skip
