"""What people write for `self_attention` instead: the wrong answers that the exercise knows by name."""

import math

import torch

from course_lib.checking import mistake

from .masked_attention import masked_attention
from .masked_attention_mistakes import finish


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
    X = X.transpose(0, 1)
    output, weights = masked_attention(X @ W_Q, X @ W_K, X @ W_V, mask)
    return output.transpose(0, 1), weights


@mistake(
    "X is added to the output. That residual is right, three lessons on, and stands outside of the attention. "
    "What is this function alone to give back?",
    source="the whole block written for its first part",
)
def with_residual(X, W_Q, W_K, W_V, mask):
    output, weights = masked_attention(X @ W_Q, X @ W_K, X @ W_V, mask)
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


@mistake(
    "The scores go into the softmax as large as they come: √d_k is missing. Which step of lesson 4 stands between "
    "the product and the mask?",
    source="the attention written out again, one step short; A023's sister",
)
def unscaled(X, W_Q, W_K, W_V, mask):
    return finish(X @ W_Q @ (X @ W_K).mT, X @ W_V, mask)


@mistake(
    "The scores are divided by the root of Dv, the width of the values. Which vectors meet in a score, and how wide "
    "are those?",
    source="A023's kin: the last axis of the wrong tensor; equal widths hide it",
)
def scaled_by_value_width(X, W_Q, W_K, W_V, mask):
    return finish(X @ W_Q @ (X @ W_K).mT / math.sqrt(W_V.shape[-1]), X @ W_V, mask)


@mistake(
    "W_V makes the keys and W_K the values: a token is found by what it should hand on. Which of the two does your "
    "attention take second?",
    source="`value, key` in the wrong order; equal widths hide it",
)
def key_and_value_exchanged(X, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, X @ W_V, X @ W_K, mask)


@mistake(
    "A causal triangle is laid over the mask: no token hears those after it, though the mask may allow them. Who "
    "decides what a token may see, this function or its caller?",
    source="self-attention known from GPT, where it is always causal",
)
def causal_too(X, W_Q, W_K, W_V, mask):
    N = X.shape[1]
    return masked_attention(X @ W_Q, X @ W_K, X @ W_V, mask & torch.ones(N, N, dtype=torch.bool).tril())


MISTAKES = (
    no_projection, value_not_projected, key_by_query_matrix, value_by_key_matrix, query_and_key_exchanged,
    mask_kept_back, mask_negated, mask_transposed, output_wiped, tokens_wiped, scaled_by_model_width,
    columns_sum_to_one, across_the_batch, with_residual, projected_twice, as_in_linear, last_token_asks, unscaled,
    scaled_by_value_width, key_and_value_exchanged, causal_too,
)  # fmt: skip
