# ---
# jupyter:
#   course:
#     title: The Transformer block
#     question: What makes it possible to stack attention sixty layers deep?
#     outcomes:
#     - show that attention mixes tokens and the feed-forward network works on each alone
#     - write layer norm, feed-forward and the shortcut, and put them together into an encoder block equal to torch's
#     - measure what becomes of the gradient over 64 layers, with the shortcut and without
#     - say where the norm stands, before or after, and what that changes in the first steps of training
#     minutes: 80
#     prerequisites: [lesson 6, lesson 7]
#     exercises: [feed_forward, layer_norm, residual, encoder_block]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 8 · The Transformer block
#
# **What makes it possible to stack attention sixty layers deep?** · 80 minutes
#
# Attention with many heads, and words that know their place: why not put six such layers on top of each other and be done?
# This lesson tries it, sees it fail in three ways, and mends them one at a time. What comes out is the block that nearly all
# of today's language models are stacked from, as it stands here or with small changes.

# %% tags=["setup"]
import functools

import torch
from course_lib import check, hint, mine, pick_device, progress, solution
from course_lib.blocks import Encoder, EncoderBlock
from course_lib.claims import claim
from course_lib.experiments import warmup
from course_lib.figures import panels, show, style
from course_lib.layers import FeedForward, LayerNorm
from course_lib.multi_head_attention import MultiHeadAttention
from course_lib.training import fit
from torch import nn
from torch.nn import functional

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# ## Attention on attention
#
# Ten random vectors, 64 numbers wide, through a stack of attention layers with four heads, freshly initialised. Every output
# is a mixture of values. Their likeness is the cosine of the angle between two tokens, the mean over all pairs: 1 where all
# point the same way. *What is a mixture of mixtures of mixtures?*


# %%
def alike(x):
    """Mean cosine similarity between two different tokens of x (1, N, D)."""
    directions = functional.normalize(x[0], dim=-1)
    table, N = directions @ directions.mT, x.shape[1]
    return ((table.sum() - N) / (N * (N - 1))).item()


torch.manual_seed(0)
D, H, N = 64, 4, 10
layers = [MultiHeadAttention(D, H) for _ in range(6)]
likeness = []
with torch.no_grad():
    x = torch.randn(1, N, D)
    likeness.append(alike(x))
    for layer in layers:
        x = layer(x)[0]
        likeness.append(alike(x))
print("alike after 0 to 6 layers:", [f"{share:.3f}" for share in likeness])
claim("at first the tokens have next to nothing in common", abs(likeness[0]) < 0.1)
claim("after three layers of attention all point the same way", likeness[3] > 0.999)
with torch.no_grad():
    first, second = torch.randn(2, 1, N, D)
    apart = layers[0](x, x, first)[0] + layers[0](x, x, second)[0]
    together = layers[0](x, x, first + second)[0]
claim(
    "the weights held, values added give outputs added", torch.allclose(together, apart, atol=1e-5)
)

# %% [markdown]
# <!-- concept: L8-mix -->
# Attention *mixes*: after a few rounds everything is the same grey (Dong et al. 2021). And while the weights stay as they are
# it is linear in the values: add two sets of values, and the outputs are added. It chooses whom to hear; but nothing in it
# says of what is heard "this feature, if not that one". So two things are missing: something that **bends**, and
# something by which a token **stays itself**.
#
# ## A network for each token
#
# First what bends. It may work on each token alone, since mixing is attention's job:
#
# <!-- concept: L8-ffn -->
# $$\mathrm{FFN}(x) = \sigma(x W_1 + b_1)\, W_2 + b_2$$
#
# The **feed-forward network** (피드포워드 신경망) widens a token from $D$ numbers to the $d_{ff}$ of its **hidden layer**, bends each of
# those with the activation $\sigma$, and makes the token narrow again: 512 → 2048 → 512 in the paper. $\sigma$ is ReLU, which
# turns what is below 0 into 0, or GELU, a ReLU with a rounded corner. $W_1$ is $(D, d_{ff})$, $W_2$ is $(d_{ff}, D)$; the same
# four tensors serve every position.


# %% exercise="feed_forward" role="answer"
def feed_forward(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    """activation(x W_1 + b_1) W_2 + b_2, the same for every token.

    x: (..., D). W_1: (D, d_ff). b_1: (d_ff,). W_2: (d_ff, D). b_2: (D,). activation: function (..., d_ff) -> (..., d_ff),
    ReLU in the paper. Returns (..., D).
    """
    ### BEGIN SOLUTION
    hidden = activation(x @ W_1 + b_1)  # (..., d_ff)
    return hidden @ W_2 + b_2
    ### END SOLUTION


# %% exercise="feed_forward" role="check"
check("feed_forward")

# %% [markdown]
# *Guess: of a block's weights, which share is attention's, which the network's?*

# %%
attention, network = MultiHeadAttention(512, 8), FeedForward(512, 2048)
sizes = {
    name: sum(weight.numel() for weight in part.parameters())
    for name, part in (("attention", attention), ("feed-forward", network))
}
share = sizes["feed-forward"] / sum(sizes.values())
print({name: f"{size:,}" for name, size in sizes.items()}, f"feed-forward: {share:.0%}")
claim("two thirds of the weights are the feed-forward network's", abs(share - 2 / 3) < 0.01)

# %% [markdown]
# ### Who hears whom
#
# "Attention mixes, the network works on each alone" is a statement about derivatives: does output $i$ change when token $j$
# does? Here is the Jacobian: for every pair of tokens, the norm of $\partial\, out_i / \partial x_j$. *What will the two
# tables look like?*

# %%
my_feed_forward = mine("feed_forward")
torch.manual_seed(0)
x = torch.randn(N, D)
attention, network = MultiHeadAttention(D, H), FeedForward(D, 4 * D)
weights = [network.W_1.weight.mT, network.W_1.bias, network.W_2.weight.mT, network.W_2.bias]


def influence(function):
    """How strongly each output token (row) depends on each input token (column), (N, N)."""
    jacobian = torch.autograd.functional.jacobian(function, x)  # (N, D, N, D)
    return jacobian.square().sum((1, 3)).sqrt()


tables = {
    "attention": influence(lambda x: attention(x[None])[0][0]),
    "feed-forward": influence(lambda x: my_feed_forward(x, *weights)),
}
with style():
    figure, axes = panels(2, width=2.8, height=2.8)
    for axis, (name, table) in zip(axes, tables.items(), strict=True):
        axis.imshow(table)
        axis.grid(False)
        axis.set(title=name, xlabel="input token", ylabel="output token")
        axis.set(xticks=range(0, N, 2), yticks=range(0, N, 2))
show(figure, "Attention: every output depends on every input. Feed-forward: the diagonal alone.")
elsewhere = ~torch.eye(N, dtype=torch.bool)
claim(
    "through attention every token hears every other",
    tables["attention"][elsewhere].min() > 0.01,
)
claim("through the network no token hears another", tables["feed-forward"][elsewhere].max() == 0)

# %% [markdown]
# <!-- concept: L8-residual -->
# ## Sixty-four layers
#
# Now deep. One layer is attention, then network; the paper calls these two parts **sub-layers**. A random gradient is sent in
# at the top of the fresh stack, and we look at what arrives at the bottom, relative to what was sent. Then once more with one
# change: what a sub-layer returns is *added* to what it was given, $x + \mathrm{sublayer}(x)$. *How deep may the plain stack
# be? What does the sum change?*


# %%
class Plain(nn.Module):
    """One layer: attention, then the network. shortcut: add each one's output to its input."""

    def __init__(self, shortcut):
        super().__init__()
        self.shortcut = shortcut
        self.attention, self.network = MultiHeadAttention(D, H), FeedForward(D, 4 * D)

    def forward(self, x):
        for sublayer in (lambda x: self.attention(x)[0], self.network):
            x = x + sublayer(x) if self.shortcut else sublayer(x)
        return x


def through(stack):
    """The gradient at the bottom by that at the top; the tokens' length at the top by that below; their likeness."""
    x = torch.randn(1, N, D, requires_grad=True)
    output = stack(x)
    sent = torch.randn_like(output)
    (arrived,) = torch.autograd.grad(output, x, sent)
    return {
        "gradient": (arrived.norm() / sent.norm()).item(),
        "size": (output.norm() / x.norm()).item(),
        "alike": alike(output.detach()),
    }


def stack_of(make_layer, depth):
    torch.manual_seed(depth)
    return nn.Sequential(*[make_layer() for _ in range(depth)])


DEPTHS = (1, 2, 4, 8, 16)
plain = {depth: through(stack_of(lambda: Plain(False), depth)) for depth in (*DEPTHS, 32, 64)}
added = {depth: through(stack_of(lambda: Plain(True), depth)) for depth in DEPTHS}
for name, results in (("plain", plain), ("with the sum", added)):
    print(f"{name:13}", {depth: f"{row['gradient']:.0e}" for depth, row in results.items()})
claim("over 16 plain layers less than 1/1000 of the gradient is left", plain[16]["gradient"] < 1e-3)
claim("over 64, less than a millionth of a millionth", plain[64]["gradient"] < 1e-12)
claim("with the sum nothing fades", min(row["gradient"] for row in added.values()) > 1)
print(f"alike after 4 layers: plain {plain[4]['alike']:.3f}, with the sum {added[4]['alike']:.3f}")
claim(
    "the network does not keep tokens apart: all alike after 4 plain layers",
    plain[4]["alike"] > 0.999,
)
claim("the sum does", added[4]["alike"] < 0.95)

# %% [markdown]
# The sum is a **shortcut**, or **residual connection** (잔차 연결; He et al. 2016): $\partial(x + f(x))/\partial x = I + f'(x)$.
# Multiply this out over all layers, and one of the terms is $I$ alone: the gradient as it was sent, past every sub-layer, down
# to the bottom. And here is what was missing: a token stays itself, and is no longer a mixture only.
#
# You have met this before. The cell state of lesson 1's LSTM is a sum too, $c_t = f_t \odot c_{t-1} + i_t \odot g_t$: what was
# known, times the forget gate, plus what is new, times the input gate. With the forget gate open, the old memory goes on as it
# is: the same idea, along time instead of depth. *What arrives over 64 steps, in this LSTM and in a plain RNN?*

# %%
torch.manual_seed(0)
lstm, rnn = nn.LSTMCell(16, 16), nn.RNNCell(16, 16)
with torch.no_grad():
    lstm.bias_ih[16:32] = 20.0  # the forget gate: open
inputs = torch.randn(64, 1, 16)
memory = torch.randn(1, 16, requires_grad=True)
state, cell = torch.zeros(1, 16), memory
start = torch.randn(1, 16, requires_grad=True)
hidden = start
for step in inputs:
    state, cell = lstm(step, (state, cell))
    hidden = rnn(step, hidden)
sent = torch.ones(1, 16)
kept = {
    name: (torch.autograd.grad(end, begin, sent)[0].norm() / sent.norm()).item()
    for name, end, begin in (("LSTM cell state", cell, memory), ("plain RNN state", hidden, start))
}
print("gradient over 64 steps:", {name: f"{norm:.1e}" for name, norm in kept.items()})
claim(
    "along the cell state's sum more than 1/10 of the gradient arrives",
    kept["LSTM cell state"] > 0.1,
)
claim("through the plain RNN less than a millionth", kept["plain RNN state"] < 1e-6)

# %% [markdown]
# <!-- concept: L8-layernorm -->
# ## The sum grows
#
# Nothing fades with the sum; look at the other end of the scale. *Every layer adds something. Where does it stop?*

# %%
print("tokens have grown, times:", {depth: f"{row['size']:.1f}" for depth, row in added.items()})
print(
    "gradient has grown, times:", {depth: f"{row['gradient']:.1e}" for depth, row in added.items()}
)
claim("after 16 layers the tokens are more than 100 times as long", added[16]["size"] > 100)
claim("and the gradient more than 1000 times", added[16]["gradient"] > 1000)

# %% [markdown]
# So each token is brought back to a fixed scale: **layer norm** (층 정규화; Ba et al. 2016). Take a token's $D$ numbers, subtract
# their mean, divide by their standard deviation; then let two learned vectors of $D$ numbers choose scale and offset:
#
# $$\mathrm{LN}(x) = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta \qquad \mu = \frac1D\sum_i x_i \qquad \sigma^2 = \frac1D\sum_i (x_i - \mu)^2$$
#
# Mean $\mu$ and variance $\sigma^2$ are those of *one token over its features*; this $\sigma$ is a standard deviation, that of the
# network was an activation. $\epsilon$, a small number inside the root, keeps a token whose numbers are all equal from 0/0.
# $\gamma$ and $\beta$ are called `weight` and `bias` in torch; they begin at 1 and 0.


# %% exercise="layer_norm" role="answer"
def layer_norm(x, weight, bias, eps=1e-5):
    """(x - mean) / √(variance + eps) · weight + bias, each token over its own D features.

    x: (..., D). weight, bias: (D,), called γ and β. The variance is the biased one: divided by D. Returns (..., D).
    """
    ### BEGIN SOLUTION
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
    return centred / torch.sqrt(variance + eps) * weight + bias
    ### END SOLUTION


# %% exercise="layer_norm" role="check"
check("layer_norm")

# %% [markdown]
# Why over the features? **Batch norm**, the norm of image models, takes each feature's mean and variance over all tokens of the
# batch. But a token's result must not depend on who else happens to be there: on the sentence's length, on the rest of the
# batch, on the *future*. One token with one wild number shows it. *Which tokens will notice?*

# %%
my_layer_norm = mine("layer_norm")
torch.manual_seed(0)
tokens = torch.randn(5, 8)
wild = tokens.clone()
wild[3, 2] = 100.0
ones, zeros = torch.ones(8), torch.zeros(8)
batch_norm = nn.BatchNorm1d(8).train()
norms = {"layer norm": lambda x: my_layer_norm(x, ones, zeros), "batch norm": batch_norm}
moved = {name: (norm(wild) - norm(tokens)).abs().amax(-1).detach() for name, norm in norms.items()}
for name, change in moved.items():
    print(f"{name}: change of each token", [f"{value:.2f}" for value in change.tolist()])
others = torch.tensor([0, 1, 2, 4])
claim(
    "under layer norm the four other tokens do not notice", moved["layer norm"][others].max() == 0
)
claim("under batch norm all of them do", moved["batch norm"][others].min() > 1e-3)
print(
    "the wild token after layer norm:", [f"{v:.2f}" for v in norms["layer norm"](wild)[3].tolist()]
)
rest = norms["layer norm"](wild)[3][[0, 1, 3, 4, 5, 6, 7]]
claim(
    "in the wild token the outlier takes nearly everything: less than 1/4 between the seven others",
    rest.max() - rest.min() < 0.25,
)
claim(
    "torch's LayerNorm says the same",
    torch.allclose(nn.LayerNorm(8)(wild), norms["layer norm"](wild), atol=1e-5),
)

# %% [markdown]
# (In the wild token itself one number is so large that the others shrink to nearly the same small value: layer norm bounds a
# token, it does not repair it.)
#
# <!-- concept: L8-postpre -->
# ## Where does the norm stand?
#
# Two orders are in use:
#
# - **post-norm**, the paper's: $\mathrm{LN}(x + \mathrm{sublayer}(x))$. The norm stands *on* the shortcut: what is handed on is
#   always of one scale.
# - **pre-norm**, most models since GPT-2: $x + \mathrm{sublayer}(\mathrm{LN}(x))$. The shortcut stays bare, from bottom to top;
#   each sub-layer reads a normed copy. At the very top one more norm stands, since nothing else has normed the sum.
#
# One function for both orders; `sublayer` and `norm` are functions, which you call with a tensor.


# %% exercise="residual" role="answer"
def residual(x, sublayer, norm, norm_first=False):
    """The shortcut around a sub-layer: norm(x + sublayer(x)), or x + sublayer(norm(x)) with norm_first.

    x: (..., D). sublayer, norm: functions (..., D) -> (..., D). Returns (..., D).
    """
    ### BEGIN SOLUTION
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))
    ### END SOLUTION


# %% exercise="residual" role="check"
check("residual")

# %% [markdown]
# Now all three together, 64 layers deep, with your `residual`; and, for comparison, the norms without the sum. *Which of the
# stacks will let the gradient through? Which will keep the tokens apart?*


# %%
my_residual = mine("residual")


class Normed(nn.Module):
    """Attention, then the network, each with shortcut and norm."""

    def __init__(self, norm_first):
        super().__init__()
        self.norm_first = norm_first
        self.attention, self.network = MultiHeadAttention(D, H), FeedForward(D, 4 * D)
        self.norm_1, self.norm_2 = LayerNorm(D), LayerNorm(D)

    def forward(self, x):
        x = my_residual(x, lambda x: self.attention(x)[0], self.norm_1, self.norm_first)
        return my_residual(x, self.network, self.norm_2, self.norm_first)


class NormAlone(Normed):
    """The same without the sums."""

    def forward(self, x):
        return self.norm_2(self.network(self.norm_1(self.attention(x)[0])))


curves = {"plain": plain, "sum": added}
for name, make_layer in (
    ("norm, no sum", functools.partial(NormAlone, False)),
    ("sum, post-norm", functools.partial(Normed, False)),
    ("sum, pre-norm", functools.partial(Normed, True)),
):
    curves[name] = {depth: through(stack_of(make_layer, depth)) for depth in (*DEPTHS, 32, 64)}
with style():
    figure, axes = panels(2, width=3.8, height=3.0)
    for axis, what, label in zip(
        axes,
        ("gradient", "size"),
        ("gradient, bottom / top", "tokens' length, top / bottom"),
        strict=True,
    ):
        for (name, results), marker in zip(curves.items(), "ovD^s", strict=True):
            values = [max(row[what], 1e-18) for row in results.values()]
            axis.plot(list(results), values, marker=marker, label=name)
        axis.set(xscale="log", yscale="log", xlabel="layers", ylabel="ratio", title=label)
        axis.set_xticks([1, 4, 16, 64], ["1", "4", "16", "64"])
    axes[1].legend()
show(figure, "Plain: all fades. Sum alone: all explodes. With a norm both stay within sight of 1.")
normed = ("norm, no sum", "sum, post-norm", "sum, pre-norm")
for name in normed:
    print(f"{name:14} gradient", {d: f"{row['gradient']:.2f}" for d, row in curves[name].items()})
for name in normed:
    print(f"{name:14} alike   ", {d: f"{row['alike']:.3f}" for d, row in curves[name].items()})
deep = [curves[name][64]["gradient"] for name in normed]
claim(
    "with norms the gradient at 64 layers is between 1/1000 and 100 times what was sent",
    0.001 < min(deep) and max(deep) < 100,
)
claim(
    "but without the sum all tokens are alike after four layers",
    curves["norm, no sum"][4]["alike"] > 0.999,
)
claim(
    "with it they are not, in either order",
    max(curves[name][4]["alike"] for name in normed[1:]) < 0.95,
)
claim(
    "after 64 fresh layers they are in post-norm, and still not in pre-norm",
    curves["sum, post-norm"][64]["alike"] > 0.99 > curves["sum, pre-norm"][64]["alike"],
)
claim(
    "in post-norm the tokens keep their length", abs(curves["sum, post-norm"][64]["size"] - 1) < 0.1
)
claim(
    "in pre-norm they grow, but slowly: less than 20 times",
    curves["sum, pre-norm"][64]["size"] < 20,
)

# %% [markdown]
# So the norm alone would mend the gradient's size, and the sum alone keeps the tokens apart; it takes both. A gradient of
# the right size is of little use where all tokens are the same vector. (Deep in a post-norm stack even the sum does not keep
# fresh tokens apart for ever: each norm on the shortcut makes the share of what came before smaller. Pre-norm's bare shortcut
# does better. All this is about fresh weights; training moves them.)
#
# ## The block
#
# <!-- concept: L8-roles -->
# | part | what it does | in a word |
# | --- | --- | --- |
# | attention | mixes tokens: each fetches what it needs from the others | talk |
# | feed-forward | bends each token alone: works out what was fetched | think |
# | shortcut | hands the token on unchanged, and the gradient back | remember |
# | layer norm | brings each token back to one scale | calm down |
#
# An encoder block is two of these sums: self-attention, then feed-forward, each with a norm **of its own**. In self-attention
# one tensor is query, key and value. All parts come in as functions, so that your block can be put together from yours or from
# torch's; and `residual` wants a sub-layer of *one* argument, so a `lambda x: ...` has to bring the mask along, as above.


# %% exercise="encoder_block" role="answer"
def encoder_block(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    """Self-attention, then feed-forward, each inside its `residual`.

    x: (B, S, D). mask: bool, broadcastable to (B, S, S), True = may attend. self_attention: function (query, key, value,
    mask) -> (B, S, D). feed_forward, norm_1, norm_2: functions (B, S, D) -> (B, S, D). Returns (B, S, D).
    """
    ### BEGIN SOLUTION
    x = residual(x, lambda x: self_attention(x, x, x, mask), norm_1, norm_first)
    return residual(x, feed_forward, norm_2, norm_first)
    ### END SOLUTION


# %% exercise="encoder_block" role="check"
check("encoder_block")

# %% [markdown]
# ### With your own: equal to torch's
#
# torch has the same block, `nn.TransformerEncoderLayer`. Take its weights, put them into *your* functions from lessons 6 and
# 8, and compare the outputs. (torch's mask for padding means the opposite: True = ignore.)

# %% tags=["nbval-ignore-output"]
my_block = mine("encoder_block")
MyAttention = mine("MultiHeadAttention")
largest = {}
for norm_first in (False, True):
    torch.manual_seed(1)
    theirs = nn.TransformerEncoderLayer(
        16, 4, 32, dropout=0.0, batch_first=True, norm_first=norm_first
    ).double()
    for weight in theirs.parameters():
        nn.init.normal_(
            weight, std=0.5
        )  # fresh norms and biases are 1 and 0, and would hide a mix-up
    my_attention = MyAttention(16, 4).double()
    projections = dict(
        zip(
            ("W_Q", "W_K", "W_V"),
            zip(
                theirs.self_attn.in_proj_weight.chunk(3),
                theirs.self_attn.in_proj_bias.chunk(3),
                strict=True,
            ),
            strict=True,
        )
    )
    projections["W_O"] = theirs.self_attn.out_proj.weight, theirs.self_attn.out_proj.bias
    my_attention.load_state_dict(
        {
            f"{name}.{kind}": tensor
            for name, pair in projections.items()
            for kind, tensor in zip(("weight", "bias"), pair, strict=True)
        }
    )

    def my_network(x, theirs=theirs):
        return my_feed_forward(
            x,
            theirs.linear1.weight.mT,
            theirs.linear1.bias,
            theirs.linear2.weight.mT,
            theirs.linear2.bias,
        )

    my_norms = [
        functools.partial(my_layer_norm, weight=norm.weight, bias=norm.bias)
        for norm in (theirs.norm1, theirs.norm2)
    ]
    sentences = torch.randn(2, 6, 16, dtype=torch.float64)
    real = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    with torch.no_grad():
        ours = my_block(
            sentences, real.unsqueeze(1), my_attention, my_network, *my_norms, norm_first
        )
        expected = theirs(sentences, src_key_padding_mask=~real)
    order = "pre-norm" if norm_first else "post-norm"
    largest[order] = (ours - expected)[real].abs().max().item()
print("largest difference to torch's block:", {k: f"{v:.0e}" for k, v in largest.items()})
claim("your block is torch's, in both orders, to ten digits", max(largest.values()) < 1e-10)

# %% [markdown]
# ### X-ray
#
# A sentence, here of random vectors, walks through a stack of six fresh blocks. Switch parts off, and watch three things: the
# length of the tokens, how alike they become, and what gradient arrives below. *Find the part without which all tokens become
# the same, the one without which they grow from block to block, and the one without which a token never hears of the others.*

# %% tags=["explore"]
from course_lib.explore.block_xray import block_xray

torch.manual_seed(0)
stack = Encoder(32, 4, 64, 6)
sentence = "나 는 어제 도서관 에서 책 을 읽었다".split()
block_xray(stack.blocks, torch.randn(1, len(sentence), 32), sentence)

# %% [markdown]
# ## Post, pre, and warming up
#
# The paper's model is post-norm, and it is trained with a **warm-up** (워밍업): the learning rate starts near zero and rises for some
# thousand steps. Is that needed? A task: say a string of 12 letters, out of 16, backwards; who guesses has a loss of
# $\ln 16 = 2.77$. Six blocks, both orders, 1000 steps; the rate is 0.005, reached over the first 300 steps or there from the
# first one; four seeds each, made by `python3 course.py experiment warmup`. *Which of the four will not learn?*

# %%
grid = warmup.load_warmup()
with style():
    figure, (axis,) = panels(width=6.2)
    for row, line in zip(grid["spread"], ("--", "-", "--", "-"), strict=True):
        label = f"{row['order']}-norm, {'warm-up' if row['warmup'] else 'no warm-up'}"
        axis.plot(grid["places"], row["mean"], line, label=label)
        axis.fill_between(grid["places"], row["lowest"], row["highest"], alpha=0.2)
    axis.set(xlabel="step", ylabel="loss", ylim=(0, None))
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
show(
    figure,
    "Pre-norm learns early either way; post-norm at this rate with the warm-up alone, and late.",
)
curves_at_end = {
    (row["order"], row["warmup"] > 0): (row["lowest"][-1], row["highest"][-1])
    for row in grid["spread"]
}
for (order, warm), (lowest, highest) in curves_at_end.items():
    print(
        f"{order}-norm, {'warm-up' if warm else 'none':7}: loss {lowest:.2f} to {highest:.2f} at the end"
    )
claim(
    "post-norm without warm-up has not learned it in 1000 steps, with any of four seeds",
    curves_at_end["post", False][0] > 1.5,
)
claim("with the warm-up it has, with every seed", curves_at_end["post", True][1] < 0.2)
halfway = [row["highest"][9] for row in grid["spread"] if row["order"] == "pre"]
claim("pre-norm has learned it by step 500, with and without", max(halfway) < 0.1)

# %% [markdown]
# Why? One explanation looks at the first step (Xiong et al. 2020). Directly after initialisation the gradient of the *last*
# block's weights is as large in a deep post-norm stack as in a shallow one; in a pre-norm stack it shrinks with depth, since the
# block is one of many that add to one sum. At the full rate such gradients move the upper blocks far, before anything has been
# learned. *Stacks of 2, 6 and 18 fresh blocks: what should the two rows of numbers do?*


# %%
def last_block_gradient(norm_first, depth, seed):
    """Norm of the loss's gradient for the last block's W_2, before the first update."""
    model = warmup.make_model("pre" if norm_first else "post", seed, depth=depth)
    loss = warmup.reversal_loss(model, next(warmup.make_batches(seed)))
    (gradient,) = torch.autograd.grad(loss, model.encoder.blocks[-1].feed_forward.W_2.weight)
    return gradient.norm().item()


first_step = {
    name: {
        depth: sum(last_block_gradient(norm_first, depth, seed) for seed in range(5)) / 5
        for depth in (2, 6, 18)
    }
    for name, norm_first in (("post", False), ("pre", True))
}
for name, row in first_step.items():
    print(f"{name}-norm:", {depth: f"{norm:.3f}" for depth, norm in row.items()})
claim(
    "post-norm: at depth 18 the gradient is no smaller than at depth 2",
    first_step["post"][18] > first_step["post"][2],
)
claim(
    "pre-norm: it is smaller by a fifth at least",
    first_step["pre"][18] < 0.8 * first_step["pre"][2],
)

# %% [markdown]
# It is an explanation and no proof: Adam divides each gradient by its usual size, so that size alone does not decide. And "not
# learned" means within 1000 steps: the four curves of post-norm without a warm-up are still falling.
#
# One point of each order, made again here, without a warm-up. *Afterwards write `warmup.RATE = 0.002` above the loop and run
# the cell once more. Is it post-norm that needs a warm-up, or post-norm at a high rate?* (The claims are about 0.005.)

# %% tags=["experiment"]
again = {}
for order in ("post", "pre"):
    again[order] = warmup.run_point(order, 0, seed=0, device=device, progress=True)
    print(
        f"{order}-norm without warm-up: loss {again[order]['losses'][-1]:.2f} after {again[order]['steps']} steps"
    )
claim("made again, post-norm without warm-up has not learned it", again["post"]["losses"][-1] > 0.5)
claim("pre-norm has", again["pre"]["losses"][-1] < 0.1)

# %% [markdown]
# Post-norm is not worse for it: the paper's own models were trained so, with care, and where both converge it is often reported
# as the better one (Liu et al. 2020). Pre-norm is the more forgiving. Lesson 9 has the paper's schedule.
#
# ## Bug hunt: the norm that never learned
#
# A colleague wrote a block "by the book". Loaded with fresh weights it equals yours, number for number. It learns the task as well.
# Then somebody loads the weights of *your* trained block into it, and the output is wrong. *What can be right before training
# and wrong after it? Look at what training changed.*


# %% tags=["experiment"]
class ColleaguesBlock(EncoderBlock):
    def forward(self, x, *, mask=None, need_weights=False):
        norm = self.around_self_attention.norm
        output, weights = self.self_attention(norm(x), mask=mask, need_weights=need_weights)
        x = x + output
        return x + self.feed_forward(norm(x)), weights


candidates = {}
for name, cls in (("suspect", ColleaguesBlock), ("yours", EncoderBlock)):
    model = warmup.make_model("pre", seed=0, depth=2)
    blocks = [
        cls(warmup.D_MODEL, warmup.NUM_HEADS, warmup.D_FF, norm_first=True)
        for _ in model.encoder.blocks
    ]
    for block, fresh in zip(blocks, model.encoder.blocks, strict=True):
        block.load_state_dict(fresh.state_dict())
    model.encoder.blocks = nn.ModuleList(blocks)
    candidates[name] = model.to(device)
strings = next(warmup.make_batches(7)).to(device)
with torch.no_grad():
    fresh = [model(strings) for model in candidates.values()]
claim("before training the two say the same", torch.allclose(*fresh, atol=1e-6))
for name, model in candidates.items():
    history = fit(
        model, warmup.make_batches(0), warmup.reversal_loss, steps=300, lr=0.003, curve=False
    )
    end = sum(history.losses[-20:]) / 20
    print(f"{name:8} loss at the end {end:.3f}")
    claim(f"the block of {name} learns the task", end < 0.2)

# %% tags=["experiment"]
trained = {name: model.encoder.blocks[0] for name, model in candidates.items()}
for name, block in trained.items():
    print(name)
    for part in ("around_self_attention.norm", "around_feed_forward.norm"):
        weight = block.get_parameter(f"{part}.weight")
        print(f"   {part:27} moved by {(weight - 1).abs().max().item():.3f}")
swapped = ColleaguesBlock(warmup.D_MODEL, warmup.NUM_HEADS, warmup.D_FF, norm_first=True).to(device)
swapped.load_state_dict(trained["yours"].state_dict())
with torch.no_grad():
    x = torch.randn(2, 5, warmup.D_MODEL, device=device)
    apart = (swapped(x)[0] - trained["yours"](x)[0]).abs().max().item()
print(f"your weights in the suspect's block: outputs apart by {apart:.2f}")
still = trained["suspect"].around_feed_forward.norm.weight
claim("in the suspect the second norm never moved", (still == 1).all())
yours = trained["yours"]
own = (yours.around_self_attention.norm.weight, yours.around_feed_forward.norm.weight)
claim("in yours both did", all((weight != 1).any() for weight in own))
claim("with your weights the suspect says something else", apart > 0.01)

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# One norm serves both parts; the second one stands in the block, is never called, gets no gradient, and stays at 1 and 0. As long as all norms are fresh
# they are the same function, so no comparison at the start can tell. Tests: give every norm random weights before you
# compare; and after one backward pass ask every parameter for its gradient.
#
# </details>
#
# ## In short
#
# | without it | what happens | measured here |
# | --- | --- | --- |
# | feed-forward | nothing bends what attention mixes | values added give outputs added |
# | shortcut | tokens become one; without norms the gradient fades, too | alike after four layers; less than 1/1000 of the gradient after 16 |
# | layer norm | the sum explodes | tokens more than 100 times longer after 16 layers |
# | attention | nobody hears anybody | feed-forward's Jacobian: the diagonal alone |
# | warm-up (post-norm, high rate) | the task is not learned | loss above 1.5 after 1000 steps |
#
# ## What you should want now
#
# You have the encoder's block. A translator also needs a side that writes: it may not see the future, and it must look at what was read. Lesson 9
# adds one more attention to the block, stacks both sides, and trains the whole.
#
# **Further reading.** He et al. (2016), *Deep residual learning for image recognition*. Ba, Kiros and Hinton (2016), *Layer
# normalization*. Vaswani et al. (2017), sections 3.1 and 3.3. Xiong et al. (2020), *On layer normalization in the Transformer
# architecture*. Liu et al. (2020), *Understanding the difficulty of training Transformers*. Dong, Cordonnier and Loukas (2021),
# *Attention is not all you need: pure attention loses rank doubly exponentially with depth*. Geva et al. (2021), *Transformer feed-forward layers are key-value memories*.

# %% tags=["nbval-ignore-output"]
progress()
