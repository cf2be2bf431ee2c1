# ---
# jupyter:
#   course:
#     title: Positional encoding
#     question: How does attention know where a word stands?
#     outcomes:
#     - show that attention alone sees a bag of words, and why plain numbers for the places do not help
#     - write the sinusoidal encoding, and find the rotation that leads from one place to another
#     - add learned positions, and turn queries and keys by their place (RoPE)
#     - measure what each way does to sentences longer than any in training
#     minutes: 75
#     prerequisites: [lesson 6]
#     exercises: [sinusoidal_encoding, shift_matrix, learned_positions, rotary_embedding]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 7 · Positional encoding
#
# **How does attention know where a word stands?** · 75 minutes
#
# An RNN reads in order, so order was free. Attention looks at everything at once, and lesson 5 proved what that costs: any
# shuffle in, the same shuffle out. This lesson gives each place a mark, a **positional encoding** (위치 인코딩), in three ways, and measures which of them hold
# beyond the lengths of training.

# %% tags=["setup"]
import math

import torch
from course_lib import check, hint, mine, pick_device, progress, solution
from course_lib.attention import scaled_dot_product_attention
from course_lib.claims import claim
from course_lib.data.batches import encode_pairs, evaluation_batches, training_batches
from course_lib.data.numbers import number_examples, number_tokens, token_pairs
from course_lib.data.vocabulary import EOS, PAD, Vocabulary
from course_lib.evaluation import exact_matches
from course_lib.experiments.positions import load_positions
from course_lib.figures import panels, show, style
from course_lib.generation import write
from course_lib.masks import causal_mask, padding_mask
from course_lib.multi_head_attention import MultiHeadAttention
from course_lib.positions import LearnedPositions, SinusoidalEncoding
from course_lib.recurrent import Seq2Seq, rnn_cell
from course_lib.recurrent_attention import LuongDecoder
from course_lib.training import fit, sequence_loss
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# <!-- concept: L7-order -->
# ## A bag of words
#
# 고양이가 강아지를 본다: the cat sees the dog. 강아지가 고양이를 본다: the dog sees the cat. With the particles as tokens of
# their own, both are made of the same five tokens. *What will self-attention make of the two, and what an RNN?*

# %%
torch.manual_seed(0)
cat_sees, dog_sees = "고양이 가 강아지 를 본다".split(), "강아지 가 고양이 를 본다".split()
words = sorted(set(cat_sees))
embedding, W_Q, W_K, W_V = torch.randn(5, 8), *(torch.randn(8, 8) for _ in range(3))


def verb_by_attention(sentence):
    """The vector of the verb after self-attention."""
    X = embedding[[words.index(word) for word in sentence]]
    return scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V)[0][-1]


def verb_by_rnn(sentence):
    """The state of an RNN after the verb."""
    state = torch.zeros(1, 8)
    for word in sentence:
        state = rnn_cell(embedding[[words.index(word)]], state, W_Q / 4, W_K / 4, torch.zeros(8))
    return state[0]


claim("the two sentences are one bag of tokens", sorted(cat_sees) == sorted(dog_sees))
claim(
    "attention gives the verb the same vector in both",
    torch.allclose(verb_by_attention(cat_sees), verb_by_attention(dog_sees), atol=1e-5),
)
claim("an RNN does not", not torch.allclose(verb_by_rnn(cat_sees), verb_by_rnn(dog_sees), atol=0.1))

# %% [markdown]
# <!-- concept: L7-naive -->
# ## Why not simply 0, 1, 2, 3?
#
# Add the number of its place to every word? Entries of an embedding are around 1. At place 100 the word is a grain of sand
# on a mountain. Squeeze the numbers between 0 and 1 then? Now the *step* from one word to the next depends on how long the
# sentence is: "next to each other" has no fixed meaning. Measured:

# %%
torch.manual_seed(0)
two_words = torch.randn(2, 64)
for place in (0, 10, 100):
    likeness = torch.cosine_similarity(two_words[0] + place, two_words[1] + place, dim=0).item()
    print(f"two different words, both at place {place:3}: likeness {likeness:.3f}")
claim("at place 100 two different words are more than 99.9 % alike", likeness > 0.999)
steps = {N: 1 / (N - 1) for N in (5, 50)}
print(
    "step to the next word, places squeezed to 0..1:",
    {N: round(step, 3) for N, step in steps.items()},
)
claim("in a sentence ten times as long the step is less than a tenth", steps[50] < steps[5] / 10)

# %% [markdown]
# A mark should be **bounded**, **different for each place**, and say the same about "two words further" in every sentence
# and at every place.
#
# <!-- concept: L7-digits -->
# ## Digits that turn
#
# We know such marks: digits. In binary the last digit flips at every step, the one before at every second, then every
# fourth. Fast digits tell neighbours apart, slow ones far places.

# %%
for place in range(8):
    print(place, f"{place:03b}")

# %% [markdown]
# <!-- concept: L7-sincos -->
# Replace flipping by turning: each digit becomes a clock hand, with its sine and its cosine. The first turns fast, each
# further one more slowly (Vaswani et al. 2017):
#
# $$PE_{(p,\,2i)} = \sin\!\left(\frac{p}{10000^{2i/D}}\right) \qquad PE_{(p,\,2i+1)} = \cos\!\left(\frac{p}{10000^{2i/D}}\right)$$
#
# Even columns hold sines, odd ones cosines; $i$ counts pairs, from 0 to $D/2 - 1$.


# %% exercise="sinusoidal_encoding" role="answer"
def sinusoidal_encoding(length, d_model, base=10000.0):
    """PE(p, 2i) = sin(p / base^(2i/D)), PE(p, 2i+1) = cos(p / base^(2i/D)).

    Positions count from 0. d_model: even. Returns (length, d_model).
    """
    ### BEGIN SOLUTION
    position = torch.arange(length).unsqueeze(1)  # (N, 1)
    frequency = base ** (-torch.arange(0, d_model, 2) / d_model)  # (D/2,)
    angle = position * frequency  # (N, D/2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    ### END SOLUTION


# %% exercise="sinusoidal_encoding" role="check"
check("sinusoidal_encoding")

# %% [markdown]
# <!-- concept: L7-picture -->
# One row a place, one column a dimension. *Where are the fast hands, where the slow ones?* Beside it, how alike two places
# are, by their distance.

# %% tags=["nbval-ignore-output"]
my_encoding = mine("sinusoidal_encoding")
PE = my_encoding(64, 32)
likeness = PE @ PE.mT  # (64, 64)
with style():
    figure, (axis,) = panels(width=4.2, height=2.8)
    axis.imshow(PE, aspect="auto", vmin=-1, vmax=1)
    axis.grid(False)
    axis.set(xlabel="dimension", ylabel="position")
show(figure, "Fast waves on the left, slow ones on the right.")
with style():
    figure, (axis,) = panels(width=4.2, height=2.8)
    for start, marker in ((0, "o"), (20, "s"), (40, "^")):
        line = likeness[start, start : start + 20]
        axis.plot(range(20), line, marker, markersize=9 - start / 7, label=f"from position {start}")
    axis.set(xlabel="distance k", ylabel="PE(p) · PE(p + k)")
    axis.legend()
show(figure, "The likeness is the same from every start; it falls with the distance, with ripples.")
claim("every entry lies between -1 and 1", PE.abs().max() <= 1)
claim(
    "every position has the same length, the root of D/2",
    torch.allclose(PE.norm(dim=-1), torch.tensor(4.0)),
)
curves = torch.stack([likeness[start, start : start + 20] for start in (0, 20, 40)])
claim(
    "the likeness depends on the distance alone", torch.allclose(curves[0], curves[1:], atol=1e-3)
)

# %% [markdown]
# <!-- concept: E-pe -->
# What is the division by $D$ in the exponent for? You will read that "it keeps the position vector from becoming 0". It
# does not: the vector's length is $\sqrt{D/2}$ at every place, whatever the exponent. $2i/D$ runs from 0 to nearly 1 and so
# **spaces the frequencies**: from one turn in $2\pi$ steps to one in nearly $10000 \cdot 2\pi$ when $D$ is large, in equal ratios.
#
# <!-- concept: L7-advantages -->
# ### One step is one rotation
#
# Look for a matrix $M$ that leads from each place to the next: $PE(p + 1) = M\, PE(p)$. Solve for it by least squares over
# 40 places. *Will one matrix do for all of them?*

# %% tags=["nbval-ignore-output"]
waves = my_encoding(41, 8).double()
M = torch.linalg.lstsq(waves[:-1], waves[1:]).solution.mT  # rows: waves[p] @ M^T = waves[p + 1]
error = (waves[:-1] @ M.mT - waves[1:]).abs().max().item()
print("the upper left of M:", [[f"{x:.2f}" for x in row] for row in M[:4, :4].tolist()])
print(f"largest error over 40 places: {error:.1e}")
claim("one matrix leads from every place to the next", error < 1e-5)
claim(
    "its first block is (cos 1, sin 1; -sin 1, cos 1)",
    torch.allclose(
        M[:2, :2],
        torch.tensor([[math.cos(1), math.sin(1)], [-math.sin(1), math.cos(1)]]).double(),
        atol=1e-4,
    ),
)

# %% [markdown]
# Along the diagonal stand 2 × 2 **rotations**, one for each pair, by the angle that its hand makes in a step. $k$ steps turn
# $k$ times as far. So "k words further" is *one linear map*, the same at every place, and a matrix like $W_Q$ can learn it.


# %% exercise="shift_matrix" role="answer"
def shift_matrix(k, d_model, base=10000.0):
    """The matrix M_k with PE(p + k) = M_k PE(p) for every position p. Returns (d_model, d_model)."""
    ### BEGIN SOLUTION
    angle = k * base ** (-torch.arange(0, d_model, 2) / d_model)  # (D/2,)
    cos, sin = angle.cos(), angle.sin()
    blocks = torch.stack(
        [torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)], -2
    )  # (D/2, 2, 2)
    return torch.block_diag(*blocks)
    ### END SOLUTION


# %% exercise="shift_matrix" role="check"
check("shift_matrix")

# %% [markdown]
# The sinusoid's advantages, then: it is bounded; relative position is linear; and there is nothing to learn, for any
# length.
#
# <!-- concept: L7-add -->
# ## Added, not concatenated
#
# The mark is *added* to the word's vector. Does that not spoil both? In a wide space, directions hardly disturb each other
# (lesson 4), and a linear map can read either off the sum. Test it: 50 words at 50 places, D = 128, one linear map fitted to read off
# the word (a *probe*) and one for the place, fitted on half of the 2,500 sums and tested on the other half. *Concatenation would keep them
# apart for certain. What would it cost?*

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
D, count = 128, 50
vectors, places = torch.randn(count, D).double(), my_encoding(count, D).double()
sums = (vectors[:, None] + places[None]).flatten(0, 1)  # (2500, D)
labels = {
    "word": torch.arange(count).repeat_interleave(count),
    "place": torch.arange(count).repeat(count),
}
order = torch.randperm(count * count)
half, rest = order[: len(order) // 2], order[len(order) // 2 :]
read = {}
for name, label in labels.items():
    one_hot = nn.functional.one_hot(label, count).double()
    probe = torch.linalg.lstsq(sums[half], one_hot[half]).solution
    off_by = ((sums[rest] @ probe).argmax(-1) - label[rest]).abs()
    read[name] = [(off_by <= most).float().mean().item() for most in (0, 1)]
    print(f"{name:5} read exactly: {read[name][0]:.1%}, off by one at most: {read[name][1]:.1%}")
claim("the word can be read off the sum, more than 99 in 100", read["word"][0] > 0.99)
claim("the place exactly, more than 4 in 5", read["place"][0] > 0.8)

# %% [markdown]
# The word is read off without a mistake, the place nearly always. (In float32 the least-squares solver loses the slow waves,
# so the sums are float64 here.) Concatenation would make every later matrix wider; the sum costs nothing, and leaves it to
# training how much room each may take.
#
# <!-- concept: L7-learned -->
# ## Learned positions
#
# Why design the marks at all? A table with one vector a place, learned like the embedding of the words (Gehring et al.
# 2017; BERT and GPT-2 have it). It fits the task, but it *ends*: beyond the table there is nothing. When a sentence goes on
# where an earlier piece stopped, its first token is at place `start`.


# %% exercise="learned_positions" role="answer"
def learned_positions(X, table, start):
    """Add to each token the learned vector of its position: start, start + 1, ...

    X: (B, N, D). table: (P, D). Returns (B, N, D). Raises ValueError when a position lies past the table.
    """
    ### BEGIN SOLUTION
    end = start + X.shape[1]
    if end > len(table):
        raise ValueError(f"the table has {len(table)} positions, the tokens need {end}")
    return X + table[start:end]
    ### END SOLUTION


# %% exercise="learned_positions" role="check"
check("learned_positions")

# %% [markdown]
# <!-- concept: L7-rope -->
# ## Turn the query, turn the key
#
# What matters is mostly the *distance* of two words. **RoPE** (회전 위치 임베딩; Su et al. 2021) moves the rotation into the
# score itself: turn each pair of entries of the query by the angle of its place, and each pair of the key by the angle of
# *its* place. A dot product of two turned vectors depends on the difference of the angles only:
#
# $$(R_m q)^\top (R_n k) = q^\top R_{n-m}\, k$$
#
# The blocks are those of `shift_matrix` transposed, since there a pair was (sine, cosine). Nothing is added to the words;
# values are not turned. Most of today's open models use it. Two layouts exist: pairs of
# neighbours (0, 1), (2, 3), ... as in the paper and here, or the first half with the second half; check which one a set of
# published weights expects.


# %% exercise="rotary_embedding" role="answer"
def rotary_embedding(x, positions, base=10000.0):
    """Turn each pair (2i, 2i+1) of a query or key by its position times base^(-2i/D).

    x: (..., N, D), D even. positions: (N,). Returns (..., N, D).
    """
    ### BEGIN SOLUTION
    D = x.shape[-1]
    frequency = base ** (-torch.arange(0, D, 2) / D)  # (D/2,)
    angle = positions.unsqueeze(-1) * frequency  # (N, D/2)
    cos, sin = angle.cos(), angle.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
    ### END SOLUTION


# %% exercise="rotary_embedding" role="check"
check("rotary_embedding")

# %% tags=["nbval-ignore-output"]
my_rotation = mine("rotary_embedding")
torch.manual_seed(0)
q, k = torch.randn(1, 16), torch.randn(1, 16)


def score(query_at, key_at):
    return (
        my_rotation(q, torch.tensor([query_at])) @ my_rotation(k, torch.tensor([key_at])).mT
    ).item()


near, far = (
    [score(3 + start, 1 + start) for start in (0, 10, 100)],
    [score(7 + start, 1 + start) for start in (0, 10, 100)],
)
print("two apart:", [f"{s:.3f}" for s in near], " six apart:", [f"{s:.3f}" for s in far])
claim(
    "the score depends on the distance alone",
    max(near) - min(near) < 1e-3 and max(far) - min(far) < 1e-3,
)
claim("and differs between distances", abs(near[0] - far[0]) > 0.1)
claim("turning changes no length", abs(my_rotation(q, torch.tensor([50])).norm() - q.norm()) < 1e-4)

# %% [markdown]
# ### Waves and clocks
#
# Move a place and watch its hands turn; change the base; see the likeness by distance; shuffle a sentence with and without
# positions.

# %% tags=["explore"]
from course_lib.explore.position_waves import position_waves

position_waves(n_positions=64, d_model=32)

# %% [markdown]
# ## Counting without places
#
# 이만삼천 (23,000) and 삼만이천 (32,000) are one bag of signs. A model reads Korean number words and writes English. The
# encoder is attention alone: the heads of lesson 6 and a small network; the decoder is lesson 3's. One encoder adds
# the sinusoid, the other does not. *How many of 500 unseen numbers can the one without get right?*


# %% tags=["experiment"]
class Encoder(nn.Module):
    """Attention and a small network over the signs; `place` says where each stands."""

    def __init__(self, place, d_model=64):
        super().__init__()
        self.embedding, self.place = nn.Embedding(len(source_vocabulary), d_model), place
        self.attention = MultiHeadAttention(d_model, 4)
        self.network = nn.Sequential(nn.Linear(d_model, 128), nn.ReLU(), nn.Linear(128, d_model))

    def forward(self, source, lengths):
        """Returns outputs (B, S, D) and their mean over the real signs (B, D), for the decoder's first state."""
        mask = padding_mask(source, PAD)  # (B, 1, S)
        x = self.place(self.embedding(source))
        x = x + self.attention(x, mask=mask)[0]
        x = x + self.network(x)
        real = mask.transpose(1, 2)  # (B, S, 1)
        return x, (x * real).sum(1) / real.sum(1)


training_numbers, held_out_numbers = number_examples(20_000, numbers=range(100_000))
source_vocabulary = Vocabulary.from_sequences([example.source for example in training_numbers])
target_vocabulary = Vocabulary.from_sequences([example.target for example in training_numbers])
pairs, held_out_pairs = (
    encode_pairs(token_pairs(examples), source_vocabulary, target_vocabulary)
    for examples in (training_numbers, held_out_numbers)
)
(held_out,) = evaluation_batches(held_out_pairs, batch_size=500)


def exact_numbers(model):
    written = write(model, held_out, 20).cpu()
    return {"numbers exactly right": exact_matches(written, held_out.target, EOS).float().mean()}


PHASES = ((700, 0.005), (700, 0.001))  # steps and rate: first large steps, then small ones


def train_on_numbers(place, phases=PHASES):
    torch.manual_seed(0)
    decoder = LuongDecoder(len(target_vocabulary), 32, 96, 64, 64, score="general")
    model = Seq2Seq(Encoder(place), decoder).to(device)
    for seed, (steps, lr) in enumerate(phases):
        history = fit(
            model,
            training_batches(pairs, 64, seed),
            sequence_loss,
            steps=steps,
            lr=lr,
            evaluate=exact_numbers,
            curve=False,
        )
    return model, history.metrics[-1]["numbers exactly right"]


results = {
    name: train_on_numbers(place)
    for name, place in (("with", SinusoidalEncoding(64)), ("without", nn.Identity()))
}

# %% tags=["experiment"]
for name, (_, share) in results.items():
    print(f"{name:8} places: {share:.1%} of unseen numbers exactly right")
shown = next(example for example in held_out_numbers if len(example.source) > 6)
print("".join(shown.source), "is", " ".join(shown.target))
(batch,) = evaluation_batches(
    encode_pairs(token_pairs([shown]), source_vocabulary, target_vocabulary)
)
for name, (model, _) in results.items():
    print(f"{name:8}", " ".join(target_vocabulary.decode(write(model, batch, 20)[0])))
claim("with places, more than 95 in 100 numbers are exactly right", results["with"][1] > 0.95)
claim("without them, fewer than 10 in 100", results["without"][1] < 0.10)

# %% [markdown]
# Without places the encoder hands over a bag of signs. How well can one do with a bag? Guess the order, at best.

# %%
from collections import Counter

bags = Counter("".join(sorted(number_tokens(number, "ko"))) for number in range(100_000))
best = (
    len(bags) / 100_000
)  # each bag can be answered in one way, and is right for one of its numbers
print(
    f"{len(bags):,} bags for 100,000 numbers: guessing the order is right {best:.1%} of the time at best"
)
claim("guessing among the orders of a bag is right fewer than 10 times in 100", best < 0.10)

# %% [markdown]
# <!-- concept: L7-extrapolation -->
# ## Beyond the lengths of training
#
# The model of the last lesson learned its places up to a length. What happens *after* it? A small task that needs places
# and nothing else: at every place of a string of letters, name the letter two before. One layer of causal attention, trained
# on strings of 8 to 24 letters, tested on strings of 96. Three ways to know where one stands, and none at all, three seeds each; it was made
# by `python3 course.py experiment positions`. *Which will hold beyond place 24, and how far?*

# %%
grid = load_positions()
groups = [f"{start}-{end - 1}" for start, end in grid["places"]]
with style():
    figure, (axis,) = panels(width=6.6)
    for row, marker in zip(grid["spread"], "ovs^", strict=True):
        axis.plot(groups, row["mean"], marker=marker, label=row["kind"])
        axis.fill_between(groups, row["lowest"], row["highest"], alpha=0.2)
    axis.axvline(2.5, color="0.4", linestyle=":")
    axis.set(xlabel="place in the string", ylabel="share right", ylim=(0, 1.05))
    axis.legend(title="trained up to place 23", loc="upper left", bbox_to_anchor=(1, 1))
show(
    figure,
    "Within the trained length three ways are perfect; beyond it rotary holds a little, the others fall at once.",
)
rows = {row["kind"]: row for row in grid["spread"]}
for kind, row in rows.items():
    print(
        f"{kind:10}",
        {group: f"{share:.0%}" for group, share in zip(groups, row["mean"], strict=True)},
    )
inside = 3  # the first three groups were trained on
just_beyond = 3  # the index of the fourth, which begins where they end
claim(
    "no seed of the three fails within the trained length",
    min(min(rows[kind]["lowest"][:inside]) for kind in ("sinusoidal", "learned", "rotary")) > 0.99,
)
claim("without places, fewer than 2 in 5 are right anywhere", max(rows["none"]["highest"]) < 0.4)
claim(
    "just beyond, rotary still gets 98 in 100, with every seed",
    rows["rotary"]["lowest"][just_beyond] > 0.98,
)
claim(
    "the sinusoid gets between a quarter and three fifths",
    rows["sinusoidal"]["lowest"][just_beyond] > 0.25
    and rows["sinusoidal"]["highest"][just_beyond] < 0.6,
)
claim(
    "the learned table is down to guessing, 1 in 16", rows["learned"]["highest"][just_beyond] < 0.1
)
claim(
    "from place 48 on, no way gets more than 3 in 10",
    max(row["highest"][-1] for row in rows.values()) < 0.3,
)

# %% [markdown]
# Read it with care. *Any length can be computed* (sinusoid, RoPE) is not *any length works*. The learned table has rows
# beyond place 23, but nobody trained them. The sinusoid's values there are new to the model; it keeps a part. RoPE makes the
# score depend on distance alone, so two before stays two before, for a while: distances beyond 23 never occurred in
# training, and nothing taught the scores there to stay low. (Without marks the causal mask still tells a little: who sees few
# keys stands early.) One point of the grid, made anew, and then the same model with only its nearest 24 keys in view:

# %% tags=["experiment"]
from course_lib.experiments import positions

rotary = positions.make_model("rotary", seed=0).to(device)
fit(
    rotary,
    positions.make_batches(0),
    positions.look_back_loss,
    steps=positions.STEPS,
    lr=positions.RATE,
    curve=False,
)
strings = torch.randint(0, positions.LETTERS, (100, 96), generator=torch.Generator().manual_seed(1))
embedded = rotary.letter(strings.to(device))


@torch.no_grad()
def right_by_group(mask):
    """Share of right answers in each group of places when attention may look where `mask` allows."""
    output, _ = rotary.attention(embedded, mask=mask)
    right = (rotary.answer(output).argmax(-1).cpu()[:, 2:] == strings[:, :-2]).float().mean(0)
    return [right[start - 2 : end - 2].mean().item() for start, end in grid["places"]]


past = causal_mask(96, device=device)
near = past & ~past.tril(-24)  # the 24 nearest keys
views = {"all keys": right_by_group(past), "the nearest 24": right_by_group(near)}
for name, shares in views.items():
    print(
        f"{name:15}", {group: f"{share:.0%}" for group, share in zip(groups, shares, strict=True)}
    )
with torch.no_grad():
    _, weights = rotary.attention(embedded, mask=past, need_weights=True)
far_away = (weights * past.tril(-24)).sum(-1)[..., 48:].mean().item()
print(f"weight on distances that never occurred in training, from place 48 on: {far_away:.0%}")
claim(
    "made anew, rotary is right inside and just beyond",
    min(views["all keys"][: just_beyond + 1]) > 0.9,
)
claim("from place 48 on most of the weight lies on distances never trained", far_away > 0.5)
claim("with the nearest 24 keys in view it is right to the end", min(views["the nearest 24"]) > 0.9)

# %% [markdown]
# So the position code was not at fault; the unseen distances were. Lesson 12 comes back to such windows.
#
# One more way adds to the scores a penalty that grows with the distance (ALiBi; Press et al. 2022): it goes on smoothly to any
# length, and prefers the near. It cannot say "exactly two before", so it has no place in this picture;
# `course_lib.positions.alibi_bias` has it.
#
# ## Bug hunt: the same sentence, twice
#
# A colleague's encoder has positions, and still it behaves like a bag of words; and users say that one and the same sentence
# gives different results on different days. *Put one sentence into a batch twice. Then shuffle its words.*


# %% tags=["experiment"]
class ColleaguesPositions(nn.Module):
    """Made for tokens first, (N, B, D), as older code has it."""

    def __init__(self, max_length, d_model):
        super().__init__()
        self.register_buffer(
            "table", my_encoding(max_length, d_model).unsqueeze(1)
        )  # (max_length, 1, D)

    def forward(self, x):
        return x + self.table[: x.shape[0]]


suspect, suspect_share = train_on_numbers(ColleaguesPositions(600, 64), PHASES[:1])
print(f"suspect: {suspect_share:.1%} of unseen numbers exactly right")


# %% tags=["experiment"]
def rows_apart(model):
    """How much the encoder's outputs differ between two rows of a batch that hold the same sentence."""
    with torch.no_grad():
        outputs, _ = model.encoder(
            batch.source.to(device).repeat(2, 1), batch.source_lengths.repeat(2)
        )
    return (outputs[0] - outputs[1]).abs().max().item()


def shuffled_apart(model):
    """How much the mean of the outputs differs between a sentence and its words in another order."""
    with torch.no_grad():
        one, other = (
            model.encoder(source.to(device), batch.source_lengths)[1]
            for source in (batch.source, batch.source.flip(1))
        )
    return (one - other).abs().max().item()


candidates = {"suspect": suspect, "yours": results["with"][0]}
for name, model in candidates.items():
    print(
        f"{name:8} rows apart by {rows_apart(model):.2g}, shuffled words apart by {shuffled_apart(model):.2g}"
    )
claim("in the suspect two equal rows differ", rows_apart(suspect) > 0.01)
claim("in yours they do not", rows_apart(candidates["yours"]) < 1e-5)
claim("the suspect does not notice a shuffle", shuffled_apart(suspect) < 1e-4)
claim("yours does", shuffled_apart(candidates["yours"]) > 0.01)
claim("its numbers are those of a bag: fewer than 10 in 100 right", suspect_share < 0.10)

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# The table is cut by `x.shape[0]` and laid along the first axis. With tokens first that is the position. Here the batch
# comes first: every *sentence* gets a mark, by its row in the batch, and all its words get the same one. Words cannot be
# told apart by place, and a sentence's result depends on its row. Shapes broadcast, and with one sentence in the batch
# nothing looks odd. Tests: the same sentence in two rows must come out the same; the same words in another order must not.
#
# </details>
#
# ## In short
#
# | way | what it does | learned | beyond the trained length |
# | --- | --- | --- | --- |
# | integers, 0 to 1 | swamp the word; stretch with the length | no | |
# | sinusoid | adds clock hands; k further is one rotation | no | can be computed, works a little |
# | learned table | adds a vector a place | yes | ends |
# | RoPE | turns query and key; the score knows the distance | no | can be computed, works a while |
# | ALiBi | penalty by distance | no | goes on smoothly, prefers the near |
#
# ## What you should want now
#
# Attention, many heads, places: the parts of a layer are there. Stack six of them, and it trains badly or not at all. Lesson 8 adds what
# makes depth possible.
#
# **Further reading.** Vaswani et al. (2017), section 3.5. Gehring et al. (2017), *Convolutional sequence to sequence
# learning*. Su et al. (2021), *RoFormer*. Press, Smith and Lewis (2022), *Train short, test long*. Kazemnejad et al. (2023),
# *The impact of positional encoding on length generalization*.

# %% tags=["nbval-ignore-output"]
progress()
