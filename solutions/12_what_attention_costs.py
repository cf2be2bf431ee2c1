# ---
# jupyter:
#   course:
#     title: What attention costs
#     question: What does it cost that everybody looks at everybody, and what can be saved?
#     outcomes:
#     - measure what a layer costs in operations, in memory and in waiting, and how each grows
#     - compute exact attention without ever holding the square of scores
#     - say what a window, a sparse pattern and linear attention save, and what each of them loses
#     - work out how much memory serving a model takes
#     - test whether an attention map explains an output, instead of believing it
#     minutes: 110
#     prerequisites: [lesson 11]
#     exercises: [online_softmax, tiled_attention, sliding_window_mask, linear_attention]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 12 · What attention costs
#
# **What does it cost that everybody looks at everybody, and what can be saved?** · 110 minutes
#
# Lesson 1 began with a network that read one token after another and squeezed a sentence into one vector. Eleven lessons later every token looks at every other. That was not free.
# This lesson measures the bill, finds the part of it that can be saved without changing a single result, and then the cheaper attentions that *do* change it.

# %% tags=["setup"]
import functools
import math
import time

import torch
from course_lib import check, hint, mine, pick_device, progress, solution
from course_lib.attention import masked_softmax, scaled_dot_product_attention
from course_lib.blocks import EncoderBlock
from course_lib.claims import claim
from course_lib.data.batches import encode_pairs, make_batch, training_batches
from course_lib.data.korean import korean_examples, token_pairs
from course_lib.data.vocabulary import EOS, PAD, Vocabulary
from course_lib.evaluation import sequence_accuracy
from course_lib.experiments.recall import accuracy as recall_accuracy
from course_lib.experiments.recall import load_recall
from course_lib.figures import panels, show, style
from course_lib.generation import write
from course_lib.live_memory import LiveMemory
from course_lib.masks import causal_mask as library_causal_mask
from course_lib.multi_head_attention import MultiHeadAttention
from course_lib.tiled_attention import tiled_attention as library_tiled
from course_lib.training import fit, sequence_loss
from course_lib.training.schedules import noam_rate
from course_lib.transformer import Transformer
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# <!-- concept: L12-table -->
# ## A layer that recurs against a layer that attends
#
# Textbooks have a table: path length, operations, what can run in parallel (Vaswani et al. 2017, table 1). You can measure every entry. Three layers of width D, for N tokens:
#
# - **recurrent**: a GRU cell, step by step (lesson 1);
# - **attention**: scores, softmax and mixture alone (lesson 4);
# - **the rest of a block**: projections and feed-forward network, each token for itself (lesson 8).


# %%
def recurrent(tokens, cell):
    """tokens: N tensors (1, D). Returns the last state (1, D)."""
    state = torch.zeros_like(tokens[0])
    for token in tokens:
        state = cell(token, state)
    return state


def attention(tokens):
    """tokens: N tensors (1, D). Every token asks all. Returns what the last one hears, (1, D)."""
    x = torch.stack(tokens, dim=1)  # (1, N, D)
    return scaled_dot_product_attention(x, x, x, need_weights=True)[0][:, -1]


def rest_of_block(tokens, block):
    """tokens: N tensors (1, D). What a block does besides attention. Returns (1, N, D)."""
    x = torch.stack(tokens, dim=1)
    block.self_attention.W_o(block.self_attention.W_qkv(x)[..., : x.shape[-1]])
    return block.feed_forward(x)


def layers_of_width(D):
    """{name: function of N tokens} for three layers of this width."""
    cell, block = nn.GRUCell(D, D), EncoderBlock(D, 1, 4 * D)
    return {
        "recurrent": functools.partial(recurrent, cell=cell),
        "attention": attention,
        "rest of the block": functools.partial(rest_of_block, block=block),
    }


def draw_tokens(N, D):
    return [torch.randn(1, D, requires_grad=True) for _ in range(N)]


# %% [markdown]
# ### How far is it from the first token to the last?
#
# A gradient flows from the last output back to the first token, operation by operation. autograd keeps that graph, so count. The **shortest** way says how far information travels. The **longest** chain says what must wait: no operation can begin before the ones it needs have ended, on the largest machine of the world. *How will they grow with N, for each of the two?*


# %%
def ways_between(output, source):
    """How many operations lie between `source` and `output` in autograd's graph: the fewest, and the most."""
    inner, order, stack = set(), [], [(output.grad_fn, False)]
    while stack:  # what a node needs comes before the node
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in inner:
            inner.add(node)
            stack.append((node, True))
            stack += [(before, False) for before, _ in node.next_functions if before is not None]
    ways = {}
    for node in order:
        before = [ways[each] for each, _ in node.next_functions if each in ways]
        if getattr(node, "variable", None) is source:
            ways[node] = 0, 0
        elif before:
            shortest, longest = zip(*before, strict=True)
            ways[node] = 1 + min(shortest), 1 + max(longest)
    return ways[output.grad_fn]


def exponent(sizes, values):
    """How values grow: b of c · size^b by least squares on the logarithms, and its standard error."""
    x, y = (torch.tensor([math.log(each) for each in some]) for some in (sizes, values))
    x = x - x.mean()
    slope = (x * y).sum() / (x * x).sum()
    residual = y - y.mean() - slope * x
    error = (residual.square().sum() / max(len(sizes) - 2, 1) / (x * x).sum()).sqrt()
    return slope.item(), error.item()


lengths = (8, 16, 32, 64, 128)
ways = {"recurrent": [], "attention": []}
for N in lengths:
    tokens, layers = draw_tokens(N, 16), layers_of_width(16)
    for name, found in ways.items():
        found.append(ways_between(layers[name](tokens), tokens[0]))
for name, found in ways.items():
    for which, counts in zip(
        ("shortest way", "longest chain"), zip(*found, strict=True), strict=True
    ):
        b, error = exponent(lengths, counts)
        print(f"{name:10} {which:14} {counts}: N^{b:.2f} ± {error:.2f}")
        if name == "recurrent":
            claim("recurrent: a step for every token", abs(b - 1) < 0.1)
        else:
            claim("attention: the same few, however long", len(set(counts)) == 1)

# %% [markdown]
# (The exponent b of N^b is fitted; ± says how badly a pure power fits. A constant on top of 3 · N pulls it a little below 1.)
#
# **Information** has a way of N steps through the one and of a few through the other: what fades in lesson 1 has no time to fade. And **waiting** has the same two lengths. Attention's few operations are large, and most of a large operation runs side by side (only a sum over N numbers waits a little, about log N). So a whole text is
# trained on in one go. This is why Transformers could be trained on so much of it. Writing still goes one by one.
#
# ### How many multiplications, how much memory?
#
# torch counts products of matrices, and `LiveMemory` of the course counts the bytes of all tensors that are alive; here of those that training must keep until the gradient comes. Twice the length; twice the width. *What do you expect for each of the three?*


# %%
def products(layer, tokens):
    """How many pairs of numbers are multiplied in the products of matrices."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        layer(tokens)
    return counter.get_total_flops() / 2


def kept_bytes(layer, tokens):
    """Bytes of all tensors that are kept when the output is there, since the backward pass will ask for them."""
    with LiveMemory() as memory:
        output = layer(tokens)
    assert output.requires_grad
    return memory.live


long, wide, narrow = (128, 256, 512, 1024), (64, 128, 256, 512), 8
grows = {}
for name in layers_of_width(narrow):
    by_length = [(products(layers_of_width(narrow)[name], tokens), kept_bytes(layers_of_width(narrow)[name], tokens))
                 for tokens in (draw_tokens(N, narrow) for N in long)]  # fmt: skip
    by_width = [products(layers_of_width(D)[name], draw_tokens(32, D)) for D in wide]
    counted, held = zip(*by_length, strict=True)
    grows[name] = {
        "products in N": exponent(long, counted),
        "products in D": exponent(wide, by_width),
        "bytes in N": exponent(long, held),
    }
print(f"{'':18}", *(f"{column:>16}" for column in next(iter(grows.values()))))
for name, row in grows.items():
    print(f"{name:18}", *(f"{value:9.2f} ± {error:.2f}" for value, error in row.values()))
expected = {"recurrent": (1, 2, 1), "attention": (2, 1, 2), "rest of the block": (1, 2, 1)}
for name, exponents in expected.items():
    for (column, (value, error)), power in zip(grows[name].items(), exponents, strict=True):
        claim(f"{name}, {column}: {power}", abs(value - power) < 0.12 and error < 0.1)

# %% [markdown]
# The entries of the textbooks, and what they leave out, with your own numbers behind it:
#
# | | recurrent | attention | rest of a block |
# | --- | --- | --- | --- |
# | from the first to the last token | O(N) | **O(1)** | – |
# | chain of operations that wait | O(N) | **O(1)** | O(1) |
# | multiplications | O(N · D²) | **O(N² · D)** | O(N · D²) |
# | kept for training | O(N) | **O(N²)**, if the scores are kept | O(N) |
# | order of the tokens | built in | to be put in (lesson 7) | – |
#
# In the recurrent layer the order comes *from* the waiting. Check the row that has not been measured yet:

# %%
tokens, layers = draw_tokens(6, 16), layers_of_width(16)
turned = [*reversed(tokens[:-1]), tokens[-1]]
moved = {
    name: (layers[name](turned) - layers[name](tokens)).abs().max().item()
    for name in ("recurrent", "attention")
}
print({name: f"{change:.0e}" for name, change in moved.items()})
claim("a recurrent layer hears that the words changed places", moved["recurrent"] > 1e-3)
claim("attention without positions does not", moved["attention"] < 1e-6)

# %% [markdown]
# And the clock? Fewer multiplications are not less time: many small operations that wait for each other take longer than a few large ones. Here torch's own GRU, one call for all steps, against a whole block with its projections and its feed-forward network:


# %% tags=["experiment", "nbval-ignore-output"]
def milliseconds(work, repeats=5):
    """The median time of a call."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - began))
    return sorted(times)[repeats // 2]


gru, block = nn.GRU(64, 64, batch_first=True), EncoderBlock(64, 4, 256)
with torch.no_grad():
    for N in (64, 256, 1024):
        x = torch.randn(1, N, 64)
        counted = products(block, x) / (6 * N * 64**2)
        spent = milliseconds(lambda x=x: block(x)) / milliseconds(lambda x=x: gru(x))
        print(
            f"{N:5} tokens: the block multiplies {counted:4.1f} times as much, and takes {spent:4.2f} of the time here"
        )

# %% [markdown]
# <!-- concept: L12-quadratic -->
# ## The square
#
# N tokens, N² scores: in every head, in every layer. And beside it all that grows with N alone, 12 · N · D² for projections and feed-forward network. *At which length does the square overtake the rest?* Count: 2 · N² · D against 12 · N · D².

# %%
D = 64
block = EncoderBlock(D, 4, 4 * D)
shares = {}
for N in (D, 6 * D, 24 * D):
    x = torch.randn(1, N, D)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        block(x, need_weights=True)
    shares[N] = 2 * N * N * D / (counter.get_total_flops() / 2)
    print(f"D = {D}, {N:5} tokens: the square is {shares[N]:.0%} of the multiplications")
claim("at N = 6 D it is half", abs(shares[6 * D] - 0.5) < 1e-9)
scores = {N: N * N * 2 / 1e9 for N in (1_000, 10_000, 100_000, 1_000_000)}  # two bytes a score
print(
    {f"{N:,}": f"{gigabytes:,.3f} GB" for N, gigabytes in scores.items()}, "of scores, for one head"
)
claim("a book of 100,000 tokens: 20 GB for each head of each layer", scores[100_000] == 20)
claim("10,000 tokens, 32 heads, 32 layers: 205 GB", round(scores[10_000] * 32 * 32) == 205)

# %% [markdown]
# For short texts, width is what costs; the famous square hardly shows. With D = 4,096 it takes over at 24,576 tokens. But the **memory** for the scores is out of reach long before: 10,000 tokens, 32 heads, 32 layers, two bytes a score make 205 GB, if training keeps them. Turn the knobs:

# %% tags=["explore"]
from course_lib.explore.cost import cost

cost()

# %% [markdown]
# <!-- concept: L12-flash -->
# ## The same result without the square
#
# The output of a query is one vector. For a moment it needs N scores. Must all of them be there *at once*?
#
# The softmax seems to say so: its sum runs over all keys, and for safety the largest score is subtracted first (lesson 0). But take the keys **in tiles** (타일). Of the keys so far, keep the largest score m, the sum ℓ of exp(score − m), and the
# sum o of the values with these weights. Then a further tile comes, with a larger score in it. *What must happen to ℓ and o?* (Milakov and Gimelshein 2018 have m and ℓ; Rabe and Staats 2021 carry o along.)
#
# A tile may be hidden altogether for a query, the first one too. *What is the largest of no scores, and what must not come of it?*


# %% exercise="online_softmax" role="answer"
def online_softmax(state, scores, value):
    """Take a further tile of keys into a softmax that has already begun.

    state: of the keys so far, (maximum (..., T, 1), total (..., T, 1), output (..., T, Dv)): each query's largest
    score, its sum of exp(score - maximum), and the values added up with exp(score - maximum) as weights. Before the
    first key they are -inf, 0 and 0.
    scores: (..., T, N), of the next N keys; -inf = hidden. value: (..., N, Dv). Returns the state after these keys.
    """
    ### BEGIN SOLUTION
    maximum, total, output = state
    higher = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))  # (..., T, 1)
    shift = higher.masked_fill(higher == -math.inf, 0.0)  # -inf - -inf is no number
    kept = torch.exp(maximum - shift)  # (..., T, 1)
    weights = torch.exp(scores - shift)  # (..., T, N)
    return higher, total * kept + weights.sum(dim=-1, keepdim=True), output * kept + weights @ value
    ### END SOLUTION


# %% exercise="online_softmax" role="check"
check("online_softmax")

# %% [markdown]
# Now the loop around it. Your `online_softmax` comes in as `update`. *What is left to do after the last tile?* (The check sees values and how `update` is called, not what else is held at once; that is measured below.)


# %% exercise="tiled_attention" role="answer"
def tiled_attention(query, key, value, mask, size, update):
    """softmax(Q K^T / √d_k) V over the keys that each query may see, without ever holding all scores at once.

    query: (..., T, Dk). key: (..., S, Dk). value: (..., S, Dv). mask: (..., T, S) bool, True = may attend. A query
    without any allowed key gets 0. size: how many keys are looked at at once; the last tile may be smaller.
    update: your `online_softmax`, a function (state, scores, value) -> state. Returns (..., T, Dv).
    """
    ### BEGIN SOLUTION
    shape = query.shape[:-1]  # (..., T)
    state = (
        query.new_full((*shape, 1), -math.inf),
        query.new_zeros(*shape, 1),
        query.new_zeros(*shape, value.shape[-1]),
    )
    for start in range(0, key.shape[-2], size):
        end = start + size
        scores = query @ key[..., start:end, :].mT / math.sqrt(query.shape[-1])  # (..., T, size)
        scores = scores.masked_fill(~mask[..., start:end], -math.inf)
        state = update(state, scores, value[..., start:end, :])
    _, total, output = state
    return output / total.masked_fill(total == 0, 1.0)
    ### END SOLUTION


# %% exercise="tiled_attention" role="check"
check("tiled_attention")

# %% [markdown]
# ### With your own: what it holds
#
# The same numbers, and how many bytes at once? First the output alone, then with gradients. *What does autograd keep of every tile?*

# %%
my_update, my_tiled = mine("online_softmax"), mine("tiled_attention")
TILE, WIDTH = 32, 16


def whole(query, key, value, mask):
    return scaled_dot_product_attention(query, key, value, mask=mask, need_weights=True)[0]


def yours(query, key, value, mask):
    return my_tiled(query, key, value, mask, TILE, my_update)


def library(query, key, value, mask):
    return library_tiled(query, key, value, mask=mask, tile=TILE)[0]


torch.manual_seed(0)
query, key, value = (torch.randn(100, WIDTH) for _ in range(3))
mask = torch.rand(100, 100) > 0.3
gap = (yours(query, key, value, mask) - whole(query, key, value, mask)).abs().max().item()
print(f"100 tokens in tiles of {TILE}, the last one of 4: {gap:.0e} from the whole")
claim("tiles change nothing but rounding", gap < 1e-5)

lengths = (128, 256, 512, 1024)
held = {}
for name, function in {"whole": whole, "yours": yours, "the library's": library}.items():
    for with_gradient in (False, True):
        found = []
        for N in lengths:
            parts = [torch.randn(N, WIDTH, requires_grad=with_gradient) for _ in range(3)]
            everything = torch.ones(1, 1, dtype=torch.bool).expand(N, N)  # costs nothing
            with torch.set_grad_enabled(with_gradient), LiveMemory() as memory:
                output = function(*parts, everything)
                if with_gradient:
                    output.sum().backward()
            found.append(memory.peak)
        held[name, with_gradient] = found, exponent(lengths, found)
for (name, with_gradient), (found, (grows_by, error)) in held.items():
    print(f"{name:14}{'with gradients' if with_gradient else 'output alone':15}", *(f"{peak / 1e6:7.2f}" for peak in found),
          f"MB: N^{grows_by:.2f} ± {error:.2f}")  # fmt: skip
for with_gradient in (False, True):
    claim("the whole is a square", held["whole", with_gradient][1][0] > 1.85)
    claim("the library's grows at most with N", held["the library's", with_gradient][1][0] < 1.15)
most, least = held["whole", False][0][-1], held["yours", False][0][-1]
if least > most / 2:
    print(
        "Your numbers are right, but all scores are there at once. Which line makes a (T, S) tensor?"
    )

# %% [markdown]
# Output alone, tiles hold what grows with N. With gradients a function like yours is back near the square: to differentiate a tile, autograd **keeps** it, and all tiles together are the whole matrix. The way out is a backward pass of one's own: keep the output and, for each query, log ℓ + m, and
# **compute the scores once more**, tile by tile, when the gradient comes (Dao et al. 2022; in this form Dao 2023). More multiplications, less memory. The library's does that, and cuts the queries into tiles as well, so at these lengths most of what it holds is one tile.
#
# Is it faster? Not in Python: many small operations. In one compiled kernel it is, and much: on a GPU the scores never leave the small, fast memory next to the arithmetic, and moving numbers, not multiplying them, is what takes the time. That is *FlashAttention*, and what torch's
# `scaled_dot_product_attention` chooses where it can. Your library has called it since lesson 4, whenever no weights were asked for.
#
# It saves no multiplication: 2 · N² · D remain, and the way back adds some. But it is **exact**, up to rounding. Everything that follows is not.
#
# <!-- concept: L12-serving -->
# ## Serving: who pays for the cache?
#
# Lesson 11's cache saves work and takes memory: a key and a value of width D, for each token, each layer, **each text** that is being written. *Guess before you run: a model with 32 layers and D = 4,096, two bytes a number, 16 texts of 8,192 tokens. How much?*


# %%
def cache_bytes(texts, tokens, layers, d_model, bytes_each=2, kept_heads=1.0):
    """Keys and values of all texts. kept_heads: the share of heads that have keys and values of their own."""
    return 2 * texts * tokens * layers * d_model * bytes_each * kept_heads


weights = 32 * 12 * 4096**2 * 2  # bytes of the blocks
for texts, tokens in ((1, 1), (1, 8_192), (16, 8_192), (16, 131_072)):
    size = cache_bytes(texts, tokens, 32, 4096)
    print(
        f"{texts:3} texts of {tokens:8,} tokens: {size / 1e9:10.4f} GB, {size / weights:6.2f} times all weights of the blocks"
    )
claim("half a megabyte for each token", cache_bytes(1, 1, 32, 4096) == 2**19)
claim(
    "16 texts of 8,192 tokens: five times the weights",
    5 < cache_bytes(16, 8_192, 32, 4096) / weights < 6,
)

# %% [markdown]
# 69 GB, five times the weights. Batch × context × layers × width: with long contexts and many texts the cache, not the weights, decides how many people one accelerator can serve. (And each new token must *read* all of it, for one row of scores: memory is busy, arithmetic idle.)
#
# What helps: fewer bytes a number; a shorter memory (below); and **fewer keys and values than queries**. In *grouped-query attention* (그룹 쿼리 어텐션; Ainslie et al. 2023) several query heads share one head of keys and values; with one for all it is *multi-query* (멀티 쿼리 어텐션; Shazeer 2019). One line is easily got wrong when published weights are read:
# their query heads 0 and 1 belong to the first group, 2 and 3 to the second. *`repeat` or `repeat_interleave`?*

# %%
kept = torch.tensor([[[[10.0]], [[20.0]]]])  # (B = 1, 2 heads, 1 key, 1): what the two heads keep
for name, spread in (
    ("repeat", kept.repeat(1, 2, 1, 1)),
    ("repeat_interleave", kept.repeat_interleave(2, dim=1)),
):
    print(f"{name:18} query heads 0 to 3 read", spread.flatten().tolist())
claim(
    "repeat_interleave gives each group its neighbours",
    kept.repeat_interleave(2, dim=1).flatten().tolist() == [10, 10, 20, 20],
)
print(f"8 of 32 heads kept: {cache_bytes(16, 8_192, 32, 4096, kept_heads=8 / 32) / 1e9:.0f} GB instead of {cache_bytes(16, 8_192, 32, 4096) / 1e9:.0f}")  # fmt: skip

# %% [markdown]
# <!-- concept: L12-window -->
# ## See less: a window
#
# Most of what a word needs stands near it. So let each query see itself and the few keys before it, a **sliding window** (슬라이딩 윈도우; Child et al. 2019, Beltagy et al. 2020): N · w scores instead of N².


# %% exercise="sliding_window_mask" role="answer"
def sliding_window_mask(T, S, window):
    """Which keys each of T queries may see: itself and those before it, `window` in all; the last query stands at the
    last of S keys (S ≥ T).

    Returns bool (T, S), True = may attend.
    """
    ### BEGIN SOLUTION
    distance = torch.arange(S - T, S).unsqueeze(1) - torch.arange(
        S
    )  # (T, S), how far back a key lies
    return (distance >= 0) & (distance < window)
    ### END SOLUTION


# %% exercise="sliding_window_mask" role="check"
check("sliding_window_mask")

# %% [markdown]
# A mask alone saves nothing: the scores are computed and thrown away. The library's `window_attention` computes only those in the window. And the cache may forget: w keys a layer are enough, however long the text.
#
# What is lost? Layers **stack**: what a token has heard from its neighbours, it passes on. *How far can a token hear, through L layers with a window of w?* Measure it with your mask, as in lesson 11: change a token and see who notices.

# %%
from course_lib.sparse_attention import block_sparse_attention, window_attention

my_window = mine("sliding_window_mask")
N, W = 24, 4


@torch.no_grad()
def reach(mask, num_layers, seed=0):
    """How many tokens the last one hears, through so many blocks with a mask (N, N)."""
    torch.manual_seed(seed)
    blocks = [EncoderBlock(16, 2, 32) for _ in range(num_layers)]

    def last(x):
        for block in blocks:
            x, _ = block(x, mask=mask)
        return x[0, -1]

    x = torch.randn(1, N, 16)
    before, heard = last(x), 0
    for token in range(N):
        other = x.clone()
        other[0, token] = torch.randn(16)
        heard += bool((last(other) - before).abs().max() > 1e-6)
    return heard


heard = {layers: reach(my_window(N, N, W), layers) for layers in (1, 2, 3, 4)}
print(
    f"window {W}: through 1, 2, 3, 4 layers the last token hears", *heard.values(), f"of {N} tokens"
)
claim(
    "each layer adds window - 1",
    all(count == 1 + layers * (W - 1) for layers, count in heard.items()),
)
query, key, value = (torch.randn(1, 500, 16) for _ in range(3))
masked = scaled_dot_product_attention(query, key, value, mask=my_window(500, 500, 32))[0]
banded = window_attention(query, key, value, window=32)[0]
claim("in a window or under its mask: the same", torch.allclose(masked, banded, atol=1e-5))

# %% [markdown]
# 1 + L · (w − 1): each layer adds w − 1. But to be *within reach* is not to be *remembered*: what comes from afar has passed through others, who did not know what would be asked. You will see below what that means.
#
# <!-- concept: L12-sparse -->
# ### Sparse patterns
#
# **Sparse attention** (희소 어텐션) adds long ways to the window: some tokens that everybody sees and that see everybody (*global*; Beltagy et al. 2020), every k-th distance (*strided*; Child et al. 2019), some pairs by chance (Zaheer et al. 2020). In blocks, so that a machine can skip what is not needed. (These look both ways, as in an encoder.)

# %%
BLOCK, SIDE = 16, 32  # 512 tokens
places = torch.arange(SIDE)
near = (places[:, None] - places).abs() <= 1
patterns = {
    "window": near,
    "window + global": near | (places == 0) | (places[:, None] == 0),
    "window + strided": near | ((places[:, None] - places) % 8 == 0),
}
tokens = [torch.randn(1, BLOCK * SIDE, 16) for _ in range(3)]
with style():
    figure, axes = panels(3, width=2.8, height=3.2)
    for axis, (name, blocks) in zip(axes, patterns.items(), strict=True):
        axis.imshow(blocks.float(), cmap="cividis")
        axis.grid(False)
        axis.set(title=name, xticks=[], yticks=[], xlabel="blocks of keys")
    axes[0].set(ylabel="blocks of queries")
show(
    figure,
    "512 tokens in 32 blocks of 16: which blocks of scores are computed (yellow). A band; a band with a first row and column; a band with stripes.",
)
shares, steps = {}, {}
for name, blocks in {**patterns, "all": torch.ones_like(near)}.items():
    with FlopCounterMode(display=False) as counter:
        block_sparse_attention(*tokens, blocks=blocks, block_size=BLOCK)
    shares[name] = counter.get_total_flops() / (4 * (BLOCK * SIDE) ** 2 * 16)
    reached, steps[name] = torch.eye(SIDE).bool(), 0
    while not reached.all():  # from every block to every block
        reached, steps[name] = (reached.float() @ blocks.float()) > 0, steps[name] + 1
    print(
        f"{name:17} {shares[name]:5.1%} of the multiplications, every block hears every other after {steps[name]:2} layers"
    )
for name, blocks in patterns.items():
    claim("multiplied is what is allowed", abs(shares[name] - blocks.float().mean().item()) < 1e-6)
claim("a window alone needs a layer for every block on the way", steps["window"] == SIDE - 1)
claim("with one global block two layers are enough", steps["window + global"] == 2)

# %% [markdown]
# <!-- concept: L12-linear -->
# ## See all, remember less: linear attention (선형 어텐션)
#
# Where does the square come from? From the softmax: it looks at each pair before it sums. If the weight of a pair were a **product**, φ(q) · φ(k), the sum could be rearranged:
#
# $$\sum_s \big(\varphi(q) \cdot \varphi(k_s)\big)\, v_s = \varphi(q) \Big( \sum_s \varphi(k_s)\, v_s^\top \Big).$$
#
# The bracket does not know the query. It is *one matrix*, Dk × Dv, for all queries. In a text that is written from left to right, query t may use the keys up to its own, and the matrix grows by one outer product a token,
#
# $$S_t = S_{t-1} + \varphi(k_t)\, v_t^\top.$$
#
# φ must not be negative, or the weights could be (Katharopoulos et al. 2020 take elu(x) + 1). *What becomes of the denominator?* (The check sees values, not whether a (T, T) matrix was made.)


# %% exercise="linear_attention" role="answer"
def linear_attention(query, key, value):
    """Causal attention with the weights φ(q) · φ(k) / sum instead of a softmax, φ(x) = elu(x) + 1, never negative.

    query, key: (..., T, Dk). value: (..., T, Dv). What a query needs of all keys so far is one matrix, Σ φ(k) v^T, and
    one vector, Σ φ(k) (Katharopoulos et al. 2020); no (T, T) matrix is made. Returns (..., T, Dv).
    """
    ### BEGIN SOLUTION
    query, key = functional.elu(query) + 1, functional.elu(key) + 1
    memory = (key.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(dim=-3)  # (..., T, Dk, Dv)
    total = key.cumsum(dim=-2)  # (..., T, Dk)
    output = (query.unsqueeze(-2) @ memory).squeeze(-2)  # (..., T, 1, Dk) @ (..., T, Dk, Dv)
    return output / (query * total).sum(dim=-1, keepdim=True)
    ### END SOLUTION


# %% exercise="linear_attention" role="check"
check("linear_attention")

# %% [markdown]
# ### With your own: what it holds, and what it is
#
# Your function against full attention, and against the library's, which works in chunks. And a fourth way: **one token at a time**, with nothing kept but the matrix and the vector.

# %%
from course_lib.linear_attention import linear_attention as library_linear
from course_lib.linear_attention import linear_step

my_linear = mine("linear_attention")


def step_by_step(query, key, value):
    """The same, token after token: (N, D) each. Only the state goes from one to the next."""
    state, outputs = None, []
    for parts in zip(query, key, value, strict=True):
        output, state = linear_step(*parts, state)
        outputs.append(output)
    return torch.stack(outputs)


def causally(query, key, value):
    mask = library_causal_mask(len(query))
    return scaled_dot_product_attention(query, key, value, mask=mask, need_weights=True)[0]


lengths, used = (256, 512, 1024), {}
for name, function in {
    "full": causally,
    "linear, yours": my_linear,
    "linear, the library's": lambda *parts: library_linear(*parts, causal=True)[0],
}.items():
    peaks, counts = [], []
    for N in lengths:
        parts = [torch.randn(N, 32) for _ in range(3)]
        with torch.no_grad(), LiveMemory() as memory, FlopCounterMode(display=False) as counter:
            function(*parts)
        peaks.append(memory.peak)
        counts.append(counter.get_total_flops())
    used[name] = exponent(lengths, peaks)[0], exponent(lengths, counts)[0]
    print(f"{name:22} bytes at once", *(f"{peak / 1e6:6.2f}" for peak in peaks), f"MB: N^{used[name][0]:.2f}; multiplications N^{used[name][1]:.2f}")  # fmt: skip
gap = (step_by_step(*parts) - my_linear(*parts)).abs().max().item()
print(f"one token at a time: {gap:.0e} from yours")
claim("full: a square of both", min(used["full"]) > 1.85)
claim("the library's: in proportion to N", max(used["linear, the library's"]) < 1.1)
claim("step by step it is the same", gap < 1e-4)

# %% [markdown]
# All N matrices at once, as a `cumsum` makes them, hold as much as full attention at such lengths. One is enough: a state of fixed size; each token changes it; the next output is read from it, in constant time and memory. **It is a recurrent network.** And what did lesson 1 say of a state of fixed size?
#
# ### Where they lose
#
# A dictionary is read, entry by entry, and then asked: *what was the value of this key?* One of eight values, so a guess is right in one of eight. Two layers of width 64, trained on dictionaries of 4 to 32 entries. Linear attention in three sizes: with 1, 4 and 16 heads the states of a layer have 4,096, 1,024 and 256 numbers. *Which fails first, and why?*

# %%
recall = load_recall()
print(recall["command"])
asked = [str(entries) for entries in recall["asked"]]
print(f"{'right, mean of seeds':20}", *(f"{entries:>5}" for entries in asked), "entries")
mean = {}
with style():
    figure, (axis,) = panels(width=6.8)
    for row in recall["spread"]:
        mean[row["kind"]] = row["mean"]
        print(f"{row['kind']:20}", *(f"{row['mean'][entries]:5.2f}" for entries in asked))
        (line,) = axis.plot(recall["asked"], [row["mean"][entries] for entries in asked], marker="o", label=row["kind"])  # fmt: skip
        axis.fill_between(
            recall["asked"],
            [row["lowest"][entries] for entries in asked],
            [row["highest"][entries] for entries in asked],
            color=line.get_color(),
            alpha=0.2,
        )
    axis.set(
        xlabel="entries in the dictionary", ylabel="right answers", xscale="log", ylim=(0, 1.05)
    )
    axis.set_xticks(recall["asked"], asked)
    axis.minorticks_off()
    axis.axvline(32, color="0.5", linestyle=":", label="longest in training")
    axis.axhline(1 / recall["values"], color="0.5", linestyle="--", label="a guess")
    axis.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
show(
    figure,
    "Finding an entry again: mean of three seeds, the band from lowest to highest. Full attention finds it; a window knows what lies in it; the smaller a linear state, the sooner it fails.",
)
claim("full attention finds it up to the trained length", min(mean["full"][entries] for entries in asked[:4]) > 0.98)  # fmt: skip
claim("a window of 8 finds 4 entries", mean["window"]["4"] > 0.98)
in_sight = sum(range(8)) / 64  # of 8 entries, 7 to 0 are left when question 1 to 8 comes
guessing = in_sight + (1 - in_sight) / recall["values"]
print(
    f"a window of 8, 8 entries: {in_sight:.2f} are in sight; with guesses at the others {guessing:.2f}"
)
claim("guessing at those out of sight would give 0.51", abs(guessing - 0.51) < 0.005)
claim("it finds a little more than that", guessing < mean["window"]["8"] < 0.8)
claim("and is lost with 16", mean["window"]["16"] < 0.4)
sizes = [mean[f"linear, {heads}"] for heads in ("1 head", "4 heads", "16 heads")]
claim("the smallest state is right for 4 entries", sizes[2]["4"] > 0.95)
claim("and often wrong for 32", sizes[2]["32"] < 0.85)
claim("the larger the state, the better", sizes[0]["32"] > sizes[1]["32"] > sizes[2]["32"])
claim("beyond the trained length full attention is best, and not safe", max(row["64"] for row in sizes) < mean["full"]["64"] < 0.98)  # fmt: skip

# %% [markdown]
# - The **window** is perfect inside and nearly blind outside. With 8 entries, on average more than half of them have left the window when they are asked for; guessing at those would give 0.51. Two layers reach twice as far, and bring back a little of it: the token in between had not known what would be asked.
# - **Linear** attention drops nothing; it **mixes**. Entries are added into one matrix, and reading one brings some of all the others. A larger state keeps them better apart (and learns it sooner: with fewer steps of training than these the gap is wider). It is the bottleneck of lesson 1 come back: *how much fits into a state of fixed size?*
# - **Full** attention keeps every entry apart. That is what the square pays for.
#
# Many long models mix: mostly cheap layers, and some full ones.
#
# <!-- concept: L12-context -->
# ## Context is not free
#
# "The model reads 100,000 tokens" says that nothing breaks, not that all is used. Time and memory you have counted. Two more things:
#
# **Noise.** A softmax must give *some* weight to each key. One key is right and scores 6 above the mean; all others are random, with deviation 1. *How much weight is left for it among N?*

# %%
generator = torch.Generator().manual_seed(0)
left = {}
for N in (10, 100, 1_000, 10_000, 100_000):
    scores = torch.randn(200, N, generator=generator)
    scores[:, 0] = 6.0
    left[N] = scores.softmax(dim=-1)[:, 0].mean().item()
    needed = (
        math.log(N) + 0.5 + math.log(9)
    )  # e^{score} against N times the mean of e^{noise}, for a weight of 0.9
    print(
        f"{N:8,} keys: the right one gets {left[N]:5.1%}; for 90 % it would have to score {needed:.1f}"
    )
claim(
    "nearly all among ten, next to nothing among 100,000", left[10] > 0.9 and left[100_000] < 0.01
)

# %% [markdown]
# To stay heard, a score must grow with log N. A model learns scores at the lengths that it is trained on.
#
# **Extrapolation.** You saw it in lesson 7 with positions, and just now: full attention, nearly perfect up to 32 entries, is not with 64. (There both change, the number of keys and the distances; this test does not tell them apart.) And in long contexts models often use a fact better near the beginning or the end than in the middle (Liu et al. 2024).
# A window is one way out: lesson 7's model with rotary positions was right far beyond its trained length once each query saw no more keys than in training. A longer context than in training is not forbidden; it is untested.
#
# <!-- concept: L12-not-explanation -->
# <!-- concept: E-explanation -->
# ## Attention is not explanation
#
# You have looked at many maps in this course, and often they *looked* right. "The model attends to 너를, **therefore** it says *you*" is a claim about cause, and a picture cannot show that. An **intervention** can: change one thing, leave all else, and look what happens. Take the translator of lesson 9.

# %% tags=["experiment"]
examples, new_examples, _ = korean_examples()
source_vocabulary, target_vocabulary = (Vocabulary.from_sequences(side) for side in zip(*token_pairs(examples), strict=True))  # fmt: skip
pairs = encode_pairs(token_pairs(examples), source_vocabulary, target_vocabulary)
torch.manual_seed(0)
model = Transformer(
    len(source_vocabulary), len(target_vocabulary), d_model=64, num_heads=4, d_ff=256, encoder_layers=2, decoder_layers=2,
    dropout=0.0, tied="output",
).to(device)  # fmt: skip
fit(
    model,
    training_batches(pairs, 64, seed=0),
    functools.partial(sequence_loss, smoothing=0.1),
    steps=500,
    lr=lambda step: noam_rate(step, d_model=64, warmup=200),
)
model.eval()
tests = make_batch(
    encode_pairs(token_pairs(new_examples)[:200], source_vocabulary, target_vocabulary)
).to(device)
real = tests.target != PAD
with torch.no_grad():
    right = sequence_accuracy(write(model, tests, 20), tests.target, EOS)
    logits, looked = model(tests.source, None, tests.decoder_input, need_weights=True)
said = logits.argmax(dim=-1)
print(f"{right:.0%} of 200 new sentences are translated right")
claim("it is a good translator", right >= 0.95)

# %% [markdown]
# ### Shuffle the weights
#
# In one layer's cross-attention, give each query its own weights in a **random order**: the same numbers, to other words. The heat map is then rubbish. *If it explained the output, what would have to happen?* (Jain and Wallace 2019) And two controls: **equal** weights for all words, and **nothing** at all, an output of 0.


# %% tags=["experiment"]
def shuffled(query, key, value, *, mask=None, **options):
    """The weights of each query, dealt out again to the keys that it may see, in a random order."""
    _, weights = scaled_dot_product_attention(query, key, value, mask=mask, need_weights=True)
    order = torch.rand(weights.shape, generator=torch.Generator().manual_seed(0)).to(weights.device)
    if mask is not None:
        order = order.masked_fill(~mask, 2.0)  # hidden keys stay behind
    return torch.zeros_like(weights).scatter(-1, order.argsort(dim=-1), weights) @ value, None


def equal(query, key, value, *, mask=None, **options):
    """The plain mean of all words."""
    return scaled_dot_product_attention(torch.zeros_like(query), key, value, mask=mask)


def nothing(query, key, value, **options):
    """What a layer without cross-attention would hear."""
    output, _ = scaled_dot_product_attention(query, key, value)
    return torch.zeros_like(output), None


@torch.no_grad()
def with_other(layer, attention):
    """With another cross-attention in one layer: the share of words said as before, given the true ones, and of sentences written right."""
    module = model.decoder.blocks[layer].cross_attention
    module.attention = attention
    try:
        changed = model(tests.source, None, tests.decoder_input).argmax(dim=-1)
        written = sequence_accuracy(write(model, tests, 20), tests.target, EOS)
    finally:
        module.attention = scaled_dot_product_attention
    return (changed == said)[real].float().mean().item(), written


same = {}
for layer in (0, 1):
    for attention_function in (shuffled, equal, nothing):
        same[layer, attention_function.__name__], written = with_other(layer, attention_function)
        print(f"layer {layer}, {attention_function.__name__:8}: {same[layer, attention_function.__name__]:6.1%} of the words stay;"
              f" {written:4.0%} of whole sentences are written right")  # fmt: skip
claim(
    "layer 0: nine of ten words stay, whatever it does",
    min(same[0, name] for name in ("shuffled", "equal", "nothing")) > 0.9,
)
claim(
    "layer 1: most words change",
    max(same[1, name] for name in ("shuffled", "nothing")) < 0.6,
)

# %% [markdown]
# With the true words before it, hardly any word depends on where layer 0 looks, or on whether it looks at all. Whoever shows that map as the reason for a word shows something that the word hardly needs. In layer 1 most words change: there it **matters** where it looks. Both maps are drawn the same way; only the test tells them apart.
#
# (The objection to this test: shuffled weights are something that the layer never met in training, so a change proves less than a lack of change; Wiegreffe and Pinter 2019.)
#
# ### Erase what it looks at
#
# The other way round: take the word with the most weight out of the source. If the weight says how important it is, this should hurt most of all. (An erased word becomes padding, so nobody sees it, in the encoder neither.) But first: is there a decisive word at all?


# %% tags=["experiment"]
@torch.no_grad()
def surprise(source):
    """-log p of each true word. Returns (B, T)."""
    log_p = model(source, None, tests.decoder_input).log_softmax(dim=-1)
    return -log_p.gather(-1, tests.target.unsqueeze(-1)).squeeze(-1)


before, hurts = surprise(tests.source), []
for place in range(tests.source.shape[1]):
    erased = tests.source.clone()
    erased[:, place] = PAD
    hurts.append(surprise(erased) - before)
is_word = (tests.source != PAD).unsqueeze(1)  # (B, 1, S)
hurts = torch.stack(hurts, dim=-1).masked_fill(~is_word, -math.inf)  # (B, T, S)
decided = real & (hurts.amax(dim=-1) > 0.1)  # some word of the source is needed for this one
undecided = 1 - decided.sum().item() / real.sum().item()
chance = (1 / is_word.sum(dim=-1)).expand_as(before)[decided].mean().item()
print(f"for {undecided:.0%} of the words no word of the source is needed")
named = {}
for layer in (0, 1):
    weights = (
        looked.cross[layer].mean(dim=1).masked_fill(~is_word, -math.inf)
    )  # (B, T, S), the mean of the heads
    named[layer] = (weights.argmax(-1) == hurts.argmax(-1))[decided].float().mean().item()
    print(
        f"layer {layer}: where one is needed, the most attended word is the most needed one {named[layer]:.0%} of the time (by chance {chance:.0%})"
    )
    brightest = weights.amax(dim=-1)
    print(f"         the brightest weight: {brightest[decided].mean():.2f} where one is needed, {brightest[real & ~decided].mean():.2f} where none is")  # fmt: skip
claim("one word in ten or more needs no word of the source", undecided > 0.1)
claim("layer 1 names the most needed word eight times in ten or more", named[1] > 0.8)
claim("layer 0 far less often", named[0] < named[1] - 0.15)
claim("where nothing is needed the map is not dark", brightest[real & ~decided].mean() > 0.3)

# %% [markdown]
# So: **a hint, not an explanation**. In this small, clean task, where a word of the source decides, the last layer's map names it nine times in ten; layer 0's, about every second time. And for one word in five *no* word of the source is needed (the end of the sentence, a word that follows from the last), and the map lights up all the same, since weights must sum to 1. From the picture alone you cannot
# tell these apart. In large models, with dozens of layers that move information about before anybody looks, expect less (lesson 11: *it* and the animal). Where you want to know a cause, change something.
#
# ## Bug hunt: fast because it is wrong
#
# A colleague has written an attention in tiles. Her benchmark: at 1,024 tokens equal to the library to rounding. At 1,000 tokens it needs a quarter fewer multiplications *still*. Everybody is delighted. *You too?*


# %% tags=["experiment"]
def colleagues(query, key, value, *, mask=None, tile=256, **options):
    total = maximum = output = None
    for start in range(0, key.shape[-2] - tile + 1, tile):
        part = slice(start, start + tile)
        scores = query @ key[..., part, :].mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(
                ~mask.expand(*mask.shape[:-1], key.shape[-2])[..., part], -1e9
            )
        top = scores.amax(dim=-1, keepdim=True)
        higher = top if maximum is None else torch.maximum(maximum, top)
        weights = torch.exp(scores - higher)
        kept = 0.0 if maximum is None else torch.exp(maximum - higher)
        total = kept * (0.0 if total is None else total) + weights.sum(dim=-1, keepdim=True)
        output = kept * (0.0 if output is None else output) + weights @ value[..., part, :]
        maximum = higher
    return output / total, None


counted = {}
for N in (1024, 1000):
    torch.manual_seed(0)
    parts = [torch.randn(1, N, 32) for _ in range(3)]
    with FlopCounterMode(display=False) as counter:
        fast, _ = colleagues(*parts)
    counted[N] = counter.get_total_flops() / 2
    gap = (fast - scaled_dot_product_attention(*parts)[0]).abs().max().item()
    print(f"{N} tokens: {counted[N] / 1e6:.1f} million multiplications, {gap:.0e} from the library")
    if N == 1024:
        claim("at 1,024 it is the same", gap < 1e-5)
print(
    f"1,000 against 1,024 tokens: {counted[1000] / counted[1024]:.0%} of the work; (1000 / 1024)² would be {(1000 / 1024) ** 2:.0%}"
)
claim("the work falls by more than it may", counted[1000] / counted[1024] < 0.8)

# %% [markdown]
# And in a model? Lesson 9's translator on the colleague's attention, with tiles of 2, since sentences are short:


# %% tags=["experiment"]
def translate_with(attention):
    """Share of right translations, all attentions of the model replaced."""
    modules = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    for module in modules:
        module.attention = attention
    try:
        return sequence_accuracy(write(model, tests, 20), tests.target, EOS)
    finally:
        for module in modules:
            module.attention = scaled_dot_product_attention


def by_yours(query, key, value, *, mask=None, **options):
    shape = (*query.shape[:-1], key.shape[-2])
    everything = torch.ones(1, dtype=torch.bool, device=query.device)
    mask = (everything if mask is None else mask).expand(shape)
    return my_tiled(query, key, value, mask, 2, my_update), None


def by_colleague(query, key, value, *, mask=None, **options):
    if key.shape[-2] < 2:  # her function needs a whole tile
        return scaled_dot_product_attention(query, key, value, mask=mask)
    return colleagues(query, key, value, mask=mask, tile=2)


found = {
    "the library's": translate_with(scaled_dot_product_attention),
    "yours, in tiles of 2": translate_with(by_yours),
    "the colleague's": translate_with(by_colleague),
}
for name, share in found.items():
    print(f"{name:22} {share:.1%} right")
claim("yours translates as before", abs(found["yours, in tiles of 2"] - right) < 0.011)
claim("the colleague's does not", found["the colleague's"] < right - 0.3)

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# The loop ends with the last **whole** tile: what is left over, fewer keys than a tile, is never looked at. With 1,024 = 4 · 256 nothing is left over. With 1,000, 232 keys are skipped: the newest ones, which a model often needs most. Lengths in benchmarks are powers of two, sentences are not.
#
# What finds it: count the work and compare with what *must* be done; and test with sizes that fit nowhere: 1, 7, 1,000, one more than a tile.
#
# </details>
#
# <!-- concept: L12-why -->
# ## Why it won
#
# Not because it is cheap: it costs more than a recurrent layer of the same width, the more so the longer the text. But
#
# - **parallel**: a whole text at once in training, in products of large matrices, which is what our machines are good at;
# - **long-range**: any token is one step from any other; nothing has to survive a long way through one state;
# - **rebuilt layer by layer**: each layer reads what the one before has made of *all* tokens, so representations of a word in *this* text arise, and shortcuts and norms let many dozens of them be stacked;
# - **it scales**: the same block, wider and deeper and with more text, got better over all sizes that were measured (Kaplan et al. 2020), and one block serves all three families.
#
# And the square is the price for keeping every token apart until it is known which is needed.
#
# ## In short
#
# | | sees | scores | state while writing | exact? | loses |
# | --- | --- | --- | --- | --- | --- |
# | full | all | N² | all keys and values | yes | – |
# | tiled (flash) | all | N², a tile at a time | the same | **yes** | nothing |
# | grouped queries | all | N² | a part of the heads | another model | heads of one group look at the same keys |
# | window | the last w | N · w | w keys and values | no | what lies outside |
# | sparse | near, and some far | those of the pattern | depends | no | what the pattern leaves out |
# | linear | all, mixed | none | one matrix a head | no | the difference of entries, the sooner the smaller it is |
# | recurrent (lesson 1) | all, squeezed | none | one vector | – | what does not fit into it |
#
# ## You have built it
#
# From one vector for a sentence to a Transformer, its three families and their price, with your own functions at every step. `progress()` below says how many of them pass. What to do next: take a paper that you could not read before, and read it. Take the library that you know now from inside, and change something.
# Then measure whether you were right.
#
# **Further reading.** Vaswani et al. (2017), section 4 and table 1. Rabe and Staats (2021), *Self-attention does not need O(n²) memory*. Dao et al. (2022), *FlashAttention*; Dao (2023), *FlashAttention-2*. Katharopoulos et al. (2020), *Transformers are RNNs*. Tay et al. (2022), *Efficient Transformers: a survey*. Ainslie et al. (2023), *GQA*. Arora et al. (2024), *Zoology: measuring and improving recall in efficient language models*.
# Liu et al. (2024), *Lost in the middle*. Jain and Wallace (2019), *Attention is not explanation*; Wiegreffe and Pinter (2019), *Attention is not not explanation*.

# %% tags=["nbval-ignore-output"]
progress()
