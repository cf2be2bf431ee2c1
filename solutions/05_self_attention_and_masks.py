# ---
# jupyter:
#   course:
#     title: Self-attention and masks
#     question: What if a sentence asks itself, and who may look at whom?
#     outcomes:
#     - write self-attention and cross-attention, and say which input each of query, key and value comes from
#     - write padding and causal masks, and apply them so that not even an empty row gives NaN
#     - tell the three mask conventions of the field apart, and convert one into the other
#     - show by a law, and by a gradient, that nothing leaks; and see what a leak does to a language model
#     minutes: 75
#     prerequisites: [lesson 4]
#     exercises: [masked_attention, padding_mask, causal_mask, self_attention, cross_attention]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 5 · Self-attention and masks
#
# **What if a sentence asks itself, and who may look at whom?** · 75 minutes
#
# In our models so far a decoder asked an encoder. Nothing in $\mathrm{softmax}(Q K^\top / \sqrt{d_k})\,V$ says that it must
# be so. Let the queries come from the same sentence as the keys, and every word gathers what it needs from its neighbours, however far away. Two things then
# need care: padding, and the future.

# %% tags=["setup"]
import math
import random
import re

import torch
from course_lib import attention, check, hint, masks, mine, pick_device, progress, solution
from course_lib.claims import claim
from course_lib.data.batches import encode_pairs, evaluation_batches, pad_rows, training_batches
from course_lib.data.dates import date_examples, text_pairs
from course_lib.data.vocabulary import BOS, EOS, PAD, Vocabulary
from course_lib.evaluation import exact_matches, masked_cross_entropy
from course_lib.figures import panels, show, style
from course_lib.generation import write
from course_lib.recurrent import Encoder, Seq2Seq
from course_lib.recurrent_attention import LuongDecoder
from course_lib.training import fit, sequence_loss
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# <!-- concept: L5-parallel -->
# ## No more waiting
#
# An RNN reads word after word: step 30 waits for step 29. Self-attention is a matrix product over all words at once. How
# much waiting is that? Autograd remembers which result needed which, so the longest chain of results that had to wait for
# one another can be counted. *For an RNN over 8, 16 and 32 words, what will the count do? And for attention?*


# %%
def longest_chain(result):
    """The longest chain of operations in the history of a tensor, each waiting for the one before."""
    lengths, stack = {}, [result.grad_fn]
    while stack:
        node = stack[-1]
        before = [parent for parent, _ in node.next_functions if parent is not None]
        waiting = [parent for parent in before if parent not in lengths]
        if waiting:
            stack.extend(waiting)
        else:
            lengths[stack.pop()] = 1 + max((lengths[parent] for parent in before), default=0)
    return lengths[result.grad_fn]


def rnn(X, W):
    state = torch.zeros(X.shape[-1])
    for x in X:
        state = torch.tanh(x + W @ state)
    return state


lengths, W = (8, 16, 32), torch.randn(4, 4, requires_grad=True)
chains = {"RNN": [], "self-attention": []}
for N in lengths:
    X = torch.randn(N, 4, requires_grad=True)
    chains["RNN"].append(longest_chain(rnn(X, W)))
    output, _ = attention.scaled_dot_product_attention(X @ W, X @ W, X @ W, need_weights=True)
    chains["self-attention"].append(longest_chain(output))
for name, counts in chains.items():
    print(f"{name:15} {dict(zip(lengths, counts, strict=True))} operations, one after another")
claim(
    "twice the words, about twice the waiting for the RNN",
    1.8 < chains["RNN"][2] / chains["RNN"][1] < 2.2,
)
claim("for attention the length does not matter", len(set(chains["self-attention"])) == 1)

# %% [markdown]
# The *work* of attention does grow, with the square of the length; lesson 12 measures that. But it can be done at once.
#
# <!-- concept: L5-padding -->
# ## Padding may not be seen
#
# Sentences of a batch differ in length, and padding fills the rest. Padding has keys and values like any token, and with
# no mask it takes part. A **mask** says which query may attend to which key. In this course it is boolean,
# **True = may attend**, and broadcasts to (..., T, S): rows are queries, columns are keys.
#
# <!-- concept: L5-additive -->
# How does a mask act? The score of a hidden key is set so low that its weight is 0. On paper one *adds* a table of 0
# (allowed) and −∞ (hidden) to the scores:
#
# $$A = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + M\right), \qquad M_{ij} \in \{0, -\infty\}$$
#
# exp(−∞) is 0, so the key leaves the sum too. *What would adding a 0/1 mask do instead? What would multiplying the weights
# by it do?*

# %%
scores = torch.tensor([2.0, 1.0, 3.0])
mask = torch.tensor([True, True, False])
ways = {
    "scores + M": torch.softmax(scores + masks.to_additive(mask), -1),
    "scores + 0/1": torch.softmax(scores + mask.float(), -1),
    "scores · 0/1": torch.softmax(scores * mask.float(), -1),
    "weights · 0/1": torch.softmax(scores, -1) * mask.float(),
}
for name, weights in ways.items():
    print(f"{name:14} {[f'{x:.2f}' for x in weights.tolist()]}  sum {weights.sum():.2f}")
alone = torch.softmax(scores[:2], -1)
claim(
    "only the first gives what the two allowed keys would get alone",
    [torch.allclose(weights[:2], alone) for weights in ways.values()]
    == [True, False, False, False],
)

# %% [markdown]
# ### A row with nothing left
#
# If *every* key of a row is hidden, softmax sees −∞ alone: 0/0, `nan`. It happens: an empty sentence in a batch, or a mask
# that blanks padded queries too. And `nan` spreads, forwards and backwards. Cutting the row away afterwards does not help, as this
# cell shows. *Our rule: a query without any allowed key gets weights 0 and output 0.*

# %%
torch.manual_seed(0)
X, W = torch.randn(2, 4), torch.randn(4, 4, requires_grad=True)  # W serves both rows
may_attend = torch.tensor([[True, True], [False, False]])  # the second row may see nothing
scores = X @ W @ X.mT

weights = torch.softmax(scores + masks.to_additive(may_attend), dim=-1)
(spoilt,) = torch.autograd.grad((weights @ X)[0].sum(), W, retain_graph=True)  # row 1 thrown away
print("weights", [[f"{x:.2f}" for x in row] for row in weights.tolist()])
claim("the empty row is nan", weights[1].isnan().all())
claim("thrown away, it still makes the whole gradient of W nan", spoilt.isnan().all())

safe = attention.masked_softmax(scores, may_attend)
(clean,) = torch.autograd.grad((safe @ X)[0].sum(), W)
claim(
    "with our rule the row is 0, and the gradient finite",
    (safe[1] == 0).all() and clean.isfinite().all(),
)

# %% [markdown]
# Now the formula of lesson 4 with a mask. Two questions decide it: which fill is lower than *any* score (no fixed −1000 is),
# and what takes an empty row to 0?


# %% exercise="masked_attention" role="answer"
def masked_attention(query, key, value, mask):
    """softmax(Q K^T / √d_k) V over the keys that each query may see.

    query: (..., T, Dk). key: (..., S, Dk). value: (..., S, Dv). mask: bool, broadcastable to (..., T, S), True = may
    attend. A query without any allowed key gets weights and output 0.
    Returns output (..., T, Dv), weights (..., T, S).
    """
    ### BEGIN SOLUTION
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (..., T, S)
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(filled, dim=-1).masked_fill(~mask, 0.0)
    return weights @ value, weights
    ### END SOLUTION


# %% exercise="masked_attention" role="check"
check("masked_attention")

# %% [markdown]
# The mask for padding: one row for all queries, so that it broadcasts. A common slip hides the padding *queries* instead,
# (B, S, 1): the shape fits just as well.


# %% exercise="padding_mask" role="answer"
def padding_mask(ids, pad):
    """Which positions hold a real token. ids: (B, S). Returns bool (B, 1, S): one row for all queries."""
    ### BEGIN SOLUTION
    return (ids != pad).unsqueeze(1)
    ### END SOLUTION


# %% exercise="padding_mask" role="check"
check("padding_mask")

# %% [markdown]
# <!-- concept: L5-self -->
# ## A sentence asks itself
#
# **Self-attention** (셀프 어텐션): queries, keys and values are three projections of one sequence $X$, and the table of
# weights is (N, N). Each word gets a new vector, mixed from the words it asked for.


# %% exercise="self_attention" role="answer"
def self_attention(X, W_Q, W_K, W_V, mask):
    """Every token asks the tokens of its own sequence.

    X: (B, N, D). W_Q, W_K: (D, Dk). W_V: (D, Dv). mask: bool, broadcastable to (B, N, N). A query without any allowed
    key gets 0.
    Returns output (B, N, Dv), weights (B, N, N).
    """
    ### BEGIN SOLUTION
    return masked_attention(X @ W_Q, X @ W_K, X @ W_V, mask)
    ### END SOLUTION


# %% exercise="self_attention" role="check"
check("self_attention")

# %% [markdown]
# *With your own functions*: a short sentence alone, and in the company of a longer one. The words must not notice.

# %% tags=["nbval-ignore-output"]
my_self_attention, my_padding_mask = mine("self_attention"), mine("padding_mask")
torch.manual_seed(0)
embedding = nn.Embedding(10, 6)
W_Q, W_K, W_V = (torch.randn(6, 4) for _ in range(3))


def encode(rows):
    ids = pad_rows(rows)
    return my_self_attention(embedding(ids), W_Q, W_K, W_V, my_padding_mask(ids, PAD))


alone, _ = encode([[5, 7, 4]])
together, weights = encode([[5, 7, 4], [8, 6, 9, 4, 5]])
print("weights of the short sentence:", [[f"{x:.2f}" for x in row] for row in weights[0].tolist()])
claim("padding gets no weight", (weights[0, :, 3:] == 0).all())
claim(
    "a sentence does not notice its neighbours",
    torch.allclose(alone[0], together[0, :3], atol=1e-6),
)

# %% [markdown]
# Its last two rows are padding that *asks*. It gets an answer that nobody reads; what matters is that nobody looks *at* it.
#
# <!-- concept: L5-equivariance -->
# ### It does not know what an order is
#
# Shuffle the words of a sentence, and self-attention gives the same vectors, shuffled. It is **permutation equivariant**
# (순열 등변): out comes a set, not a sequence. *Test it as a law: any permutation, random matrices.*

# %% tags=["nbval-ignore-output"]
everything = torch.ones(1, 1, dtype=torch.bool)
X = torch.randn(1, 7, 6)
before, _ = my_self_attention(X, W_Q, W_K, W_V, everything)
holds = []
for _ in range(20):
    order = torch.randperm(7)
    after, _ = my_self_attention(X[:, order], W_Q, W_K, W_V, everything)
    holds.append(torch.allclose(after, before[:, order], atol=1e-5))
claim("20 shuffles in, the same 20 shuffles out", all(holds))

# %% [markdown]
# 고양이 · 가 · 강아지 · 를 · 본다 and 강아지 · 가 · 고양이 · 를 · 본다 are the same five tokens and two different stories; for
# self-attention they are one set. An RNN had order for free, since it reads in order; attention has none. Lesson 7 puts it
# back. (A causal mask, up next, brings a little: the third word is the one that sees three.)
#
# <!-- concept: L5-causal -->
# ## The future may not be seen
#
# A model that *writes* predicts the next word from the words before. In training we know the whole sentence, and push it
# through at once. So word $i$ must be kept from seeing word $i + 1$, the answer. The **causal mask** (인과 마스크) hides the
# upper triangle: −∞ above the diagonal of the scores, weight 0.
#
# One more case, for later: the queries may be the *last* T of S words, because the words before them were processed
# already. Then the last query sees all S keys. The triangle stands at the **bottom right**.


# %% exercise="causal_mask" role="answer"
def causal_mask(T, S):
    """Which keys each of T queries may see, nothing after itself; the last query sees all S keys (S ≥ T).

    Returns bool (T, S), True = may attend.
    """
    ### BEGIN SOLUTION
    query_position = torch.arange(T).unsqueeze(1) + S - T  # (T, 1)
    key_position = torch.arange(S)
    return key_position <= query_position
    ### END SOLUTION


# %% exercise="causal_mask" role="check"
check("causal_mask")

# %% [markdown]
# Row by row the mask lists all prefixes of the sentence: every row is one exercise "what comes next?", and all of them
# are solved in one go.

# %% tags=["nbval-ignore-output"]
my_causal_mask = mine("causal_mask")
words = ["나는", "오늘", "너를", "정말", "사랑해"]
for row, word in zip(my_causal_mask(5, 5), words, strict=True):
    prefix = [each for each, seen in zip(words, row.tolist(), strict=True) if seen]
    print(f"{word}\tsees  {' '.join(prefix)}")
claim(
    "the first word sees itself alone, the last one all five",
    my_causal_mask(5, 5).sum(-1).tolist() == [1, 2, 3, 4, 5],
)

# %% [markdown]
# That it is right can be measured in two ways. In **training** no output may depend on a later word: the gradient from
# output $i$ to input $j$ is 0 for all $j > i$. In **generation** the sentence ends at word $i$, for the rest is not written
# yet; with the mask the output is the same as in training.

# %% tags=["nbval-ignore-output"]
X = torch.randn(1, 6, 6, requires_grad=True)


def influence(mask):
    """Norm of the gradient from each output (row) to each input (column)."""
    output, _ = my_self_attention(
        X, 0.4 * W_Q, 0.4 * W_K, W_V, mask
    )  # gentle scores: no weight is near 0
    rows = [
        torch.autograd.grad(output[0, i].norm(), X, retain_graph=True)[0][0].norm(dim=-1)
        for i in range(6)
    ]
    return torch.stack(rows)


tables = {"no mask": influence(everything), "causal mask": influence(my_causal_mask(6, 6))}
with style():
    figure, axes = panels(2, width=2.8, height=2.8)
    for axis, (name, table) in zip(axes, tables.items(), strict=True):
        axis.imshow(table)
        axis.grid(False)
        axis.set(title=name, xlabel="input word", ylabel="output word")
show(
    figure,
    "Without a mask every output depends on every input; with it, on nothing above the diagonal.",
)
above = torch.ones(6, 6).triu(1).bool()
claim(
    "with the mask, no gradient comes from the future: exactly 0",
    bool((tables["causal mask"][above] == 0).all()),
)
claim("without it, some comes from every word", (tables["no mask"] > 0).all())
full, _ = my_self_attention(X, W_Q, W_K, W_V, my_causal_mask(6, 6))
prefixes = [
    my_self_attention(X[:, : i + 1], W_Q, W_K, W_V, my_causal_mask(i + 1, i + 1))[0][:, -1]
    for i in range(6)
]
claim(
    "fed word by word it computes the same as at once",
    torch.allclose(full[0], torch.cat(prefixes), atol=1e-6),
)

# %% [markdown]
# <!-- concept: L5-halftruth -->
# "A Transformer sees all words at once" is half a truth. An **encoder** does. A **decoder** sees what is before: in
# training all rows are *computed* at once, each with its own prefix; when it writes, it goes word by word like any RNN.
#
# <!-- concept: L5-cross -->
# ## Two sequences: cross-attention
#
# Queries from one sequence, keys and values from another: **cross-attention** (교차 어텐션). It is what lessons 2 to 4 did: the
# sentence being written asks the sentence that was read, the **memory**. The table is (T, S).


# %% exercise="cross_attention" role="answer"
def cross_attention(X, memory, W_Q, W_K, W_V, mask):
    """Queries from one sequence, keys and values from another.

    X: (B, T, D). memory: (B, S, Dm). W_Q: (D, Dk). W_K: (Dm, Dk). W_V: (Dm, Dv). mask: bool, broadcastable to (B, T, S). A query
    without any allowed key gets 0.
    Returns output (B, T, Dv), weights (B, T, S).
    """
    ### BEGIN SOLUTION
    return masked_attention(X @ W_Q, memory @ W_K, memory @ W_V, mask)
    ### END SOLUTION


# %% exercise="cross_attention" role="check"
check("cross_attention")

# %% [markdown]
# <!-- concept: L5-three -->
# A Transformer has attention in three places:
#
# | where | kind | query from | key and value from | mask |
# | --- | --- | --- | --- | --- |
# | encoder | self | source | source | padding of the source |
# | decoder, first | self | target | target | causal, and padding of the target |
# | decoder, second | cross | target | source (the encoder's output) | padding of the source |
#
# Two masks combine with `&`: allowed is what both allow. (B, 1, N) for padding and (N, N) for the future make (B, N, N).

# %% tags=["nbval-ignore-output"]
my_cross_attention = mine("cross_attention")
source_ids, target_ids = (
    torch.tensor([[5, 7, 4, PAD], [8, 6, 9, 4]]),
    torch.tensor([[4, 5, PAD], [7, 8, 9]]),
)
both = my_padding_mask(target_ids, PAD) & my_causal_mask(3, 3)
_, own = my_self_attention(embedding(target_ids), W_Q, W_K, W_V, both)
_, across = my_cross_attention(
    embedding(target_ids), embedding(source_ids), W_Q, W_K, W_V, my_padding_mask(source_ids, PAD)
)
print("decoder, self: ", tuple(own.shape), " decoder, cross:", tuple(across.shape))
claim(
    "self-attention is square, cross-attention is (T, S)",
    (own.shape, across.shape) == ((2, 3, 3), (2, 3, 4)),
)
claim("neither the future nor padding gets weight", (own[~both.expand(2, 3, 3)] == 0).all())
claim("across, the padding of the source gets none", (across[0, :, 3] == 0).all())

# %% [markdown]
# ## Three conventions, one field
#
# What does `True` mean? It depends on whom you ask, and torch itself answers in two ways:
#
# | convention | may attend | hidden | where |
# | --- | --- | --- | --- |
# | boolean, *keep* | True | False | this course, torch's function `scaled_dot_product_attention` |
# | boolean, *hide* | False | True | torch's modules: `nn.MultiheadAttention`, `nn.Transformer` |
# | additive | 0.0 | −∞ | papers, and both of torch's as a float mask |
#
# Passing one for the other raises nothing: shapes fit. Our functions refuse floats and 0/1 numbers with an explanation. A
# boolean mask that means the opposite looks like any other, and nobody can refuse it: the bug hunt below lives on that.
# `course_lib.masks` converts.

# %%
torch.manual_seed(0)
query, key, value = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
mask = torch.rand(2, 3, 5) > 0.4
mask[..., 0] = True
ours, _ = attention.scaled_dot_product_attention(query, key, value, mask=mask)
functional = torch.nn.functional.scaled_dot_product_attention
claim(
    "torch's function takes our mask as it is",
    torch.allclose(functional(query, key, value, attn_mask=mask), ours, atol=1e-6),
)
claim(
    "and the additive one",
    torch.allclose(
        functional(query, key, value, attn_mask=masks.to_additive(mask)), ours, atol=1e-6
    ),
)

module = nn.MultiheadAttention(4, 1, bias=False, batch_first=True)
with torch.no_grad():  # one head, and projections that change nothing
    module.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
    module.out_proj.weight.copy_(torch.eye(4))
right, _ = module(query, key, value, attn_mask=masks.to_hidden(mask))
wrong, _ = module(query, key, value, attn_mask=mask)
claim("torch's module wants the opposite", torch.allclose(right, ours, atol=1e-6))
claim(
    "and takes ours without a word: another result, of the same shape",
    wrong.shape == ours.shape and not torch.allclose(wrong, ours, atol=0.1),
)
try:
    attention.scaled_dot_product_attention(query, key, value, mask=mask.float())
except TypeError as error:
    print("ours:", error)

# %% [markdown]
# One more trap: torch's flag `is_causal=True` puts the triangle at the **top left**. With as many queries as keys that is
# the same. With earlier keys in front it is not: the newest word would see only the oldest.

# %%
query, key = torch.randn(1, 2, 4), torch.randn(1, 5, 4)
identity = torch.eye(5).unsqueeze(
    0
)  # with the identity as values, the output is the table of weights
seen = functional(query, key, identity, is_causal=True)[0] > 0
print("is_causal: ", seen.int().tolist())
print("bottom right:", masks.causal_mask(2, 5).int().tolist())
claim("is_causal lets the last of two queries see 2 keys of 5", seen.sum(-1).tolist() == [1, 2])
claim("bottom right it sees all 5", masks.causal_mask(2, 5).sum(-1).tolist() == [4, 5])

# %% [markdown]
# ### Build a mask
#
# The table below is computed with **your** `masked_attention`. Open and close cells, add padding, empty a row, and change
# a word to see which outputs feel it. *Before you touch it: which outputs change when the third word does, with the causal
# mask and without?* If you write your function anew, run this cell again.

# %% tags=["explore"]
from course_lib.explore.mask_builder import mask_builder

mask_builder(mine("masked_attention"), words, causal=True, changed=2)

# %% [markdown]
# <!-- concept: L5-cheating -->
# ## When the loss lies
#
# What if the causal mask is forgotten? Two small models learn to write English dates letter by letter: one layer of
# self-attention, a vector for each place (lesson 7 explains it), a small network on top. Same seed, same batches, same
# loss. One has the mask. *Which one will have the better loss? Which one would you ship?*

# %% tags=["experiment"]
training_dates, held_out_dates = date_examples()
texts = sorted({e.source for e in training_dates if e.locale == "en_US" and e.form != "medium"})
letters = Vocabulary.from_sequences(texts)
rows = [[*letters.encode(text), EOS] for text in texts]
LONGEST = max(map(len, rows))


class LanguageModel(nn.Module):
    def __init__(self, masked, d_model=64):
        super().__init__()
        self.masked = masked
        self.token, self.place = nn.Embedding(len(letters), d_model), nn.Embedding(LONGEST, d_model)
        self.W_Q, self.W_K, self.W_V = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.predict = nn.Sequential(
            nn.Linear(d_model, 128), nn.ReLU(), nn.Linear(128, len(letters))
        )

    def forward(self, ids):
        x = self.token(ids) + self.place.weight[: ids.shape[1]]  # (B, T, D)
        mask = masks.causal_mask(ids.shape[1], device=ids.device) if self.masked else None
        output, _ = attention.scaled_dot_product_attention(
            self.W_Q(x), self.W_K(x), self.W_V(x), mask=mask
        )
        return self.predict(x + output)


def random_rows(seed):
    source = random.Random(seed)
    while True:
        yield pad_rows(source.sample(rows, 64))


def with_bos(target):
    return torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)


def next_letter_loss(model, target):
    return masked_cross_entropy(model(with_bos(target)), target, PAD)


@torch.no_grad()
def generate(model, count, seed=0):
    """Letters drawn one by one, each from what the model expects after those before it."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.full((count, 1), BOS)
    for _ in range(LONGEST):
        likely = torch.softmax(model(ids.to(device))[:, -1].cpu(), dim=-1)
        ids = torch.cat([ids, torch.multinomial(likely, 1, generator=generator)], dim=1)
    return ["".join(letters.decode(row)) for row in ids]


language_models, losses = {}, {}
for name, masked in (("with mask", True), ("without", False)):
    torch.manual_seed(0)
    language_models[name] = LanguageModel(masked).to(device)
    losses[name] = fit(
        language_models[name], random_rows(0), next_letter_loss, steps=400, lr=0.003, curve=False
    ).losses

# %% tags=["experiment"]
months = "January|February|March|April|May|June|July|August|September|October|November|December"
date = re.compile(rf"([A-Z][a-z]+day, )?({months}) \d{{1,2}}, \d{{4}}")
written = {name: generate(model, 200) for name, model in language_models.items()}
good = {name: sum(bool(date.fullmatch(text)) for text in written[name]) / 200 for name in written}
last = {name: sum(losses[name][-20:]) / len(losses[name][-20:]) for name in losses}
with style():
    figure, (axis,) = panels(width=4.4)
    for name, curve in losses.items():
        axis.plot(curve, label=name)
    axis.set(xlabel="training step", ylabel="loss, nats a letter")
    axis.legend()
show(figure, "The loss without a mask falls to nearly 0, far below the loss with it.")
for name in written:
    print(f"{name:10} loss {last[name]:.3f}, dates {good[name]:.0%}, writes: {written[name][:3]}")
claim("without the mask the loss is less than a tenth", last["without"] < 0.1 * last["with mask"])
claim("with it, more than 8 in 10 of what is written are dates", good["with mask"] > 0.8)
claim("without it, fewer than 1 in 20", good["without"] < 0.05)

# %% [markdown]
# The model without a mask *reads the answer*: position $i$ looks at position $i + 1$, where the letter stands that it must
# predict. While it writes, nothing stands there, and out comes noise. A loss that is too good is no reason to be glad:
# **write with the model before you believe its loss.** The loss of the honest model stays above 0 for a good reason: which
# date comes next cannot be known. *Where does the cheat look?*

# %% tags=["experiment"]
cheat = language_models["without"]
target = pad_rows(rows[:200])
ids = with_bos(target).to(device)
with torch.no_grad():
    x = cheat.token(ids) + cheat.place.weight[: ids.shape[1]]
    _, weights = attention.scaled_dot_product_attention(
        cheat.W_Q(x), cheat.W_K(x), cheat.W_V(x), need_weights=True
    )
ahead = weights.diagonal(1, -2, -1).cpu()  # (B, T - 1): how strongly place i looks at place i + 1
on_answer = ahead[target[:, :-1] != PAD].mean().item()
print(f"weight on the very next place, on average: {on_answer:.0%}")
claim("more than half of the weight lies on the answer", on_answer > 0.5)

# %% [markdown]
# ## Bug hunt: every shape test likes it
#
# A colleague's model of lesson 3 "learns, only the dates are not right yet". The colleague's tests are green: shapes fit,
# weights are at least 0, in padded sentences each row sums to 1, no `nan`, and the loss falls. *Find out what it looks at.*


# %% tags=["experiment"]
class ColleaguesModel(Seq2Seq):
    def encode(self, source, source_lengths):
        outputs, context = self.encoder(source, source_lengths)
        mask = torch.arange(source.shape[1]) >= source_lengths[:, None]  # (B, S)
        return self.decoder.start(outputs, context, mask.unsqueeze(1).to(source.device))


source_vocabulary = Vocabulary.from_sequences([example.source for example in training_dates])
target_vocabulary = Vocabulary.from_sequences([example.target for example in training_dates])
training_pairs = encode_pairs(text_pairs(training_dates), source_vocabulary, target_vocabulary)
held_out_pairs = encode_pairs(
    text_pairs(held_out_dates[:500]), source_vocabulary, target_vocabulary
)
(held_out,) = evaluation_batches(held_out_pairs, batch_size=500)
date_models, results = {}, {}
for name, kind in (("suspect", ColleaguesModel), ("yours", Seq2Seq)):
    torch.manual_seed(1)
    encoder = Encoder(len(source_vocabulary), 32, 64, bidirectional=True)
    sizes = (len(target_vocabulary), 32, 64, encoder.d_output, encoder.d_context)
    date_models[name] = kind(encoder, LuongDecoder(*sizes, score="general")).to(device)
    history = fit(
        date_models[name],
        training_batches(training_pairs, 64),
        sequence_loss,
        steps=200,
        lr=0.01,
        curve=False,
    )
    exact = exact_matches(write(date_models[name], held_out, 12).cpu(), held_out.target, EOS)
    results[name] = (history.losses, exact.float().mean().item())
    print(
        f"{name:8} loss {history.losses[0]:.2f} to {history.losses[-1]:.2f}, {results[name][1]:.0%} exactly right"
    )

# %% tags=["experiment"]
looked = {}
for name, model in date_models.items():
    batch = held_out.to(device)
    with torch.no_grad():
        _, looked[name] = model.decoder(
            batch.decoder_input, model.encode(batch.source, batch.source_lengths), need_weights=True
        )
real = masks.padding_mask(held_out.source, PAD).to(device)  # (B, 1, S)
padded = held_out.source_lengths < held_out.source.shape[1]
weights = looked["suspect"][padded.to(device)]
print("the colleague's tests:")
claim(
    "weights are (B, T, S), at least 0 and finite",
    bool((weights >= 0).all() and weights.isfinite().all()),
)
claim(
    "in sentences with padding each row sums to 1",
    torch.allclose(weights.sum(-1), torch.ones_like(weights.sum(-1))),
)
claim("the loss has fallen by half", results["suspect"][0][-1] < 0.5 * results["suspect"][0][0])
print("yours:")
on_words = {
    name: (table * real).sum(-1)[padded.to(device)].mean().item() for name, table in looked.items()
}
print(
    "share of the weight on real letters:",
    {name: f"{share:.0%}" for name, share in on_words.items()},
)
longest = looked["suspect"][(~padded).to(device)]
with torch.no_grad():
    outputs, _ = date_models["suspect"].encoder(held_out.source.to(device), held_out.source_lengths)
claim("what lies at the padding is 0 throughout", (outputs[~real.squeeze(1)] == 0).all())
claim("the suspect never looks at a letter", on_words["suspect"] == 0.0)
claim("yours looks at nothing else", on_words["yours"] > 0.999)
claim("where there is no padding, the suspect's weights are all 0", (longest == 0).all())
claim("it gets fewer dates right than yours", results["suspect"][1] < results["yours"][1] - 0.2)

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# The mask says True where the padding is: it came from code that feeds `nn.MultiheadAttention`, where True hides. Here True
# means "may attend", so the model attends to padding alone, whose values are all 0. It is lesson 1's model again, with one
# vector. Rows sum to 1, over the wrong keys. Test what a mask is *for*: the weight on padding must be 0, and a sentence
# must come out the same alone and in company.
#
# </details>
#
# ## In short
#
# | | what it hides | shape | test it by |
# | --- | --- | --- | --- |
# | padding mask | keys that are padding | (B, 1, S) | a sentence alone and in company |
# | causal mask | keys after the query | (T, S), bottom right | gradient to the future is 0; then let it write |
# | both | what either hides | (B, T, S) | both tests above |
# | a row with nothing left | everything | | weights 0, output 0, gradient finite |
#
# Self-attention: all of Q, K, V from one sequence. Cross-attention: Q from one, K and V from another. Both know no order,
# and neither waits.
#
# ## What you should want now
#
# A word asks *one* question here: one table of weights, one yardstick. But who did it, to whom, and when are three
# questions. Lesson 6 asks several at once.
#
# **Further reading.** Vaswani et al. (2017), sections 3.2.3 and 4. Cheng, Dong and Lapata (2016), *Long short-term
# memory-networks for machine reading*, and Lin et al. (2017), *A structured self-attentive sentence embedding*, let
# sentences ask themselves before. Lee et al. (2019), *Set Transformer*, makes a virtue of permutation equivariance.

# %% tags=["nbval-ignore-output"]
progress()
