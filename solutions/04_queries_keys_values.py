# ---
# jupyter:
#   course:
#     title: Queries, keys, values
#     question: Why does one word need three vectors?
#     outcomes:
#     - read attention as a dictionary that answers with a mixture
#     - write the three projections and scaled dot-product attention, and check them to the digit on a Korean sentence
#     - say by measurement why the scores are divided by the root of the key's width, and what happens without
#     - recognise a model that is scaled by the wrong width, though it learns
#     minutes: 60
#     prerequisites: [lesson 3]
#     exercises: [soft_lookup, project_qkv, attention_scale, scaled_dot_product_attention]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 4 · Queries, keys, values
#
# **Why does one word need three vectors?** · 60 minutes
#
# Lesson 3 left a state with two jobs: an encoder state $h_j$ is *compared*, and it is *handed over*. Here each job gets a
# vector of its own, the recurrence leaves the picture, and one formula remains (Vaswani et al. 2017):
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# By the end you will have measured what every factor of it is for.

# %% tags=["setup"]
import math

import torch
from course_lib import attention, check, hint, mine, pick_device, progress, solution
from course_lib.claims import claim
from course_lib.data.batches import encode_pairs, evaluation_batches, make_batch, training_batches
from course_lib.data.dates import date_examples, text_pairs
from course_lib.data.vocabulary import EOS, Vocabulary
from course_lib.evaluation import exact_matches
from course_lib.figures import panels, show, style
from course_lib.generation import write
from course_lib.recurrent import Encoder, Seq2Seq, first_hidden
from course_lib.recurrent_attention import AttentionDecoder
from course_lib.training import fit, sequence_loss
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# <!-- concept: L4-split -->
# ## One vector, two jobs
#
# A price list as four vectors: the first four numbers say *which* item it is, the fifth says what it *costs*. The state
# asks for item 2; it has a fifth number too, since it does two jobs as well. With $h_j$ as key and value at once, the whole
# vector is compared, the price too. *What will happen when item 4 becomes expensive?*

# %%
names, asks_for = torch.eye(4), torch.tensor([0.0, 4.0, 0.0, 0.0, 1.0])


def weights_at(price_of_item_4):
    prices = torch.tensor([1.0, 2.0, 1.0, price_of_item_4])
    h = torch.cat([names, prices[:, None]], dim=-1)  # (4, 5): name and price in one vector
    return torch.softmax(h @ asks_for, dim=-1)


cheap, dear = weights_at(1.0), weights_at(9.0)
print("item 4 costs 1:", [f"{weight:.2f}" for weight in cheap.tolist()])
print("item 4 costs 9:", [f"{weight:.2f}" for weight in dear.tolist()])
claim("while all prices are alike, item 2 is found", cheap.argmax() == 1 and cheap[1] > 0.9)
claim("an expensive item 4 takes the weight, though nobody asked for it", dear[3] > 0.9)

# %% [markdown]
# What is *looked for* and what is *found* got mixed up. Lesson 3's matrix $W$ could learn to ignore the price while it
# compares; but what is handed over would still be all of $h_j$, its name included. The way out: a **key** (키) that is only compared, a **value** (값)
# that is only handed over, and on the asking side a **query** (쿼리). Three projections, because the same token plays
# three parts: it asks, it is found, it gives.
#
# <!-- concept: L4-search -->
# It is how a search works. Your *query* is compared with an *index* of every document, and what you get is the *document*,
# not its entry in the index.
#
# | in a search | in attention | in the price list |
# | --- | --- | --- |
# | what you type | query $q_i$ | the item asked for |
# | the index entry | key $k_j$ | its name |
# | the document | value $v_j$ | its price |
#
# A Python dictionary does the same: `prices["apple"]` compares "apple" with all keys and hands over one value. Attention
# is a dictionary that answers with a **mixture**: each key gets a weight, by its product with the query. A
# **temperature** (온도) says how choosy it is.


# %% exercise="soft_lookup" role="answer"
def soft_lookup(query, key, value, temperature):
    """A dictionary that answers with a mixture: softmax(q · k / temperature) over the keys weighs the values.

    query: (..., T, D). key: (..., S, D). value: (..., S, Dv). temperature: a number above 0; towards 0 only the best
    key answers. Returns (..., T, Dv).
    """
    ### BEGIN SOLUTION
    weights = torch.softmax(query @ key.mT / temperature, dim=-1)  # (..., T, S)
    return weights @ value
    ### END SOLUTION


# %% exercise="soft_lookup" role="check"
check("soft_lookup")

# %% [markdown]
# *With your own* lookup, the price list again: names as keys, prices as values, and a query for item 2. *What comes back
# at temperature 0.1, and what at 100?*

# %% tags=["nbval-ignore-output"]
my_lookup = mine("soft_lookup")
prices = torch.tensor([[1.0], [2.0], [1.0], [9.0]])
answers = {
    temperature: my_lookup(names[1:2], names, prices, temperature).item()
    for temperature in (0.1, 1.0, 100.0)
}
print({temperature: f"{answer:.2f}" for temperature, answer in answers.items()})
claim("cold, it answers like a dictionary: the price of item 2", abs(answers[0.1] - 2) < 0.01)
claim("hot, it answers with the mean of all prices", abs(answers[100.0] - 3.25) < 0.05)

# %% [markdown]
# <!-- concept: L4-projections -->
# ## Three projections
#
# Where do queries, keys and values come from? From the tokens, by three matrices. With N tokens of width D as the rows of
# $X$:
#
# $$Q = X W_Q \qquad K = X W_K \qquad V = X W_V$$
#
# | | shape | why |
# | --- | --- | --- |
# | $X$ | (N, D) | one row a token |
# | $W_Q$, $W_K$ | (D, Dk) | queries and keys are multiplied, so they are equally wide |
# | $W_V$ | (D, Dv) | Dv is free; usually Dv = Dk |
# | $Q$, $K$, $V$ | (N, Dk), (N, Dk), (N, Dv) | |
#
# <!-- concept: E-qkv -->
# You will read "Q = K = V = input". They come from the *same input*; they are three *different* projections of it. Without
# them asking and being found are one thing: $X X^\top$ is symmetric, and a token finds itself, or a longer vector of its
# kind.


# %% exercise="project_qkv" role="answer"
def project_qkv(X, W_Q, W_K, W_V):
    """Queries, keys and values of every token: three projections of one input.

    X: (..., N, D). W_Q, W_K: (D, Dk). W_V: (D, Dv).
    Returns query (..., N, Dk), key (..., N, Dk), value (..., N, Dv).
    """
    ### BEGIN SOLUTION
    return X @ W_Q, X @ W_K, X @ W_V
    ### END SOLUTION


# %% exercise="project_qkv" role="check"
check("project_qkv")

# %% [markdown]
# <!-- concept: L4-learned -->
# The matrices are **learned**, and the same for every sentence; the vectors $q$, $k$, $v$ are computed anew for each
# input. Two sentences of different length, one set of matrices:

# %% tags=["nbval-ignore-output"]
my_project = mine("project_qkv")
torch.manual_seed(0)
W_Q, W_K, W_V = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 6)
short, long = torch.randn(3, 8), torch.randn(7, 8)
for name, X in (("3 tokens", short), ("7 tokens", long)):
    print(name, [tuple(each.shape) for each in my_project(X, W_Q, W_K, W_V)])
same = short @ short.mT  # what would be the scores without projections
claim("without projections i asks for j as j asks for i", torch.allclose(same, same.mT))
projected = my_project(short, W_Q, W_K, W_V)
asked = projected[0] @ projected[1].mT
claim("with them it does not", not torch.allclose(asked, asked.mT, atol=0.1))

# %% [markdown]
# <!-- concept: L4-width -->
# ### How wide?
#
# Width buys room: the more dimensions, the more directions that hardly disturb each other. It costs time: with Dk = Dv = D
# the three products take $3 N D^2$ multiplications. *If D becomes four times as large, by how much does each change?*

# %%
torch.manual_seed(0)
N, widths = 16, (16, 64, 256)
disturbance, products = [], []
for D in widths:
    directions = nn.functional.normalize(torch.randn(400, D), dim=-1)
    cosines = (directions @ directions.mT)[~torch.eye(400, dtype=torch.bool)]
    disturbance.append(cosines.abs().mean().item())
    X, W = torch.randn(N, D), torch.randn(D, D)
    with FlopCounterMode(
        display=False
    ) as counter:  # it counts a multiplication and an addition as two
        X @ W, X @ W, X @ W
    products.append(counter.get_total_flops() // 2)
for D, cosine, count in zip(widths, disturbance, products, strict=True):
    print(
        f"D = {D:3}: two directions overlap by {cosine:.2f} on average, {count:,} multiplications"
    )
claim("four times the width halves the overlap", 1.8 < disturbance[0] / disturbance[1] < 2.2)
claim("and takes sixteen times the work", products[1] == 16 * products[0] == 16 * 3 * N * 16**2)

# %% [markdown]
# <!-- concept: L4-table -->
# ## A sentence by hand
#
# 나는 너를 사랑해, cut into four tokens 나는 · 너를 · 사랑 · 해. Each is three numbers: how much of a *person*, of an
# *object*, of an *action* it is. The matrices are set by hand, so that persons ask for actions, and actions ask for persons,
# twice as much for those that are objects. Take a pencil: $Q$, $K$ and the third row of $Q K^\top$ are quick. *Which
# tokens will 사랑 look at?*

# %%
tokens = ["나는", "너를", "사랑", "해"]
X = torch.tensor([[1.0, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 2]])
W_Q = torch.tensor([[0.0, 0, 2, 0], [0, 0, 0, 2], [2, 4, 0, 0]])
W_K = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
W_V = torch.tensor([[1.0, 0], [0, 1], [0, 3]])
Q, K, V = X @ W_Q, X @ W_K, X @ W_V
scores = Q @ K.mT / math.sqrt(4)
A = torch.softmax(scores, dim=-1)
Y = A @ V

print("scores / √4          weights                    output")
for token, score, row, out in zip(tokens, scores.tolist(), A.tolist(), Y.tolist(), strict=True):
    left = "  ".join(f"{x:.0f}" for x in score)
    print(
        f"{left}    {'  '.join(f'{x:.2f}' for x in row)}    {'  '.join(f'{x:.2f}' for x in out)}  {token}"
    )


def reads(tensor, *numbers, digits=2):
    """Whether the tensor, rounded to so many digits, reads as these numbers."""
    return [round(x, digits) for x in tensor.tolist()] == list(numbers)


claim("the query of 사랑 is (2, 4, 0, 0)", reads(Q[2], 2, 4, 0, 0))
claim("the key of 너를 is (1, 1, 0, 0)", reads(K[1], 1, 1, 0, 0))
claim("their product is 6", Q[2] @ K[1] == 6)
claim("the scores of 사랑 are 1, 3, 0, 0", reads(scores[2], 1, 3, 0, 0))
claim(
    "the values are (1, 0), (1, 1), (0, 3), (0, 6)", V.tolist() == [[1, 0], [1, 1], [0, 3], [0, 6]]
)
claim("its weights are 0.11, 0.81, 0.04, 0.04", reads(A[2], 0.11, 0.81, 0.04, 0.04))
claim("its output is (0.92, 1.17)", reads(Y[2], 0.92, 1.17))

# %% [markdown]
# The row of 사랑, to the digit. Its query is $(2, 4, 0, 0)$, the key of 너를 is $(1, 1, 0, 0)$, so their product is
# $2 + 4 = 6$, and $6 / \sqrt 4 = 3$. The whole row of scores is $1, 3, 0, 0$; softmax makes $0.11, 0.81, 0.04, 0.04$ of
# it. *Check one weight with your calculator.*
#
# <!-- concept: L4-mixture -->
# The output of 사랑 is a **mixture** of the four values:
#
# $$y_3 = 0.11\,(1, 0) + 0.81\,(1, 1) + 0.04\,(0, 3) + 0.04\,(0, 6) = (0.92, 1.17)$$
#
# <!-- concept: L4-output -->
# In general $y_i = \sum_j A_{ij} v_j$: a weighted sum of the rows of $V$, with the weights of row $i$.
#
# <!-- concept: L4-scores -->
# The scores are an (N, N) table, read in two ways. **Row i** is what token i asks of everybody. **Column j** is how
# strongly everybody asks for token j. The table is not symmetric: 사랑 asks for 너를 with a score of 3, 너를 for 사랑 with
# 2, because asking and being found are different projections.

# %%
with style():
    figure, axes = panels(2, width=3.0, height=2.8)
    for axis, table, title, digits in zip(
        axes, (scores, A), ("scores", "weights"), (0, 2), strict=True
    ):
        axis.imshow(table)
        axis.set_xticks(range(4), tokens)
        axis.set_yticks(range(4), tokens)
        axis.grid(False)
        axis.set(title=title, xlabel="key", ylabel="query")
        for i, row in enumerate(table.tolist()):
            for j, number in enumerate(row):
                colour = "black" if number > 0.6 * table.max() else "white"
                axis.text(j, i, f"{number:.{digits}f}", ha="center", va="center", color=colour)
show(figure, "나는 and 너를 look at 사랑 and 해, and the other way round; 해 is the most decided.")
claim("사랑 asks for 너를 with 3, 너를 for 사랑 with 2", (scores[2, 1], scores[1, 2]) == (3, 2))

# %% [markdown]
# <!-- concept: E-weights -->
# ### What scores are not
#
# Scores are no weights. A row of scores such as 0.7, 0.1, 0.6 is often drawn as if it were shares of attention; it adds
# up to 1.4. And softmax is not "divide by the sum".
#
# <!-- concept: E-softmax -->
# Of the scores 0.7, 0.2, 0.3, 0.9 it makes 0.29, 0.17, 0.19, 0.35. An explanation that circulates prints 0.42, 0.08, 0.13,
# 0.37 for that row. No temperature gives those: in a softmax at temperature τ the logarithm of two weights' ratio is the
# difference of their scores divided by τ, for *every* pair.

# %%
claim("0.7, 0.1 and 0.6 sum to 1.4", abs(sum((0.7, 0.1, 0.6)) - 1.4) < 1e-9)
row = torch.tensor([0.7, 0.2, 0.3, 0.9])
claim("softmax gives 0.29, 0.17, 0.19, 0.35", reads(torch.softmax(row, 0), 0.29, 0.17, 0.19, 0.35))
claim("divided by the sum: 0.33, 0.10, 0.14, 0.43", reads(row / row.sum(), 0.33, 0.1, 0.14, 0.43))
printed = torch.tensor([0.42, 0.08, 0.13, 0.37])
temperatures = (row[:-1] - row[-1]) / (printed[:-1] / printed[-1]).log()
print(
    "temperature that each pair with the last weight would need:",
    [f"{t:.2f}" for t in temperatures.tolist()],
)
claim(
    "the printed row would need several temperatures at once, one below 0",
    temperatures.min() < 0 < 0.3 < temperatures.max(),
)

# %% [markdown]
# <!-- concept: L4-saturation -->
# ## Too sure of itself
#
# Softmax looks at differences. *What happens to the weights of scores 1, 2, 3 when all three are multiplied by ten?*

# %%
for factor in (1, 10):
    p = torch.softmax(factor * torch.tensor([1.0, 2.0, 3.0]), 0)
    slope = (torch.diag(p) - p.outer(p)).norm().item()  # of the weights, with respect to the scores
    print([f"{x:.2f}" for x in p.tolist()], f"slope {slope:.1g}")
claim(
    "softmax(1, 2, 3) is 0.09, 0.24, 0.67",
    reads(torch.softmax(torch.tensor([1.0, 2.0, 3.0]), 0), 0.09, 0.24, 0.67),
)
claim("softmax(10, 20, 30) is 0.00, 0.00, 1.00", reads(p, 0.0, 0.0, 1.0))
claim("and its slope has all but vanished", slope < 1e-4)

# %% [markdown]
# One weight is 1, the others are 0: it is **saturated** (포화). Worse, the slope is gone. A small change of the scores
# changes nothing, so the gradient that would correct a wrong choice does not arrive. We measure the slope by the norm of the
# table of all slopes, each weight by each score: the **Jacobian** (야코비 행렬).
#
# <!-- concept: L4-scale -->
# ### And wide vectors make large scores
#
# A dot product adds up $d_k$ products. If the entries of $q$ and $k$ are independent, with mean 0, then each product has
# variance $\mathrm{Var}(q)\,\mathrm{Var}(k)$, and variances of independent things add:
#
# $$\mathrm{Var}(q \cdot k) = d_k\,\mathrm{Var}(q)\,\mathrm{Var}(k)$$
#
# So the scores grow with the root of the width, whatever the sentence says. *By which factor must you multiply $q \cdot k$
# so that its variance is 1?*


# %% exercise="attention_scale" role="answer"
def attention_scale(d_k, query_variance, key_variance):
    """The factor that takes the variance of q · k to 1, for independent entries with mean 0.

    d_k: number of entries of q and of k. query_variance, key_variance: variance of one entry, above 0. Returns a number.
    """
    ### BEGIN SOLUTION
    return 1 / math.sqrt(d_k * query_variance * key_variance)
    ### END SOLUTION


# %% exercise="attention_scale" role="check"
check("attention_scale")

# %% [markdown]
# <!-- concept: E-scale -->
# With entries of variance 1 it is $1/\sqrt{d_k}$, the factor of the formula. Not $d_k$, not the width of the embedding:
# the **root** of the width of the vectors that are **multiplied**. In lesson 6, where a model has several heads, that is
# the width of one head.
#
# Now measure all of it. Queries and keys of variance 1, 64 keys a query, $d_k$ from 4 to 1,024, with and without your
# factor. The **entropy** (엔트로피) of the weights says in bits how undecided they are: 6 bits are 64 equal weights, 0 bits
# are one weight of 1. *Which of the six curves will be flat?*

# %% tags=["nbval-ignore-output"]
my_scale = mine("attention_scale")
torch.manual_seed(0)
widths, measured = (4, 16, 64, 256, 1024), {"without": [], "with the root": []}
for d_k in widths:
    query, key = torch.randn(256, 1, d_k), torch.randn(256, 64, d_k)
    products = (query * key).sum(-1)  # (256, 64)
    for name, factor in (("without", 1.0), ("with the root", my_scale(d_k, 1.0, 1.0))):
        p = torch.softmax(products * factor, dim=-1)
        entropy = -(p * p.clamp(min=1e-30).log2()).sum(-1).mean().item()
        slope = (
            (torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2))
            .flatten(1)
            .norm(dim=1)
            .mean()
            .item()
        )
        measured[name].append(((products * factor).var().item(), entropy, slope))

with style():
    figure, axes = panels(3, width=3.0, height=2.6)
    for i, (axis, title) in enumerate(
        zip(axes, ("variance of the scores", "entropy, bits", "slope of the softmax"), strict=True)
    ):
        for name, marker in (("without", "o"), ("with the root", "s")):
            axis.plot(widths, [point[i] for point in measured[name]], marker=marker, label=name)
        axis.set_xscale("log", base=2)
        axis.set(title=title, xlabel="d_k")
        axis.set_xticks(widths, widths, fontsize=7)
    axes[0].set_yscale("log")
    axes[0].legend()
show(
    figure,
    "Without the root the variance grows with the width, entropy falls, and so does the slope in the end; "
    "with it all three stay.",
)
raw, scaled = measured["without"], measured["with the root"]
claim(
    "without, the variance is d_k, within a tenth",
    all(abs(v / d - 1) < 0.1 for (v, _, _), d in zip(raw, widths, strict=True)),
)
claim("with the root it is 1, within a tenth", all(abs(v - 1) < 0.1 for v, _, _ in scaled))
claim("without, the entropy falls below a quarter of a bit at 1,024", raw[-1][1] < 0.25)
claim("with the root it stays above 5 bits at every width", min(e for _, e, _ in scaled) > 5)
claim("at 64 the slope without the root is still larger", raw[2][2] > scaled[2][2])
claim("at 1,024 the root keeps more than twice the slope", scaled[-1][2] > 2 * raw[-1][2])

# %% [markdown]
# Up to $d_k = 64$ the missing root does no harm by the last measure: a sharper softmax even has more slope. Then one weight
# takes all, and at 1,024 less than half of the slope is left. A narrow toy never shows it. A wide model does: further down
# you will train one.
#
# ### Turn the knobs yourself
#
# One query and its scores. Widen $d_k$, switch the root off, change the temperature. *Can you find a temperature that
# undoes the missing root? What must it be?*

# %% tags=["explore"]
from course_lib.explore.softmax_lab import softmax_lab

softmax_lab([0.5, 1.2, -0.3, 0.9, -1.1], ["나는", "너를", "정말", "사랑", "해"])

# %% [markdown]
# ## The formula
#
# All its parts are there. Rows of the weights are queries, columns are keys.


# %% exercise="scaled_dot_product_attention" role="answer"
def scaled_dot_product_attention(query, key, value):
    """softmax(Q K^T / √d_k) V. query: (..., T, Dk). key: (..., S, Dk). value: (..., S, Dv).

    Returns the output (..., T, Dv) and the weights (..., T, S): rows are queries, columns are keys.
    """
    ### BEGIN SOLUTION
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (..., T, S)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
    ### END SOLUTION


# %% exercise="scaled_dot_product_attention" role="check"
check("scaled_dot_product_attention")

# %% [markdown]
# <!-- concept: L4-axis -->
# ### Which axis?
#
# Softmax goes over each **row**: every query shares out one whole among the keys. Over the columns it would mean something
# else: every *key* would share itself out among the queries, and a query might be left with nearly nothing.
#
# <!-- concept: E-axis -->
# You will read "`axis=1`". That is the last axis only while there are two; with a batch in front it is the queries'. Say
# `dim=-1`. *With your own function*, the table of 나는 너를 사랑해 once more, and the same sentence as a batch of one:

# %% tags=["nbval-ignore-output"]
my_attention = mine("scaled_dot_product_attention")
output, weights = my_attention(Q, K, V)
print("sum of each row:   ", [f"{x:.2f}" for x in weights.sum(-1).tolist()])
print("sum of each column:", [f"{x:.2f}" for x in weights.sum(-2).tolist()])
claim("your function gives the table that you worked out by hand", torch.allclose(output, Y))
claim(
    "it is your soft_lookup at temperature √d_k",
    torch.allclose(my_lookup(Q, K, V, math.sqrt(4)), output),
)
claim(
    "each row sums to 1, the columns do not",
    torch.allclose(weights.sum(-1), torch.ones(4)) and weights.sum(-2).max() > 1.2,
)
columns = torch.softmax(scores[None], dim=1)[0]  # axis 1 of a batch: the queries
claim(
    "with dim=1 on a batch, some query gets less than half of its whole",
    columns.sum(-1).min() < 0.5,
)

# %% [markdown]
# <!-- concept: L4-columns -->
# ### Two ways to read A V
#
# Row by row, $AV$ is a mixture of value vectors for each token. Column by column it looks like another thing: column $d$
# of the output is $A$ times column $d$ of $V$. It is the same mixture, one feature at a time: token $i$ still weighs the
# tokens with row $i$, and with the *same* weights for every feature.
#
# <!-- concept: L4-linear -->
# And for fixed weights, attention is **linear** in the values: double them and the output doubles; add two sets of values
# and the outputs add. All that is not linear sits in the weights.

# %%
claim("column by column, it is the same product", torch.allclose(A @ V[:, 0], Y[:, 0]))
other = torch.randn_like(V)
claim(
    "for fixed weights, outputs add as values do",
    torch.allclose(A @ (V + other), A @ V + A @ other, atol=1e-6),
)
louder = Q.clone() * 2
claim(
    "doubling the queries does not double the output",
    not torch.allclose(attention.scaled_dot_product_attention(louder, K, V)[0], 2 * Y, atol=0.1),
)

# %% [markdown]
# <!-- concept: L4-context -->
# ## One word, two meanings
#
# 배 is a pear, and a ship (and a belly, which stays out of it). As an embedding it is a bit of both. Next to 달다 (sweet) or
# 항구 (harbour) attention adds what its neighbours know. Three features: *fruit*, *sea*, *taste*. Here $W_Q = W_K$ is 1.5
# times the identity and $W_V$ the identity: enough to see the mixing.

# %%
word = {"배": [1.0, 1.0, 0.0], "달다": [1.5, 0.0, 2.0], "항구": [0.0, 2.5, 0.0]}
seen = {}
for neighbour in ("달다", "항구"):
    X_pair = torch.tensor([word["배"], word[neighbour]])
    sharp = 1.5 * torch.eye(3)
    mixed, _ = attention.scaled_dot_product_attention(X_pair @ sharp, X_pair @ sharp, X_pair)
    seen[neighbour] = mixed[0]
    print(
        f"배 next to {neighbour}: fruit {mixed[0, 0]:.2f}, sea {mixed[0, 1]:.2f}, taste {mixed[0, 2]:.2f}"
    )
claim("next to 달다, 배 is more fruit than sea", seen["달다"][0] > seen["달다"][1] + 0.3)
claim("next to 항구, 배 is more sea than fruit", seen["항구"][1] > seen["항구"][0] + 0.3)

# %% [markdown]
# ## Lessons 2 and 3, rebuilt
#
# Attention between decoder and encoder in the new words: the decoder's state makes the query, the encoder's outputs make
# keys and values. It is Luong's general score with its matrix in two factors, $W = W_Q W_K^\top / \sqrt{d_k}$, of rank $d_k$ at most:

# %%
torch.manual_seed(0)
states, outputs = torch.randn(2, 3, 5), torch.randn(2, 4, 6)
W_q, W_k = torch.randn(5, 8), torch.randn(6, 8)
projected = attention.scaled_dot_score(states @ W_q, outputs @ W_k)
general = attention.general_score(states, outputs, W_q @ W_k.mT / math.sqrt(8))
claim("one score in two ways of writing it", torch.allclose(projected, general, atol=1e-4))


# %%
class QKVDecoder(AttentionDecoder):
    """Luong's decoder with a query, keys and values of their own."""

    def __init__(self, vocab_size, d_embedding, d_hidden, d_output, d_context, d_k):
        super().__init__(vocab_size, d_embedding, d_embedding, d_hidden, d_context, d_hidden, "gru")
        self.W_Q = nn.Linear(d_hidden, d_k, bias=False)
        self.W_K = nn.Linear(d_output, d_k, bias=False)
        self.W_V = nn.Linear(d_output, d_hidden, bias=False)
        self.combine = nn.Linear(2 * d_hidden, d_hidden, bias=False)
        self.scale = math.sqrt(d_k)

    def start(self, outputs, context, mask):
        """Keys and values are made once for the whole sentence."""
        first = first_hidden(self.rnn, self.bridge, context)
        return first, (self.W_K(outputs), self.W_V(outputs), mask)

    def look(self, tokens, state):
        hidden, (key, value, mask) = state
        states, hidden = self.rnn(self.embedding(tokens), hidden)  # (B, T, d_hidden)
        scores = self.W_Q(states) @ key.mT / self.scale  # (B, T, S)
        context, weights = attention.attend(scores, value, mask)
        attentional = torch.tanh(self.combine(torch.cat([context, states], dim=-1)))
        return self.output(attentional), (hidden, (key, value, mask)), weights


training_dates, held_out_dates = date_examples()
source_vocabulary = Vocabulary.from_sequences([example.source for example in training_dates])
target_vocabulary = Vocabulary.from_sequences([example.target for example in training_dates])
training_pairs = encode_pairs(text_pairs(training_dates), source_vocabulary, target_vocabulary)
held_out_pairs = encode_pairs(
    text_pairs(held_out_dates[:500]), source_vocabulary, target_vocabulary
)
(held_out,) = evaluation_batches(held_out_pairs, batch_size=500)


def date_model(d_k, decoder_class=QKVDecoder, seed=1):
    torch.manual_seed(seed)
    encoder = Encoder(len(source_vocabulary), 32, 64, bidirectional=True)
    sizes = (len(target_vocabulary), 32, 64, encoder.d_output, encoder.d_context)
    return Seq2Seq(encoder, decoder_class(*sizes, d_k)).to(device)


def exact_dates(model):
    written = write(model, held_out, 12).cpu()
    return {"dates exactly right": exact_matches(written, held_out.target, EOS).float().mean()}


def train_on_dates(model, steps=200):
    return fit(
        model,
        training_batches(training_pairs, batch_size=64),
        sequence_loss,
        steps=steps,
        lr=0.01,
        evaluate=exact_dates,
        evaluate_every=50,
        curve=False,
    )


# %% tags=["experiment"]
looking = date_model(d_k=32)
history = train_on_dates(looking)
final = history.metrics[-1]["dates exactly right"]
print(f"{final:.1%} of held-out dates exactly right after {history.steps} steps")
claim("with queries, keys and values, more than 9 in 10 dates are exactly right", final > 0.9)

# %% [markdown]
# And the wide model: keys of width 256, with the root and without. *The same seed, the same batches, 200 steps each.*


# %% tags=["experiment"]
class NoRoot(QKVDecoder):
    """The decoder above, its scores divided by nothing."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.scale = 1.0


wide = {}
for name, decoder_class in (("with the root", QKVDecoder), ("without", NoRoot)):
    history = train_on_dates(date_model(256, decoder_class))
    wide[name] = history.metrics[-1]["dates exactly right"]
    print(f"{name:14} {wide[name]:.1%} of held-out dates exactly right after {history.steps} steps")
claim("with the root the wide model learns: more than 8 in 10", wide["with the root"] > 0.8)
claim("without it, it is far behind", wide["without"] < wide["with the root"] - 0.2)

# %% [markdown]
# *With your own* function: one Korean date, no padding, and the weights that your formula gives for the trained model's
# queries and keys.

# %% tags=["experiment"]
example = next(e for e in held_out_dates if e.locale == "ko" and e.form == "long")
one = make_batch(encode_pairs(text_pairs([example]), source_vocabulary, target_vocabulary)).to(
    device
)
with torch.no_grad():
    state = looking.encode(one.source, one.source_lengths)
    _, _, library_weights = looking.decoder.look(one.decoder_input, state)
    hidden, (key, value, _) = state
    states, _ = looking.decoder.rnn(looking.decoder.embedding(one.decoder_input), hidden)
    _, own_weights = my_attention(looking.decoder.W_Q(states), key, value)
with style():
    figure, (axis,) = panels(width=4.4, height=3.2)
    axis.imshow(own_weights[0, :10].cpu(), vmin=0, vmax=1, aspect="auto")
    axis.set_xticks(range(len(example.source)), example.source)
    axis.set_yticks(range(10), example.target[:10])
    axis.grid(False)
    axis.set(xlabel="key: what was read", ylabel="query: what is written")
show(figure, "The Korean date is read from left to right, as it is written.")
claim("your weights are the model's", torch.allclose(own_weights, library_weights, atol=1e-4))

# %% [markdown]
# ## Bug hunt: it learns all the same
#
# A colleague uses narrow keys, $d_k = 4$, in a model of width 64, and reports: "slow at first, fine in the end". Below is
# the colleague's model beside yours with the same narrow keys, same seed, same batches. *What differs in the curve, what
# in the attention weights? Which single number connects the two before any training?*


# %% tags=["experiment"]
class ColleaguesDecoder(QKVDecoder):
    def __init__(self, vocab_size, d_embedding, d_model, *sizes):
        super().__init__(vocab_size, d_embedding, d_model, *sizes)
        self.scale = math.sqrt(d_model)


suspect, honest = date_model(4, ColleaguesDecoder), date_model(4)


def weights_of(model):
    with torch.no_grad():
        batch = held_out.to(device)
        state = model.encode(batch.source, batch.source_lengths)
        return model.decoder.look(batch.decoder_input, state)[2]


def bits(weights):
    return -(weights * weights.clamp(min=1e-30).log2()).sum(-1).mean().item()


def against_the_first(weights):
    """Logarithm of each weight against the first of its row: differences of scores."""
    return (weights / weights[..., :1]).log()


shortest = int(held_out.source_lengths.min())
untrained = [against_the_first(weights_of(model))[..., 1:shortest] for model in (suspect, honest)]
ratio = (untrained[0].abs().sum() / untrained[1].abs().sum()).item()
curves = {}
for name, model in (("suspect", suspect), ("yours", honest)):
    curves[name] = [point["dates exactly right"] for point in train_on_dates(model).metrics]
    print(
        f"{name:8} {[f'{share:.0%}' for share in curves[name]]}, entropy {bits(weights_of(model)):.2f} bits"
    )
print(f"differences of scores before training, suspect to yours: {ratio:.3f}")
claim("the suspect starts more slowly", curves["suspect"][0] < curves["yours"][0])
claim(
    "and ends as well: more than 19 in 20 dates right",
    min(curves["suspect"][-1], curves["yours"][-1]) > 0.95,
)
claim("it stays less decided", bits(weights_of(suspect)) > 1.3 * bits(weights_of(honest)))
claim(
    "before training, each of its score differences is a quarter of yours",
    torch.allclose(untrained[0], untrained[1] / 4, atol=1e-4),
)
grown = {
    name: (model.decoder.W_Q.weight.norm() * model.decoder.W_K.weight.norm()).item()
    for name, model in (("suspect", suspect), ("yours", honest))
}
print("size of W_Q times size of W_K:", {name: round(size, 1) for name, size in grown.items()})
claim(
    "after it, the suspect's W_Q and W_K have grown more", grown["suspect"] > 1.2 * grown["yours"]
)

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# The scores are divided by $\sqrt{64}$, the root of the *model's* width, though the keys are only 4 wide: by 8 where 2 was
# due. All score differences are a quarter of what they should be, so the weights are too even. Training can make up for
# it by larger $W_Q$ and $W_K$, and does, after a while: neither a shape nor the final score gives the mistake away. It
# stood in several popular implementations, where the width of one head was meant. The fingerprint is exact: differences of
# log-weights within a row stand to the right ones as $\sqrt{d_k / d_{model}}$ to 1, everywhere.
#
# </details>
#
# ## In short
#
# | factor | what it is for | without it |
# | --- | --- | --- |
# | $W_Q$, $W_K$, $W_V$ | asking, being found, giving: three jobs, three vectors | a price spoils the search |
# | $Q K^\top$ | every query against every key, (T, S) | every query gets the same mean |
# | $1/\sqrt{d_k}$ | scores of variance 1 at any width | saturated weights, no gradient |
# | softmax, last axis | one whole for each query | columns share, queries starve |
# | $V$ | what is handed over | you get the index entry |
#
# ## What you should want now
#
# Nothing in the formula says where queries and keys come from. In our models they come from two sequences. By hand, 나는
# 너를 사랑해 has already asked *itself*. What if a model does? Then the RNN is not needed any more, and new questions arise: who may look at whom, and what is an order? Lesson 5 begins with the first.
#
# **Further reading.** Vaswani et al. (2017), *Attention is all you need*, section 3.2. Graves, Wayne and Danihelka (2014),
# *Neural Turing machines*, reads a memory by content with a sharpness of its own. Kim et al. (2017), *Structured attention
# networks*, on attention as a soft choice.

# %% tags=["nbval-ignore-output"]
progress()
