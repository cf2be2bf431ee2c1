"""What people write for `encoder_block` instead: what attention is given, and which part follows which."""

from course_lib.checking import mistake

from .encoder_block_order_mistakes import among, block
from .residual import residual


@mistake(
    "The mask does not arrive: every token sees every other, padding and future included. "
    "Which call inside the block takes it?",
    source="A047",
)
def mask_dropped(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    everything = mask | ~mask
    return block(x, among(self_attention, everything), feed_forward, norm_1, norm_2, norm_first, norm_first)


@mistake(
    "The mask is turned round on the way: tokens look only at what should be hidden. "
    "What does True mean in this course, and what to the layer that you have in mind?",
    source="A130: `nn.MultiheadAttention` hides where its mask is True",
)
def mask_inverted(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, among(self_attention, ~mask), feed_forward, norm_1, norm_2, norm_first, norm_first)


@mistake(
    "x is turned to (S, B, D) for the attention: the sentences of a batch attend to one another, and the words of one "
    "never meet. Which axis comes first in this course?",
    source="A129: `nn.MultiheadAttention` takes the sequence first unless told otherwise",
)
def sequence_first(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    def attend(x):
        turned = x.transpose(0, 1)  # (S, B, D)
        return self_attention(turned, turned, turned, mask).transpose(0, 1)

    return block(x, attend, feed_forward, norm_1, norm_2, norm_first, norm_first)


@mistake(
    "Attention and feed-forward network both read the same tokens, and neither sees what the other found: a parallel "
    "block, as in GPT-J. What should the feed-forward network be given here?",
    source="GPT-J and PaLM run both at once, which is faster; or the old name handed to the second part",
)
def parallel(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    first = residual(x, among(self_attention, mask), norm_1, norm_first)
    return first + feed_forward(norm_2(x)) if norm_first else norm_2(first + feed_forward(x))


@mistake(
    "With norm_first, the attention reads x without its norm, in query, key and value alike. "
    "Which x does your lambda hand on, its own or that of the block?",
    source="`lambda _: self_attention(x, x, x, mask)`: a closure over the outer name",
)
def attention_without_norm(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    outer = x
    attend = among(self_attention, mask)
    return block(x, lambda x: attend(outer), feed_forward, norm_1, norm_2, norm_first, norm_first)


@mistake(
    "With norm_first, queries are normalised, keys and values are not: tokens ask in one language and are found in "
    "another. How many of the three come from norm_1(x)?",
    source="`x + self_attention(norm_1(x), x, x, mask)`: the norm put on the first argument",
)
def keys_without_norm(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    outer = x
    return block(x, lambda x: self_attention(x, outer, outer, mask), feed_forward, norm_1, norm_2,
                 norm_first, norm_first)  # fmt: skip


@mistake(
    "With norm_first, keys and values are normalised, and the query is raw x. "
    "In self-attention, how do query and key differ before they meet W_Q and W_K?",
    source="pre-norm for the memory alone, as if it were cross-attention",
)
def query_without_norm(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    outer = x
    return block(x, lambda x: self_attention(outer, x, x, mask), feed_forward, norm_1, norm_2,
                 norm_first, norm_first)  # fmt: skip


@mistake(
    "With norm_first, query and key are normalised, the value is raw x: the weights are right, what they mix is not. "
    "What does the third argument of the attention become part of?",
    source="DETR's layers give queries and keys another input than the values",
)
def value_without_norm(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    outer = x
    return block(x, lambda x: self_attention(x, x, outer, mask), feed_forward, norm_1, norm_2,
                 norm_first, norm_first)  # fmt: skip


@mistake(
    "The feed-forward network comes first: it bends tokens that have not looked around yet. "
    "In which order does the docstring name the two?",
    source="the two lines in the other order, each with its own norm",
)
def feed_forward_first(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, feed_forward, among(self_attention, mask), norm_2, norm_1, norm_first, norm_first)


@mistake(
    "The feed-forward network stands in the place of the attention, with the attention's norm, and the other way "
    "round. Which sub-layer does norm_1 belong to?",
    source="the two sub-layers exchanged between two finished lines",
)
def parts_exchanged(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, feed_forward, among(self_attention, mask), norm_1, norm_2, norm_first, norm_first)


@mistake(
    "Attention runs twice, and the feed-forward network never: tokens are mixed and mixed again, none is bent. "
    "What should your second line call?",
    source="the first line copied, its sub-layer left as it was; a decoder block has two attentions",
)
def attention_twice(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    attend = among(self_attention, mask)
    return block(x, attend, attend, norm_1, norm_2, norm_first, norm_first)


@mistake(
    "The feed-forward network runs twice, and attention never: no token hears another. "
    "What should your first line call?",
    source="the second line copied over the first",
)
def feed_forward_twice(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, feed_forward, feed_forward, norm_1, norm_2, norm_first, norm_first)


@mistake(
    "What attention found is computed and then never used: the second part begins from the block's input. "
    "Under which name do you keep the first result, and which name does the second line read?",
    source="a new name on the left of the first line, the old one in the second",
)
def attention_never_used(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    residual(x, among(self_attention, mask), norm_1, norm_first)
    return residual(x, feed_forward, norm_2, norm_first)


@mistake(
    "`[0]` takes the first sentence of the batch, and all others are given its result. "
    "Does this `self_attention` return a pair, or one tensor?",
    source="the library's MultiHeadAttention and torch's return (output, weights); here the output comes alone",
)
def first_of_a_pair(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, lambda x: self_attention(x, x, x, mask)[0], feed_forward, norm_1, norm_2,
                 norm_first, norm_first)  # fmt: skip


@mistake(
    "The block ends after the attention. Which two arguments have you not used yet?",
    source="attention is all you need, taken at its word",
)
def attention_alone(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return residual(x, among(self_attention, mask), norm_1, norm_first)


@mistake(
    "Both parts stand inside one `residual`: attention, then feed-forward, with nothing between them, and norm_2 is "
    "never called. How many shortcuts does the block have?",
    source="sub-layers composed first and wrapped once",
)
def wrapped_once(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    attend = among(self_attention, mask)
    return residual(x, lambda x: feed_forward(attend(x)), norm_1, norm_first)


MISTAKES = (
    mask_dropped, mask_inverted, sequence_first, parallel, attention_without_norm, keys_without_norm,
    query_without_norm, value_without_norm, feed_forward_first, parts_exchanged, attention_twice,
    feed_forward_twice, attention_never_used, first_of_a_pair, attention_alone, wrapped_once,
)  # fmt: skip
