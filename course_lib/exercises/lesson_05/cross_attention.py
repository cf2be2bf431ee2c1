"""Exercise `cross_attention`: one sequence asks, another one answers."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import hidden_ignored, reordered, rows_independent

from .masked_attention import FORBIDDEN, for_masks_of_a_batch, masked_attention, patchy, up_to
from .masked_attention_mistakes import finish


def cross_attention(X, memory, W_Q, W_K, W_V, mask):
    """Queries from one sequence, keys and values from another.

    X: (B, T, D). memory: (B, S, Dm). W_Q: (D, Dk). W_K: (Dm, Dk). W_V: (Dm, Dv). mask: bool, broadcastable to
    (B, T, S). Returns output (B, T, Dv), weights (B, T, S).
    """
    return masked_attention(X @ W_Q, memory @ W_K, memory @ W_V, mask)


def cases(generator):
    """Padding in the source, a mask for each query, one of each; then the sizes coincide one after the other."""

    def arguments(B, T, S, D, Dm, Dk, Dv):
        X, memory, *matrices = (torch.randn(*size, generator=generator, dtype=torch.float64) for size in
                                ((B, T, D), (B, S, Dm), (D, Dk), (Dm, Dk), (Dm, Dv)))  # fmt: skip
        return (X, memory, *(1.5 * matrix / math.sqrt(len(matrix)) for matrix in matrices))

    everything = torch.ones(4, 4, dtype=torch.bool)
    yield Case("padding in the source", (*arguments(2, 3, 5, 4, 6, 2, 7), up_to(5, 3, 4)), group="padding")
    yield Case("a mask for each query", (*arguments(2, 4, 5, 3, 2, 6, 3), patchy(1, 4, 5)[0]), group="for each query")
    yield Case("one target, one source token", (*arguments(1, 1, 1, 2, 3, 4, 5), up_to(1, 1)), group="one of each")
    yield Case("a source of padding alone", (*arguments(2, 3, 4, 2, 5, 3, 6), up_to(4, 0, 3)), group="no key left")
    yield Case("keys as wide as values", (*arguments(2, 3, 4, 5, 6, 3, 3), up_to(4, 2, 3)), group="Dk = Dv")
    yield Case("memory as wide as X", (*arguments(2, 3, 5, 4, 4, 2, 6), up_to(5, 4, 2)), group="D = Dm")
    yield Case("equally long", (*arguments(2, 4, 4, 3, 5, 2, 6), up_to(4, 3, 2)), group="T = S")
    alike = arguments(2, 4, 4, 5, 5, 3, 2)
    yield Case("equally long and wide", (*alike, up_to(4, 2, 3)), group="T = S, D = Dm")
    yield Case("as many rows as tokens", (*arguments(4, 4, 4, 3, 5, 2, 6), everything), group="B = T = S")
    yield Case("every size 3", (*arguments(3, 3, 3, 3, 3, 3, 3), up_to(3, 2, 3, 1)), group="all equal")


@mistake(
    "The other sequence is never read: queries, keys and values all come from X, and that is self-attention. A model "
    "like this still lowers its loss, as a language model. Which of the three should come from `memory`?",
    source="A093",
)
def self_attention_again(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, X @ W_K, X @ W_V, mask)


@mistake(
    "The roles have changed: the source asks, and the target answers. Who is looking for something while a translation "
    "is being written?",
    source="'queries from the encoder', the sentence turned round",
)
def roles_exchanged(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(memory @ W_Q, X @ W_K, X @ W_V, mask)


@mistake(
    "Keys come from the source, values from X: the decoder finds the right place and then takes its own words. "
    "What should be handed over from the place that was found?",
    source="A093, half of it; equal lengths and widths let it run",
)
def values_from_x(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, memory @ W_K, X @ W_V, mask)


@mistake(
    "Values come from the source, keys from X: the decoder searches in its own words and takes what stands at the same "
    "place in the source. In which sequence should it search?",
    source="A093, half of it; equal lengths and widths let it run",
)
def keys_from_x(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, X @ W_K, memory @ W_V, mask)


@mistake(
    "Only the queries come from the wrong side: the source asks itself, and the target has no say in it. "
    "From which argument is the query made?",
    source="a line of the encoder pasted into the decoder",
)
def source_asks_itself(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(memory @ W_Q, memory @ W_K, memory @ W_V, mask)


@mistake(
    "The padding of the source takes part: the mask never reaches the attention. Which call leaves it out?",
    source="A016, A047",
)
def padding_heard(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, memory @ W_K, memory @ W_V, torch.ones_like(mask))


@mistake(
    "The padding of the source is all that is seen: the mask came in with True for 'look here' and is used with True "
    "for 'skip'. On which line does its meaning change?",
    source="A130",
)
def only_padding_heard(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, memory @ W_K, memory @ W_V, ~mask)


@mistake(
    "The mask of the source lies along the queries: with T = S it fits, and blanks target words. Over which axis of "
    "(B, T, S) should padding of the source be marked?",
    source="A041, A096",
)
def mask_along_queries(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, memory @ W_K, memory @ W_V, mask.mT)


@mistake(
    "A causal triangle was added: target word t reads the source only up to word t. Is there any reason to hide the "
    "end of a sentence that lies there complete?",
    source="A096: the mask of the decoder's self-attention",
)
def causal_too(X, memory, W_Q, W_K, W_V, mask):
    shown = torch.ones(X.shape[1], memory.shape[1], dtype=torch.bool).tril()
    return masked_attention(X @ W_Q, memory @ W_K, memory @ W_V, mask & shown)


@mistake(
    "The memory is averaged before anybody asks: every query gets the same vector, the bottleneck of lesson 1. "
    "Which mean should depend on the query?",
    source="the fixed vector of a Seq2Seq model, carried along",
)
def memory_averaged(X, memory, W_Q, W_K, W_V, mask):
    mean = memory.mean(1, keepdim=True).expand_as(memory)
    return masked_attention(X @ W_Q, mean @ W_K, mean @ W_V, mask)


@mistake(
    "Keys and values have changed places: W_V makes what is searched, W_K what is handed over. In which order does "
    "your attention take its arguments?",
    source="`value, key` unpacked in the wrong order; equal widths hide it",
)
def key_and_value_exchanged(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, memory @ W_V, memory @ W_K, mask)


@mistake(
    "The memory itself is the value, without W_V: the encoder's width comes out. Which projection decides how wide the "
    "output is?",
    source="E-qkv; in lessons 2 and 3 the encoder states were keys and values as they were",
)
def memory_as_value(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, memory @ W_K, memory, mask)


@mistake(
    "The queries come through W_K. It was made for the memory; W_Q waits unused. Which of your matrices begins with D?",
    source="one matrix for both sides; equal widths hide it",
)
def query_by_key_matrix(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_K, memory @ W_K, memory @ W_V, mask)


@mistake(
    "The weights of each source token sum to 1 over the target: source words choose their readers. Which of T and S "
    "should the softmax run over?",
    source="A026",
)
def source_chooses(X, memory, W_Q, W_K, W_V, mask):
    scores = X @ W_Q @ (memory @ W_K).mT / math.sqrt(W_Q.shape[-1])
    return finish(scores, memory @ W_V, mask, dim=-2)


@mistake(
    "Sentences of the batch attend to one another: the first axis is taken for the time, as in torch's layers without "
    "`batch_first`. What is the first axis in this course?",
    source="A129",
)
def across_the_batch(X, memory, W_Q, W_K, W_V, mask):
    output, weights = cross_attention(X.transpose(0, 1), memory.transpose(0, 1), W_Q, W_K, W_V, mask)
    return output.transpose(0, 1), weights


@mistake(
    "X is added to what was found in the source: that is the residual connection, which the block adds later. "
    "Is X part of softmax(Q K^T / √d_k) V?",
    source="the whole block of a decoder written for its middle part",
)
def with_residual(X, memory, W_Q, W_K, W_V, mask):
    output, weights = cross_attention(X, memory, W_Q, W_K, W_V, mask)
    return output + X, weights


def by_one_projection(X, memory, W_Q, W_K, W_V, mask):
    key, value = (memory @ torch.hstack([W_K, W_V])).tensor_split([W_K.shape[1]], dim=-1)
    weights = (X @ W_Q / W_Q.shape[1] ** 0.5 @ key.mT).masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)
    return weights @ value, weights


def by_einsum(X, memory, W_Q, W_K, W_V, mask):
    query, key = torch.einsum("btd,dk->btk", X, W_Q), torch.einsum("bsm,mk->bsk", memory, W_K)
    scores = torch.einsum("btk,bsk->bts", query, key) / math.sqrt(key.shape[-1])
    weights = torch.where(mask, scores, -1e30).softmax(-1) * mask
    return torch.einsum("bts,bsm,mv->btv", weights, memory, W_V), weights


def query_by_query(X, memory, W_Q, W_K, W_V, mask):
    masks = mask.expand(X.shape[0], X.shape[1], memory.shape[1])
    steps = [masked_attention(X[:, t : t + 1] @ W_Q, memory @ W_K, memory @ W_V, masks[:, t : t + 1])
             for t in range(X.shape[1])]  # fmt: skip
    return tuple(torch.cat(part, dim=1) for part in zip(*steps, strict=True))


def fused(X, memory, W_Q, W_K, W_V, mask):
    query, key, value = X.matmul(W_Q), memory.matmul(W_K), memory.matmul(W_V)
    weights, some = masked_attention(query, key, value, mask)[1], mask.any(-1, keepdim=True)
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask | ~some) * some, weights


EXERCISE = Exercise(
    name="cross_attention",
    reference=cross_attention,
    cases=cases,
    laws=(
        for_masks_of_a_batch(rows_independent({0, 1, 5})),
        hidden_ignored((1,), 5, name="hidden source tokens do not matter"),
        reordered("the order of the source does not matter", {1: (1,), 5: (-1,)}, {1: (2,)},
                  "Attention finds by content: if the source tokens come in another order, what of the output stays?"),
    ),
    mistakes=(
        self_attention_again, roles_exchanged, values_from_x, keys_from_x, source_asks_itself, padding_heard,
        only_padding_heard, mask_along_queries, causal_too, memory_averaged, key_and_value_exchanged, memory_as_value,
        query_by_key_matrix, source_chooses, across_the_batch, with_residual,
    ),
    accepts=(by_one_projection, by_einsum, query_by_query, fused),
    hints=(
        "X asks: `X @ W_Q` is (B, T, Dk). Who answers, and so gives keys and values?",
        "`memory @ W_K` and `memory @ W_V`; T and S may differ, and the mask is for the S keys.",
    ),
    minutes=5,
    difficulty=1,
    points=2,
    forbidden=FORBIDDEN,
)  # fmt: skip
