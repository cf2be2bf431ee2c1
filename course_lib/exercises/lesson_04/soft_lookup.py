"""Exercise `soft_lookup`: a dictionary that answers with a mixture of its values."""

import torch

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import batched, call, reordered, rows_independent
from course_lib.exercises.attention_laws import divisor

from .soft_lookup_mistakes import MISTAKES


def soft_lookup(query, key, value, temperature):
    """A dictionary that answers with a mixture: softmax(q · k / temperature) over the keys weighs the values.

    query: (..., T, D). key: (..., S, D). value: (..., S, Dv). temperature: a number above 0; towards 0 only the best
    key answers. Returns (..., T, Dv).
    """
    weights = torch.softmax(query @ key.mT / temperature, dim=-1)  # (..., T, S)
    return weights @ value


def lookups(generator):
    """(label, group, (query, key, value)): unequal sizes, length 1, then sizes that coincide; scores of 1 to 5."""
    # D is not 4 at first: √4 is 4/2, and a wrong root looks like a half.
    for label, leading, T, S, D, Dv, group in (
        ("no batch axis", (), 2, 3, 6, 4, "no batch axis"),
        ("a batch of two", (2,), 3, 5, 7, 6, "batch"),
        ("a batch of one, one query", (1,), 1, 4, 3, 2, "batch"),
        ("one key", (2,), 3, 1, 5, 4, "batch"),
        ("two leading axes", (2, 3), 4, 5, 6, 7, "two leading axes"),
        ("as many queries as keys", (2,), 4, 4, 3, 5, "T = S"),
        ("keys and values equally wide", (2,), 3, 4, 5, 5, "D = Dv"),
        ("as many keys as features", (2,), 3, 5, 5, 4, "S = D"),
        ("T = S and D = Dv", (2,), 4, 4, 5, 5, "T = S, D = Dv"),
        ("as many rows as queries", (3,), 3, 5, 2, 4, "B = T"),
        ("as many rows and keys as features", (4,), 3, 4, 4, 5, "B = S = D"),
        ("all sizes 3", (3,), 3, 3, 3, 3, "all equal"),
        ("all sizes 3, two leading axes", (3, 3), 3, 3, 3, 3, "all equal"),
    ):
        sizes = (T, D), (S, D), (S, Dv)
        drawn = [torch.randn(*leading, *size, generator=generator, dtype=torch.float64) for size in sizes]
        yield label, group, (1.3 * drawn[0], 1.3 * drawn[1], drawn[2])


def cases(generator):
    """The lookups at changing temperatures, then one so low that exponentials of the scores overflow."""
    temperatures = (1.6, 3.0, 0.6, 2.0, 1.5, 0.7)
    for i, (label, group, arguments) in enumerate(lookups(generator)):
        yield Case(label, (*arguments, temperatures[i % 6]), group=group, gradient=i < 6)
    # Multiples of 1/2 and a power of 2 are exact in float32 too, so a float32 answer stays right.
    query, key = (torch.randint(-4, 5, (2, n, 5), generator=generator).to(torch.float64) / 2 for n in (3, 4))
    key[:, 0] = 2 * query[:, 0].sign()
    value = torch.randn(2, 4, 3, generator=generator, dtype=torch.float64)
    yield Case("temperature 1/1024", (query, key, value, 1 / 1024), group="low temperature")


def by_einsum(query, key, value, temperature):
    scores = torch.einsum("...td,...sd->...ts", query, key)
    return torch.einsum("...ts,...sv->...tv", (scores / temperature).log_softmax(-1).exp(), value)


def query_by_query(query, key, value, temperature):
    answers = []
    for t in range(query.shape[-2]):
        shares = torch.softmax((key * query[..., t : t + 1, :]).sum(-1) / temperature, dim=-1)  # (..., S)
        answers.append((shares.unsqueeze(-1) * value).sum(-2))
    return torch.stack(answers, dim=-2)


def cooled_queries(query, key, value, temperature):
    """Control C01: the queries are divided, not the scores; and one division at the end."""
    scores = torch.matmul(query / temperature, key.transpose(-2, -1))
    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (exponentials @ value) / exponentials.sum(-1, keepdim=True)


def by_fused_kernel(query, key, value, temperature):
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=1 / temperature)


def _sharpness(function, cases, generator):
    for case in cases:
        query, key, _, temperature = case.args
        S = key.shape[-2]
        # The values are an identity, so the answer is the weights.
        shown = Case(case.label, (query, key, torch.eye(S, dtype=key.dtype).expand(*key.shape[:-1], S), temperature))
        found = divisor(call(function, shown), query @ key.mT)
        if found and abs(found / temperature - 1) > 1e-6:
            return f"at temperature {temperature:g} the scores are divided by {found:.4g} ({case.label})"
    return None


EXERCISE = Exercise(
    name="soft_lookup",
    reference=soft_lookup,
    cases=cases,
    laws=(
        batched(rows_independent({0, 1, 2})),
        reordered("entries in any order", {1: (-2,), 2: (-2,)}, {}, "Does a dictionary care where an entry stands?"),
        reordered("each query for itself", {0: (-2,)}, {0: (-2,)}, "What has one query to do with the next?"),
        Law("temperature", _sharpness, "How does `temperature` enter, and what else enters beside it?"),
    ),
    mistakes=MISTAKES,
    accepts=(by_einsum, query_by_query, cooled_queries, by_fused_kernel),
    hints=(
        "Three steps: compare every query with every key, turn each row into shares, mix the values with them.",
        "`query @ key.mT` is (..., T, S): row t holds the scores of query t. Divide by the temperature before softmax.",
        "(..., T, S) @ (..., S, Dv) is (..., T, Dv): row t of the shares mixes the S values.",
    ),
    minutes=6,
    difficulty=1,
    points=1,
    forbidden=("torch.nn.functional.scaled_dot_product_attention",),
)  # fmt: skip
