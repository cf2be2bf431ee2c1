"""Exercise `self_attention`: the tokens of one sequence ask one another."""

import math

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import hidden_ignored, reordered, rows_independent

from .masked_attention import FORBIDDEN, for_masks_of_a_batch, masked_attention, up_to
from .masked_attention_mistakes import finish


def self_attention(X, W_Q, W_K, W_V, mask):
    """Every token asks the tokens of its own sequence.

    X: (B, N, D). W_Q, W_K: (D, Dk). W_V: (D, Dv). mask: bool, broadcastable to (B, N, N). Returns output (B, N, Dv),
    weights (B, N, N).
    """
    return masked_attention(X @ W_Q, X @ W_K, X @ W_V, mask)


def cases(generator):
    """Padding, causal and both, one token; then square matrices and B = N, where what does not fit runs."""

    def arguments(B, N, D, Dk, Dv):
        X, *matrices = (torch.randn(*s, generator=generator, dtype=torch.float64)
                        for s in ((B, N, D), (D, Dk), (D, Dk), (D, Dv)))  # fmt: skip
        return (X, *(matrix * 1.5 / math.sqrt(D) for matrix in matrices))

    def causal(N):
        return torch.ones(N, N, dtype=torch.bool).tril()

    yield Case("padding of 1 and of 2", (*arguments(2, 4, 5, 3, 6), up_to(4, 3, 2)), group="padding")
    yield Case("causal", (*arguments(2, 5, 3, 2, 4), causal(5)), group="causal")
    yield Case("causal and padding", (*arguments(3, 4, 5, 2, 3), causal(4) & up_to(4, 4, 2, 3)), group="both")
    yield Case("one sentence, one token", (*arguments(1, 1, 4, 3, 2), causal(1)), group="one token")
    yield Case("a sentence of padding alone", (*arguments(2, 3, 5, 2, 4), up_to(3, 2, 0)), group="no key left")
    yield Case("keys as wide as values", (*arguments(2, 3, 5, 4, 4), up_to(3, 2, 1)), group="Dk = Dv")
    yield Case("square matrices", (*arguments(2, 5, 3, 3, 3), causal(5)), group="D = Dk = Dv")
    yield Case("as many rows as tokens", (*arguments(4, 4, 5, 3, 2), causal(4)), group="B = N")
    yield Case("every size 3", (*arguments(3, 3, 3, 3, 3), up_to(3, 2, 3, 1)), group="all equal")


@mistake(
    "The tokens are compared as they are, Q = K = V = X: no matrix is used. All three come from the same input, but by "
    "which step does each become something of its own?",
    source="E-qkv",
)
def no_projection(X, W_Q, W_K, W_V, mask):
    return masked_attention(X, X, X, mask)


@mistake(
    "Queries and keys are projected, the values are not: what a token hands on is the token itself. Where is W_V due?",
    source="E-qkv",
)
def value_not_projected(X, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, X @ W_K, X, mask)


@mistake(
    "The keys come through W_Q like the queries: every token finds itself most alike. Which matrix makes a key?",
    source="a line copied, one letter left",
)
def key_by_query_matrix(X, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, X @ W_Q, X @ W_V, mask)


@mistake(
    "The values come through W_K: the words found and the words handed on are the same. What is the third matrix for?",
    source="one projection for keys and values, as in models that share them; equal widths hide it",
)
def value_by_key_matrix(X, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, X @ W_K, X @ W_K, mask)


@mistake(
    "Queries and keys have changed places: row i of the weights tells who asks for token i, not what token i asks for. "
    "Which argument of the attention comes first?",
    source="in self-attention both are (B, N, Dk), so nothing complains",
)
def query_and_key_exchanged(X, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_K, X @ W_Q, X @ W_V, mask)


@mistake(
    "The mask ends here: it is taken in and not handed on, so every token sees all. To which call does it belong?",
    source="A047",
)
def mask_kept_back(X, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, X @ W_K, X @ W_V, torch.ones_like(mask))


@mistake(
    "The mask is negated on its way in: each token sees only padding, or only its future. Which of the two "
    "conventions of torch is ours?",
    source="A130",
)
def mask_negated(X, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, X @ W_K, X @ W_V, ~mask)


@mistake(
    "The mask is transposed; with N queries and N keys it still fits. A causal one now hides the past, a padding one "
    "blanks queries. Are its rows the ones who ask or the ones who are asked?",
    source="A041, A051",
)
def mask_transposed(X, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, X @ W_K, X @ W_V, mask.mT)


@mistake(
    "The mask is laid on the output: the rows of padded tokens are 0, but the others have listened to the padding. "
    "At which moment does a token decide whom to hear?",
    source="A030 one step later: padding is wiped off where it is seen",
)
def output_wiped(X, W_Q, W_K, W_V, mask):
    output, weights = mask_kept_back.wrong(X, W_Q, W_K, W_V, mask)
    return output * mask.mT, weights


@mistake(
    "Padded tokens are set to 0 at the start, and then take part: a key of zeros scores 0, which is no reason to be "
    "skipped. Where does 'not allowed' have to be said?",
    source="A031 one step earlier: embeddings of padding are zeros, so it looks done",
)
def tokens_wiped(X, W_Q, W_K, W_V, mask):
    return mask_kept_back.wrong(X * mask.mT, W_Q, W_K, W_V, mask)


@mistake(
    "The scores are divided by the root of the model's width D. How many products does one score add up, D or d_k?",
    source="A023",
)
def scaled_by_model_width(X, W_Q, W_K, W_V, mask):
    return finish(X @ W_Q @ (X @ W_K).mT / math.sqrt(X.shape[-1]), X @ W_V, mask)


@mistake(
    "Each column of the weights sums to 1, not each row: the tokens share out their listeners. "
    "Whose attention is to be divided among whom?",
    source="A026; with N = N the shape is silent",
)
def columns_sum_to_one(X, W_Q, W_K, W_V, mask):
    return finish(X @ W_Q @ (X @ W_K).mT / math.sqrt(W_Q.shape[-1]), X @ W_V, mask, dim=-2)


@mistake(
    "Attention runs across the batch: token 3 of one sentence listens to token 3 of the others. Which axis of X is "
    "the sequence?",
    source="A129",
)
def across_the_batch(X, W_Q, W_K, W_V, mask):
    output, weights = self_attention(X.transpose(0, 1), W_Q, W_K, W_V, mask)
    return output.transpose(0, 1), weights


@mistake(
    "X is added to the output. That residual is right, three lessons on, and stands outside of the attention. "
    "What is this function alone to give back?",
    source="the whole block written for its first part",
)
def with_residual(X, W_Q, W_K, W_V, mask):
    output, weights = self_attention(X, W_Q, W_K, W_V, mask)
    return X + output, weights


@mistake(
    "Everything is projected twice: once in front, and again inside. Who of the two does it, you or the function you "
    "call?",
    source="A132",
)
def projected_twice(X, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q @ W_Q, X @ W_K @ W_K, X @ W_V @ W_V, mask)


@mistake(
    "The matrices are applied as in `nn.Linear`, which stores them transposed. Which of D and Dk comes first in W_Q?",
    source="`functional.linear`; square matrices hide it",
)
def as_in_linear(X, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q.T, X @ W_K.T, X @ W_V.T, mask)


@mistake(
    "Only the last token asks: one row of output a sentence. Who else in the sentence wants an answer?",
    source="the decoder of lessons 2 and 3, with one query a step",
)
def last_token_asks(X, W_Q, W_K, W_V, mask):
    return masked_attention(X[:, -1:] @ W_Q, X @ W_K, X @ W_V, mask[..., -1:, :])


def by_one_projection(X, W_Q, W_K, W_V, mask):
    """Control C10's sister: one wide projection, split afterwards."""
    widths = [W_Q.shape[1], W_K.shape[1], W_V.shape[1]]
    query, key, value = (X @ torch.cat([W_Q, W_K, W_V], dim=1)).split(widths, dim=-1)
    weights = (query / widths[0] ** 0.5 @ key.mT).masked_fill(~mask, float("-inf")).softmax(-1).nan_to_num(0.0)
    return weights @ value, weights


def by_einsum(X, W_Q, W_K, W_V, mask):
    scores = torch.einsum("bnd,dk,ek,bme->bnm", X, W_Q, W_K, X) * W_K.shape[1] ** -0.5
    weights = torch.where(mask, scores, -1e30).softmax(-1) * mask
    return torch.einsum("bnm,bmd,dv->bnv", weights, X, W_V), weights


def by_sentence(X, W_Q, W_K, W_V, mask):
    masks = mask.expand(X.shape[0], X.shape[1], X.shape[1])
    pairs = [masked_attention(x @ W_Q, x @ W_K, x @ W_V, m) for x, m in zip(X, masks, strict=True)]
    return tuple(torch.stack(part) for part in zip(*pairs, strict=True))


def mean_before_values(X, W_Q, W_K, W_V, mask):
    """Bilinear scores, and the mean of the tokens first: W_V may come last, for it is linear."""
    logits = torch.where(mask, X @ (W_Q @ W_K.T / math.sqrt(W_Q.shape[-1])) @ X.transpose(1, 2), -1e30)
    powers = torch.exp(logits - logits.amax(-1, keepdim=True)) * mask
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    return weights @ X @ W_V, weights


EXERCISE = Exercise(
    name="self_attention",
    reference=self_attention,
    cases=cases,
    laws=(
        for_masks_of_a_batch(rows_independent({0, 4})),
        hidden_ignored((0,), 4, are_queries=True),
        reordered("permutation equivariance", {0: (1,), 4: (-2, -1)}, {0: (1,), 1: (1, 2)},
                  "If the tokens come in another order, and the mask with them, what should happen to the output?"),
    ),
    mistakes=(
        no_projection, value_not_projected, key_by_query_matrix, value_by_key_matrix, query_and_key_exchanged,
        mask_kept_back, mask_negated, mask_transposed, output_wiped, tokens_wiped, scaled_by_model_width,
        columns_sum_to_one, across_the_batch, with_residual, projected_twice, as_in_linear, last_token_asks,
    ),
    accepts=(by_one_projection, by_einsum, by_sentence, mean_before_values),
    hints=(
        "Queries, keys and values all come from X, each by its own matrix: `X @ W_Q` is (B, N, Dk).",
        "Your own `masked_attention` does the rest. Hand it the mask as it is.",
    ),
    minutes=5,
    difficulty=1,
    points=2,
    forbidden=FORBIDDEN,
)  # fmt: skip
