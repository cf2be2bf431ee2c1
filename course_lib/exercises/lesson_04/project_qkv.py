"""Exercise `project_qkv`: one input, three roles."""

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law, mistake
from course_lib.checking.laws import batched, call, close, reordered, rows_independent


def project_qkv(X, W_Q, W_K, W_V):
    """Queries, keys and values of every token: three projections of one input.

    X: (..., N, D). W_Q, W_K: (D, Dk). W_V: (D, Dv). Returns query (..., N, Dk), key (..., N, Dk), value (..., N, Dv).
    """
    return X @ W_Q, X @ W_K, X @ W_V


def cases(generator):
    """Unequal sizes with and without batch axes, one token, then sizes that coincide; no matrix occurs twice."""

    def arguments(*leading, N, D, Dk, Dv):
        sizes = (*leading, N, D), (D, Dk), (D, Dk), (D, Dv)
        return tuple(torch.randn(*size, generator=generator, dtype=torch.float64) for size in sizes)

    yield Case("one sentence, no batch axis", arguments(N=3, D=5, Dk=4, Dv=6), group="no batch axis")
    yield Case("two sentences", arguments(2, N=4, D=6, Dk=3, Dv=5), group="batch")
    yield Case("one sentence of one token", arguments(1, N=1, D=3, Dk=2, Dv=4), group="batch")
    yield Case("two leading axes", arguments(2, 3, N=4, D=7, Dk=5, Dv=6), group="two leading axes")
    yield Case("Dk = Dv", arguments(2, N=3, D=6, Dk=4, Dv=4), group="Dk = Dv")
    yield Case("D = Dk", arguments(2, N=3, D=5, Dk=5, Dv=4), group="D = Dk")
    yield Case("N = D", arguments(2, N=4, D=4, Dk=3, Dv=5), group="N = D")
    yield Case("square matrices", arguments(2, N=3, D=4, Dk=4, Dv=4), group="square")
    yield Case("N = D, square matrices", arguments(2, N=3, D=3, Dk=3, Dv=3), group="all equal")
    yield Case("N = D, square matrices, no batch axis", arguments(N=5, D=5, Dk=5, Dv=5), group="all equal")


@mistake(
    "One matrix makes all three: a token asks, is found and answers with one and the same vector. "
    "How many of your arguments does the body read?",
    source="E-qkv; one weight matrix reused for all three (stevezheng23/sequence_labeling_tf#81)",
)
def one_matrix(X, W_Q, W_K, W_V):
    return X @ W_Q, X @ W_Q, X @ W_Q


@mistake(
    "The inputs themselves come back three times: no matrix is used, so a token scores highest with its likes, itself "
    "among them. What lets a token ask for something other than what it is?",
    source="E-qkv: 'Q = K = V = input'",
)
def inputs_themselves(X, W_Q, W_K, W_V):
    return X, X, X


@mistake(
    "The value is a second key: W_K makes both, and W_V is never read. Which matrix decides what a token hands out?",
    source="a line copied for the third result and changed on the left only",
)
def value_through_key(X, W_Q, W_K, W_V):
    return X @ W_Q, X @ W_K, X @ W_K


@mistake(
    "Query and key are one vector: W_K is never read. What should differ between asking and being found?",
    source="a line copied for the second result; some models share this matrix on purpose",
)
def key_through_query(X, W_Q, W_K, W_V):
    return X @ W_Q, X @ W_Q, X @ W_V


@mistake(
    "The projections are chained: the key is made from the query, the value from the key. Chains need square "
    "matrices. From what does each of the three start?",
    source="one variable overwritten on every line: `x = x @ W`",
)
def chained(X, W_Q, W_K, W_V):
    query = X @ W_Q
    key = query @ W_K
    return query, key, key @ W_V


@mistake(
    "The value is made from the key, by two matrices in a row: what the key dropped is lost to the value as well. "
    "Which tensor should W_V be multiplied with?",
    source="'the value belongs to the key', read as a product",
)
def value_from_key(X, W_Q, W_K, W_V):
    key = X @ W_K
    return X @ W_Q, key, key @ W_V


@mistake(
    "The matrices are transposed; square ones hide it. Which axis of W_Q is as long as a row of X?",
    source="torch's `nn.Linear` keeps its weight as (out, in), this course keeps (in, out)",
)
def transposed(X, W_Q, W_K, W_V):
    return X @ W_Q.T, X @ W_K.T, X @ W_V.T


@mistake(
    "Each matrix stands on the left of X, where it mixes tokens rather than features. Tokens are rows here; "
    "on which side of a row vector does a matrix stand?",
    source="q = W x from books whose vectors are columns (probml/pml-book#707)",
)
def matrix_first(X, W_Q, W_K, W_V):
    return W_Q @ X, W_K @ X, W_V @ X


@mistake(
    "X is turned over first, so each matrix adds up over the tokens: with N = D nothing complains. "
    "Which axis of X should disappear in the product, tokens or features?",
    source="a transpose added until the shapes fit",
)
def over_tokens(X, W_Q, W_K, W_V):
    turned = X.mT
    return turned @ W_Q, turned @ W_K, turned @ W_V


@mistake(
    "Key and query have changed places; their shapes are alike. In which order does the caller unpack the three?",
    source="results in another order than the docstring's",
)
def key_first(X, W_Q, W_K, W_V):
    return X @ W_K, X @ W_Q, X @ W_V


@mistake(
    "The value comes second and the key third: with Dk = Dv the caller would search the values and hand out the keys. "
    "What is the order of Q, K, V?",
    source="'query and value' spoken of as a pair",
)
def value_second(X, W_Q, W_K, W_V):
    return X @ W_Q, X @ W_V, X @ W_K


@mistake(
    "The query is divided by √Dk already here, so whoever scales the scores later does it twice. "
    "Is the scaling part of a projection, or of the comparison?",
    source="C01: libraries may scale queries early, but then the scores are left alone",
)
def scaled_query(X, W_Q, W_K, W_V):
    return X @ W_Q / W_Q.shape[-1] ** 0.5, X @ W_K, X @ W_V


@mistake(
    "ReLU follows each projection: everything negative is cut off, and no score can fall below 0. "
    "Is there a bend in X W, or is it linear?",
    source="`activation=relu` as a layer's default (Kyubyong/transformer#49, CyberZHG/keras-multi-head#8)",
)
def rectified(X, W_Q, W_K, W_V):
    return torch.relu(X @ W_Q), torch.relu(X @ W_K), torch.relu(X @ W_V)


@mistake(
    "X is added to each projection: a shortcut around the matrix, possible only where D = Dk = Dv. "
    "Which block, lessons ahead, keeps the input beside its result?",
    source="the residual connection, put one level too deep",
)
def input_added(X, W_Q, W_K, W_V):
    return X + X @ W_Q, X + X @ W_K, X + X @ W_V


@mistake(
    "Only the last token asks: one query comes out for a whole sentence. How many tokens ask at once here?",
    source="the habit of lessons 2 and 3, where the last state alone was the query",
)
def last_token_asks(X, W_Q, W_K, W_V):
    return X[..., -1:, :] @ W_Q, X @ W_K, X @ W_V


@mistake(
    "The values are right, but key and value are made from a detached X: the layers below learn from the query alone. "
    "Which line cuts X from the graph?",
    source="'the memory is fixed', true of an encoder while decoding, not while learning",
)
def detached_memory(X, W_Q, W_K, W_V):
    memory = X.detach()
    return X @ W_Q, memory @ W_K, memory @ W_V


def by_einsum(X, W_Q, W_K, W_V):
    return tuple(torch.einsum("...nd,de->...ne", X, W) for W in (W_Q, W_K, W_V))


def by_linear(X, W_Q, W_K, W_V):
    return functional.linear(X, W_Q.T), functional.linear(X, W_K.T), functional.linear(X, W_V.T)


def one_wide_projection(X, W_Q, W_K, W_V):
    """Control C10's sister: one wide product, split afterwards."""
    wide = X @ torch.cat([W_Q, W_K, W_V], dim=1)  # (..., N, 2 Dk + Dv)
    return wide.split([W_Q.shape[1], W_K.shape[1], W_V.shape[1]], dim=-1)


def token_by_token(X, W_Q, W_K, W_V):
    def project(W):
        return torch.stack([(X[..., n, :, None] * W).sum(-2) for n in range(X.shape[-2])], dim=-2)

    return [project(W_Q), project(W_K), project(W_V)]


def _linear(function, cases, generator):
    for case in cases[:4]:
        X, *matrices = case.args
        other = torch.randn(X.shape, generator=generator, dtype=torch.float64)
        results = [call(function, Case(case.label, (x, *matrices))) for x in (X, other, X + other)]
        if not all(close(a + b, c) for a, b, c in zip(*results, strict=True)):
            return f"the projection of a sum is not the sum of the projections ({case.label})"
    return None


def _one_matrix_each(function, cases, generator):
    for i, (matrix, result) in enumerate((("W_Q", "query"), ("W_K", "key"), ("W_V", "value"))):
        args = list(cases[1].args)
        args[i + 1] = args[i + 1] + 1.0
        plain, moved = call(function, cases[1]), call(function, Case(cases[1].label, tuple(args)))
        moves = [not close(a, b) for a, b in zip(plain, moved, strict=True)]
        if moves != [j == i for j in range(3)]:
            return f"another {matrix} does not change the {result} alone"
    return None


EXERCISE = Exercise(
    name="project_qkv",
    reference=project_qkv,
    cases=cases,
    laws=(
        batched(rows_independent({0})),
        reordered("token by token", {0: (-2,)}, {i: (-2,) for i in range(3)}, "Where do tokens meet before attention?"),
        Law("linear", _linear, "What besides a matrix product is done to X?"),
        Law("a matrix each", _one_matrix_each, "Which matrix makes which result?"),
    ),
    mistakes=(
        one_matrix, inputs_themselves, value_through_key, key_through_query, chained, value_from_key, transposed,
        matrix_first, over_tokens, key_first, value_second, scaled_query, rectified, input_added, last_token_asks,
        detached_memory,
    ),
    accepts=(by_einsum, by_linear, one_wide_projection, token_by_token),
    hints=(
        "The same X goes into three products, each with a matrix of its own; nothing else happens here.",
        "(..., N, D) @ (D, Dk) is (..., N, Dk): every token's row is projected by itself.",
        "Return the three in the order query, key, value.",
    ),
    minutes=4,
    difficulty=1,
    points=1,
)  # fmt: skip
