# ---
# jupyter:
#   course:
#     title: Multi-head attention
#     question: Why ask several questions at once?
#     outcomes:
#     - split a model's width into heads and put it together again without mixing up the tokens
#     - write multi-head attention as a function and as a module, and load torch's weights into it
#     - measure what one head cannot do, and when more heads stop helping
#     - switch the heads of a trained model off one by one, and say how far they can be read
#     minutes: 70
#     prerequisites: [lesson 5]
#     exercises: [split_heads, merge_heads, multi_head_attention, MultiHeadAttention]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 6 · Multi-head attention
#
# **Why ask several questions at once?** · 70 minutes
#
# In lesson 5 a word asked one question: one table of weights for everything it wanted to know. Here it asks several, each
# with a query, keys and values of its own, and not one multiplication more.

# %% tags=["setup"]
import torch
from course_lib import check, hint, mine, pick_device, progress, solution
from course_lib.attention import scaled_dot_product_attention
from course_lib.claims import claim
from course_lib.figures import panels, show, style
from course_lib.masks import causal_mask, to_hidden
from course_lib.multi_head_attention import MultiHeadAttention as LibraryAttention
from course_lib.training import fit
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# <!-- concept: L6-yardstick -->
# ## One yardstick
#
# Self-attention compares *all* pairs of words, but with one yardstick: one $W_Q$, one $W_K$, one table of weights.
#
# <!-- concept: L6-relations -->
# A sentence has many relations at once. In 고양이가 어제 강아지에게 공을 주었다 the verb needs to know **who** gave
# (고양이가), **to whom** (강아지에게), **what** (공을) and **when** (어제): particles mark three of them, the fourth
# stands bare. With one table the verb must share out one whole among the four, and what it gets is their mean.
#
# *What gets lost in a mean?* Two words, weighed half and half; their values are added, and the sum is the same whichever
# came from where:

# %%
torch.manual_seed(0)
cat, dog = torch.randn(4), torch.randn(4)
who_cat = 0.5 * cat + 0.5 * dog  # the first slot asked for the giver, the second for the receiver
who_dog = 0.5 * dog + 0.5 * cat
claim("a mean does not tell who gave to whom", torch.allclose(who_cat, who_dog))

# %% [markdown]
# ### Four questions
#
# A task that needs several relations at once. A string of 24 random letters; at *every* position four questions must be
# answered: which letter stands **first**, which **before** me, which **two before**, which **after**? (Around the edge the
# string goes on at the other end.) One layer of attention, 16 numbers wide, and a linear layer that reads the answers off.
# Positions are a learned vector each; lesson 7 explains them.

# %%
LENGTH, LETTERS, QUESTIONS = 24, 12, ("first", "before", "two before", "after")


def make_strings(generator, count=64):
    """Letters (B, N), and the four answers at each position (B, N, 4)."""
    x = torch.randint(0, LETTERS, (count, LENGTH), generator=generator)
    answers = [x[:, :1].expand(-1, LENGTH), x.roll(1, 1), x.roll(2, 1), x.roll(-1, 1)]
    return x, torch.stack(answers, dim=-1)


class FourQuestions(nn.Module):
    """Letters and places in, four answers at each place out; attention in between, nothing else."""

    def __init__(self, num_heads, d_model=16):
        super().__init__()
        self.letter, self.place = nn.Embedding(LETTERS, d_model), nn.Embedding(LENGTH, d_model)
        self.attention = LibraryAttention(d_model, num_heads, bias=False)
        self.answer = nn.Linear(d_model, len(QUESTIONS) * LETTERS)

    def forward(self, x, need_weights=False):
        output, weights = self.attention(
            self.letter(x) + self.place.weight, need_weights=need_weights
        )
        logits = self.answer(output).unflatten(-1, (len(QUESTIONS), LETTERS))  # (B, N, 4, LETTERS)
        return (logits, weights) if need_weights else logits


def string_batches(seed):
    generator = torch.Generator().manual_seed(seed)
    while True:
        x, answers = make_strings(generator)
        yield x.to(device), answers.to(device)


def question_loss(model, batch):
    x, answers = batch
    return functional.cross_entropy(model(x).flatten(0, -2), answers.flatten())


@torch.no_grad()
def right_by_question(model):
    """Share of right answers to each question, on 500 new strings."""
    x, answers = make_strings(torch.Generator().manual_seed(99), 500)
    return (model(x.to(device)).argmax(-1).cpu() == answers).float().mean((0, 1))


def train(num_heads, seed=0, steps=400):
    torch.manual_seed(seed)
    model = FourQuestions(num_heads).to(device)
    fit(model, string_batches(seed), question_loss, steps=steps, lr=0.01, curve=False)
    return model


# %% tags=["experiment"]
one_head = train(num_heads=1)
alone = right_by_question(one_head)
print({name: f"{share:.0%}" for name, share in zip(QUESTIONS, alone.tolist(), strict=True)})
claim("one head answers fewer than 3 in 5 of all questions", alone.mean() < 0.6)
claim(
    "one question is answered, the others are hardly",
    alone.max() > 0.8 > 0.5 > alone.sort().values[-2],
)

# %% [markdown]
# Guessing would be right once in twelve. One table of weights serves one question well; the rest goes under.
#
# <!-- concept: L6-heads -->
# ## Several attentions, side by side
#
# **Multi-head attention** (멀티헤드 어텐션) runs H attentions at once, each in a space of its own, of width
# $d_k = D / H$ (Vaswani et al. 2017):
#
# $$\mathrm{head}_i = \mathrm{Attention}(Q W_i^Q,\; K W_i^K,\; V W_i^V)$$
#
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_H)\, W^O$$
#
# <!-- concept: L6-projection -->
# The paper's model is 512 wide and has 8 heads of 64. That is a *projection* of all 512 numbers down to 64, eight different
# ones; not a slice of the vector. Every head sees the whole word. In practice the eight matrices (512, 64) stand side by
# side in one matrix (512, 512), and head h gets the h-th block of columns of the product. *Project first, then cut.*


# %% exercise="split_heads" role="answer"
def split_heads(x, num_heads):
    """(B, N, D) to (B, H, N, D/H): head h gets the h-th block of D/H numbers of every token."""
    ### BEGIN SOLUTION
    B, N, D = x.shape
    return x.reshape(B, N, num_heads, D // num_heads).transpose(1, 2)  # (B, H, N, D/H)
    ### END SOLUTION


# %% exercise="split_heads" role="check"
check("split_heads")

# %% [markdown]
# Why the `transpose`? `x.view(B, H, N, D/H)` has the right shape at once, and is wrong: it reads the numbers in the order
# in which they lie in memory, token by token, and cuts *them* into H pieces. Look at where the numbers of two tokens of
# width 4 go, with two heads. *Which table has one token in each row?*

# %% tags=["nbval-ignore-output"]
my_split = mine("split_heads")
x = torch.tensor(
    [[[10, 11, 12, 13], [20, 21, 22, 23], [30, 31, 32, 33], [40, 41, 42, 43]]]
)  # tokens 1 to 4
cut, viewed = my_split(x, 2), x.view(1, 2, 4, 2)
with style():
    figure, axes = panels(4, width=1.7, height=2.4)
    for axis, table, title in zip(
        axes,
        (*cut[0], *viewed[0]),
        ("yours, head 1", "yours, head 2", "view, head 1", "view, head 2"),
        strict=True,
    ):
        axis.imshow(table // 10, vmin=0, vmax=5)
        for i, row in enumerate(table.tolist()):
            for j, number in enumerate(row):
                axis.text(
                    j,
                    i,
                    number,
                    ha="center",
                    va="center",
                    color="white" if number < 35 else "black",
                )
        axis.grid(False)
        axis.set(
            title=title, xticks=[], yticks=range(4), yticklabels=[f"row {i + 1}" for i in range(4)]
        )
show(
    figure,
    "Cut rightly, row i holds token i in both heads; viewed, head 1 holds tokens 1 and 2 alone.",
)
claim("in your heads row i comes from token i", (cut[0] // 10 == torch.arange(1, 5)[:, None]).all())
claim("a view fills head 1 with the first two tokens", (viewed[0, 0] // 10 <= 2).all())

# %% [markdown]
# <!-- concept: L6-concat -->
# And back: the heads of each token side by side, then the **output projection** (출력 투영) $W^O$. Concat alone would leave
# every head in its own place for ever; $W^O$, of shape (D_V, D_out), decides how what the heads found is mixed.


# %% exercise="merge_heads" role="answer"
def merge_heads(x):
    """(B, H, N, d) to (B, N, H·d): the heads of each token side by side, the inverse of split_heads."""
    ### BEGIN SOLUTION
    B, H, N, d = x.shape
    return x.transpose(1, 2).reshape(B, N, H * d)
    ### END SOLUTION


# %% exercise="merge_heads" role="check"
check("merge_heads")

# %% [markdown]
# The rest is lesson 5: attention does not care how many axes stand in front. One thing to mind is the mask. It says which
# *word* may see which, for all heads alike; its batch axis must not line up with the heads by accident, so put the head
# axis in yourself: `mask.unsqueeze(-3)`.

# %% tags=["nbval-ignore-output"]
masked_attention = mine("masked_attention")


# %% exercise="multi_head_attention" role="answer"
def multi_head_attention(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    """Concat(head_1, ..., head_H) W_O, each head attending in D/H numbers of its own.

    X: (B, T, D), asks. memory: (B, S, D), is asked (X itself in self-attention). W_Q, W_K, W_V: (D, D), block h of their
    columns is head h. W_O: (D, D_out). mask: bool, True = may attend, broadcastable to (B, T, S), the same for all heads.
    Returns output (B, T, D_out), weights (B, H, T, S).
    """
    ### BEGIN SOLUTION
    query = split_heads(X @ W_Q, num_heads)
    key = split_heads(memory @ W_K, num_heads)
    value = split_heads(memory @ W_V, num_heads)
    output, weights = masked_attention(query, key, value, mask.unsqueeze(-3))
    return merge_heads(output) @ W_O, weights
    ### END SOLUTION


# %% exercise="multi_head_attention" role="check"
check("multi_head_attention")

# %% [markdown]
# <!-- concept: L6-cost -->
# ## What do eight heads cost?
#
# Each of H heads works in $D/H$ numbers: the scores take $H \cdot N^2 \cdot D/H = N^2 D$ multiplications, whatever H is.
# Count them, with torch's own counter. *And the weights: are there more of them with more heads?*

# %% tags=["nbval-ignore-output"]
my_multi_head = mine("multi_head_attention")
X = torch.randn(2, 10, 64)
matrices = [torch.randn(64, 64) / 8 for _ in range(4)]
everything = torch.ones(1, 1, dtype=torch.bool)
counted, held = {}, {}
for num_heads in (1, 2, 8, 16):
    with FlopCounterMode(display=False) as counter:
        output, weights = my_multi_head(X, X, *matrices, num_heads, everything)
    counted[num_heads], held[num_heads] = counter.get_total_flops(), weights.numel()
    print(
        f"{num_heads:2} heads: {counted[num_heads]:,} operations, {held[num_heads]:,} weights, out {tuple(output.shape)}"
    )
claim("the count is the same for every number of heads", len(set(counted.values())) == 1)
claim("the weights that are held grow with the heads", held[16] == 16 * held[1])

# %% [markdown]
# <!-- concept: L6-stack -->
# In and out are equally wide. So layers **stack**: what one layer found, the next can ask about. The paper stacks six.

# %% tags=["nbval-ignore-output"]
deep = X
for _ in range(6):
    deep, _ = my_multi_head(deep, deep, *matrices, 8, everything)
claim("six layers deep, the shape is that of the input", deep.shape == X.shape)

# %% [markdown]
# ## As a module
#
# A module holds the four matrices. Here each is a linear layer with bias, by the names `W_Q`, `W_K`, `W_V`, `W_O`, so that
# weights can be loaded into it.


# %% exercise="MultiHeadAttention" role="answer"
class MultiHeadAttention(nn.Module):
    """Several heads with learned projections W_Q, W_K, W_V, W_O, each a linear layer with bias."""

    def __init__(self, d_model, num_heads):
        ### BEGIN SOLUTION
        super().__init__()
        self.num_heads = num_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model) for _ in range(4))
        ### END SOLUTION

    def forward(self, query, key, value, mask):
        """query: (B, T, D). key, value: (B, S, D). mask: bool, broadcastable to (B, T, S). Returns (B, T, D)."""
        ### BEGIN SOLUTION
        query = split_heads(self.W_Q(query), self.num_heads)
        key = split_heads(self.W_K(key), self.num_heads)
        value = split_heads(self.W_V(value), self.num_heads)
        output, _ = masked_attention(query, key, value, mask.unsqueeze(-3))
        return self.W_O(merge_heads(output))
        ### END SOLUTION


# %% exercise="MultiHeadAttention" role="check"
check("MultiHeadAttention")

# %% [markdown]
# ### The same as torch's
#
# torch has `nn.MultiheadAttention`. It keeps the three projections in one matrix (3D, D), and its boolean mask says True
# where *ours* says False. Load its weights into your module: the two must agree to the last digits.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
theirs = nn.MultiheadAttention(16, 4, batch_first=True)
own = mine("MultiHeadAttention")(16, 4)
W_Q, W_K, W_V = theirs.in_proj_weight.chunk(3)
b_Q, b_K, b_V = theirs.in_proj_bias.chunk(3)
own.load_state_dict(
    {
        "W_Q.weight": W_Q,
        "W_Q.bias": b_Q,
        "W_K.weight": W_K,
        "W_K.bias": b_K,
        "W_V.weight": W_V,
        "W_V.bias": b_V,
        "W_O.weight": theirs.out_proj.weight,
        "W_O.bias": theirs.out_proj.bias,
    }
)
X, mask = torch.randn(3, 5, 16), causal_mask(5)
yours = own(X, X, X, mask)
torchs, _ = theirs(X, X, X, attn_mask=to_hidden(mask))
claim(
    "your module with torch's weights gives torch's output",
    torch.allclose(yours, torchs, atol=1e-5),
)

library = LibraryAttention.from_torch(theirs)
claim("so does the library's", torch.allclose(library(X, mask=mask)[0], torchs, atol=1e-5))
back, _ = library.to_torch()(X, X, X, attn_mask=to_hidden(mask))
claim("and back into torch again", torch.allclose(back, torchs, atol=1e-5))

# %% [markdown]
# <!-- concept: L6-more -->
# ## How many heads?
#
# The four questions once more, at the same width of 16, with 1 to 16 heads. *Guess the curve. Is more better?*

# %% tags=["experiment"]
counts = (1, 2, 4, 8, 16)
models = {1: one_head} | {num_heads: train(num_heads) for num_heads in counts[1:]}
right = {num_heads: right_by_question(model) for num_heads, model in models.items()}
with style():
    figure, (axis,) = panels(width=4.4)
    axis.plot(range(len(counts)), [right[num_heads].mean() for num_heads in counts], marker="o")
    axis.set_xticks(range(len(counts)), [f"{n} × {16 // n}" for n in counts])
    axis.set(xlabel="heads × width of one", ylabel="answers right", ylim=(0, 1.03))
show(figure, "Right answers rise to a peak in the middle and fall again.")
print({num_heads: f"{share.mean():.0%}" for num_heads, share in right.items()})
middle = max(right[4].mean(), right[8].mean())
claim("one head answers fewer than 3 in 5", right[1].mean() < 0.6)
claim("sixteen heads, one number wide each, too", right[16].mean() < 0.6)
claim(
    "the best number lies between, more than 15 points ahead of both",
    middle > max(right[1].mean(), right[16].mean()) + 0.15,
)

# %% [markdown]
# More heads are not better by themselves. A head of one number can hardly tell 24 places apart: it has room for one
# feature. With this seed four heads of four numbers do best; hold that thought until you have seen other seeds. Real models
# take heads of 64 or 128 numbers and add heads as they add width.
#
# <!-- concept: L6-reading -->
# ## Can heads be read?
#
# Nobody told the four heads which question is theirs. Look at their tables, for one string. Then switch each head off, by
# setting its output to 0, and see which answers suffer. *Will each head own one question?*

# %% tags=["experiment"]
trained = models[4]
x, _ = make_strings(torch.Generator().manual_seed(5), 1)
with torch.no_grad():
    _, weights = trained(x.to(device), need_weights=True)  # (1, H, N, N)
with style():
    figure, axes = panels(4, width=2.2, height=2.5)
    for h, axis in enumerate(axes):
        axis.imshow(weights[0, h].cpu(), vmin=0, vmax=1)
        axis.grid(False)
        axis.set(title=f"head {h + 1}", xlabel="key", xticks=[0, 12, 23], yticks=[0, 12, 23])
    axes[0].set_ylabel("query")
show(
    figure,
    "The heads look at different places: diagonals beside the main one, and the first column.",
)


def without_head(model, h):
    """Right answers when head h adds nothing: the output projection reads zeros for it."""
    W_o = model.attention.W_o.weight  # (D, H · Dh): the columns of a head read its numbers
    d_head = W_o.shape[1] // model.attention.num_heads
    kept = W_o.detach().clone()
    try:
        with torch.no_grad():
            W_o[:, h * d_head : (h + 1) * d_head] = 0
        return right_by_question(model)
    finally:
        with torch.no_grad():
            W_o.copy_(kept)


all_on = right_by_question(trained)
switched_off = torch.stack([without_head(trained, h) for h in range(4)])  # (H, questions)
print("            ", "  ".join(f"{name:>10}" for name in QUESTIONS))
print("all heads on", "  ".join(f"{share:10.0%}" for share in all_on.tolist()))
for h, shares in enumerate(switched_off.tolist()):
    print(f"head {h + 1} off  ", "  ".join(f"{share:10.0%}" for share in shares))
lost = all_on - switched_off
claim("some head is needed: without it an answer loses more than half", lost.max() > 0.5)
claim("and leaves another answer as it was", (lost.max(1).values - lost.min(1).values).max() > 0.4)

# %% [markdown]
# Nobody told the heads which question is theirs: heads **specialise by learning**, not by decree. One seed is one story. Two
# more, with four heads (헤드) each. *Will they be as tidy?*

# %% tags=["experiment"]
by_seed = {0: trained} | {seed: train(4, seed) for seed in (1, 2)}
shares, largest_loss = {}, {}
for seed, model in by_seed.items():
    on = right_by_question(model)
    lost_by_head = torch.stack([on - without_head(model, h) for h in range(4)]).max(1).values
    shares[seed], largest_loss[seed] = on.mean().item(), lost_by_head.tolist()
    print(
        f"seed {seed}: {shares[seed]:.0%} right; switching a head off costs a question at most",
        ", ".join(f"{loss:.0%}" for loss in largest_loss[seed]),
    )
claim(
    "the best and the worst of three seeds are more than 10 points apart",
    max(shares.values()) - min(shares.values()) > 0.1,
)
claim(
    "in one of them there is a head that costs no question a fifth of its answers",
    min(min(losses) for losses in largest_loss.values()) < 0.2,
)

# %% [markdown]
# So neither "four is the best number" nor "each head owns a question" is a law; both were one seed's. In large models some
# heads can be named (one that looks at the word before, one at commas), most cannot, and many can be switched off without
# harm (Michel et al. 2019; Voita et al. 2019). A table says where a head *looked*. What it took from there, and whether it
# mattered, it does not say. Switching off is the better question.
#
# ### All heads at a glance
#
# Open a head, compare two, and switch heads off: the numbers come from the model in this kernel.

# %% tags=["explore"]
from course_lib.explore.head_grid import head_grid

text = ["abcdefghijkl"[letter] for letter in x[0].tolist()]
head_grid(
    weights,
    text,
    ablate=lambda layer, head: (all_on.mean() - without_head(trained, head).mean()).item(),
)

# %% [markdown]
# ## Bug hunt: it can copy
#
# A colleague wrote the heads "more simply", tested the module by letting it learn to copy a string, got 100 %, and shipped
# it inside a language model. Users say that it forgets. *Copying works. What does not? Lesson 5 has the tool.*


# %% tags=["experiment"]
class ColleaguesAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.heads = num_heads
        self.projections = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(3))
        self.mix = nn.Linear(d_model, d_model)

    def forward(self, query, mask):
        B, N, D = query.shape
        parts = [project(query).view(B, self.heads, N, -1) for project in self.projections]
        output, _ = scaled_dot_product_attention(*parts, mask=mask)
        return self.mix(output.reshape(B, N, D))


class Honest(LibraryAttention):
    def forward(self, query, mask):
        return super().forward(query, mask=mask)[0]


class Reader(nn.Module):
    """Letters in, one answer at each place out, under a causal mask."""

    def __init__(self, attend):
        super().__init__()
        self.letter, self.place = nn.Embedding(LETTERS, 16), nn.Embedding(LENGTH, 16)
        self.attend, self.answer = attend, nn.Linear(16, LETTERS)

    def forward(self, x):
        embedded = self.letter(x) + self.place.weight
        return self.answer(
            embedded + self.attend(embedded, mask=causal_mask(LENGTH, device=x.device))
        )


tasks = {"copy": lambda x: x, "first letter": lambda x: x[:, :1].expand_as(x)}
readers, right_answers = {}, {}
for name, attend in (("suspect", ColleaguesAttention), ("yours", Honest)):
    for task, answer_to in tasks.items():
        torch.manual_seed(0)
        reader = readers[name, task] = Reader(attend(16, 4)).to(device)

        def reader_loss(model, batch, answer_to=answer_to):
            return functional.cross_entropy(
                model(batch[0]).flatten(0, 1), answer_to(batch[0]).flatten()
            )

        fit(reader, string_batches(0), reader_loss, steps=200, lr=0.01, curve=False)
        x, _ = make_strings(torch.Generator().manual_seed(7), 200)
        with torch.no_grad():
            right_answers[name, task] = (
                (reader(x.to(device)).argmax(-1).cpu() == answer_to(x)).float().mean().item()
            )
print({" · ".join(key): f"{share:.0%}" for key, share in right_answers.items()})
claim(
    "both copy more than 99 in 100 letters",
    min(right_answers[name, "copy"] for name in ("suspect", "yours")) > 0.99,
)
claim(
    "yours names the first letter more than 19 times in 20",
    right_answers["yours", "first letter"] > 0.95,
)
claim("the suspect fewer than 1 time in 2", right_answers["suspect", "first letter"] < 0.5)


# %% tags=["experiment"]
def influence(attend):
    """Norm of the gradient from each output (row) to each input (column), under a causal mask."""
    inputs = torch.randn(1, LENGTH, 16, device=device, requires_grad=True)
    output = attend(inputs, mask=causal_mask(LENGTH, device=device))
    return torch.stack(
        [
            torch.autograd.grad(output[0, i].norm(), inputs, retain_graph=True)[0][0].norm(dim=-1)
            for i in range(LENGTH)
        ]
    ).cpu()


attends = {name: readers[name, "copy"].attend for name in ("suspect", "yours")}
tables = {name: influence(attend) for name, attend in attends.items()}
with style():
    figure, axes = panels(2, width=2.8, height=2.8)
    for axis, (name, table) in zip(axes, tables.items(), strict=True):
        axis.imshow(table > 0)
        axis.grid(False)
        axis.set(title=name, xlabel="input", ylabel="output")
show(
    figure,
    "Yours depends on all of the past; the suspect on blocks of six words along the diagonal.",
)
past = torch.ones(LENGTH, LENGTH).tril().bool()
unseen = {name: (table[past] == 0).float().mean().item() for name, table in tables.items()}
print(
    "share of the past that cannot be seen:",
    {name: f"{share:.0%}" for name, share in unseen.items()},
)
claim("yours sees all of the past", unseen["yours"] == 0)
claim("the suspect misses more than half of it", unseen["suspect"] > 0.5)
inputs, half = torch.randn(1, LENGTH, 16, device=device), LENGTH // 2
moved = {}
for name, attend in attends.items():
    with torch.no_grad():
        long = attend(inputs, mask=causal_mask(LENGTH, device=device))[:, :half]
        short = attend(inputs[:, :half], mask=causal_mask(half, device=device))
    moved[name] = (long - short).abs().max().item()
print(
    "change of the first half when the second is cut off:",
    {name: f"{change:.2g}" for name, change in moved.items()},
)
claim("in yours the first half does not notice", moved["yours"] < 1e-4)
claim("in the suspect it does", moved["suspect"] > 0.01)

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# `view(B, H, N, -1)` without the transpose. With 24 words and 4 heads, "head 1" holds words 1 to 6, cut into pieces; head 2
# holds words 7 to 12, and so on. No word ever sees another block, and where the blocks end depends on the length of the
# sentence. The way back mixes nothing up, since `reshape` undoes the `view`, so every output lies at its own word, and
# copying works (the sum around the attention could have copied alone). Shapes fit; with one head it is even right. Test heads by what must get through: the gradient to the whole
# past, and the same words in a shorter sentence.
#
# </details>
#
# ## In short
#
# | step | shape | what to mind |
# | --- | --- | --- |
# | project | (B, N, D) to (B, N, D) | all of the word goes into every head |
# | split | to (B, H, N, D/H) | cut first, then transpose |
# | attend | weights (B, H, T, S) | scale by the root of D/H; mask with an axis for the heads |
# | merge | to (B, N, D) | transpose first, then join |
# | $W^O$ | to (B, N, D_out) | mixes what the heads found |
#
# ## What you should want now
#
# The four questions needed to know *places*, and got them from a table of vectors that appeared from nowhere. Without it
# attention sees a bag of letters. Lesson 7 says where a word stands, in three ways.
#
# **Further reading.** Vaswani et al. (2017), section 3.2.2. Michel, Levy and Neubig (2019), *Are sixteen heads really
# better than one?* Voita et al. (2019), *Analyzing multi-head self-attention*. Clark et al. (2019), *What does BERT look
# at?* Shazeer (2019), *Fast transformer decoding: one write-head is all you need*, shares keys and values among heads.

# %% tags=["nbval-ignore-output"]
progress()
