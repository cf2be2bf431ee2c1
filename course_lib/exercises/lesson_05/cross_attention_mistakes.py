"""What people write for `cross_attention` instead: the wrong answers that the exercise knows by name."""

import math

import torch

from course_lib.checking import mistake

from .masked_attention import masked_attention
from .masked_attention_mistakes import finish


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
    X, memory = X.transpose(0, 1), memory.transpose(0, 1)
    output, weights = masked_attention(X @ W_Q, memory @ W_K, memory @ W_V, mask)
    return output.transpose(0, 1), weights


@mistake(
    "X is added to what was found in the source: that is the residual connection, which the block adds later. "
    "Is X part of softmax(Q K^T / √d_k) V?",
    source="the whole block of a decoder written for its middle part",
)
def with_residual(X, memory, W_Q, W_K, W_V, mask):
    output, weights = masked_attention(X @ W_Q, memory @ W_K, memory @ W_V, mask)
    return output + X, weights


@mistake(
    "The products are divided by nothing: the wider W_Q, the more the softmax settles on one source token. Where "
    "did √d_k stand in your attention?",
    source="the attention written out again, one step short; A023's sister",
)
def unscaled(X, memory, W_Q, W_K, W_V, mask):
    return finish(X @ W_Q @ (memory @ W_K).mT, memory @ W_V, mask)


@mistake(
    "The root is that of D, the width of X. Scores are products of projected vectors: how many entries have those?",
    source="A023",
)
def scaled_by_model_width(X, memory, W_Q, W_K, W_V, mask):
    return finish(X @ W_Q @ (memory @ W_K).mT / math.sqrt(X.shape[-1]), memory @ W_V, mask)


@mistake(
    "W_K makes the values too: what is handed over is what was searched by. Which matrix does your body never use?",
    source="one projection for keys and values; equal widths hide it",
)
def value_by_key_matrix(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_Q, memory @ W_K, memory @ W_K, mask)


@mistake(
    "X goes through W_K and the memory through W_Q: equal widths let it run. Which of the two sequences asks, and "
    "which is searched?",
    source="Q and K exchanged on two lines; the scores have the right shape all the same",
)
def query_and_key_matrices_exchanged(X, memory, W_Q, W_K, W_V, mask):
    return masked_attention(X @ W_K, memory @ W_Q, memory @ W_V, mask)


MISTAKES = (
    self_attention_again, roles_exchanged, values_from_x, keys_from_x, source_asks_itself, padding_heard,
    only_padding_heard, mask_along_queries, causal_too, memory_averaged, key_and_value_exchanged, memory_as_value,
    query_by_key_matrix, source_chooses, across_the_batch, with_residual, unscaled, scaled_by_model_width,
    value_by_key_matrix, query_and_key_matrices_exchanged,
)  # fmt: skip
