# ---
# jupyter:
#   course:
#     title: The Seq2Seq bottleneck
#     question: Can one vector hold a whole sentence?
#     outcomes:
#     - write the cell, the encoder, the greedy decoder and the loss of a Seq2Seq model, padding minded
#     - train a GRU encoder-decoder that turns dates in four languages into ISO dates
#     - measure how quality falls with length when everything must pass through one vector
#     - recognise a model whose loss is superb and whose output is garbage
#     minutes: 60
#     prerequisites: [lesson 0, matrix products, what a gradient is]
#     exercises: [rnn_cell, encode, shift_right, greedy_decode, masked_cross_entropy]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 1 · The Seq2Seq bottleneck
#
# **Can one vector hold a whole sentence?** · 60 minutes
#
# In 2014 two groups had the same idea: let one network read a sentence into a vector, and let another write from that
# vector. You will build such a model, train it on dates in four languages, see it succeed, and then see where it
# breaks. Everything that follows in this course mends what breaks here.

# %% tags=["setup"]
import torch
from course_lib import check, hint, mine, pick_device, progress, solution
from course_lib.claims import claim
from course_lib.data.batches import encode_pairs, evaluation_batches, make_batch, training_batches
from course_lib.data.dates import date_examples, text_pairs
from course_lib.data.vocabulary import BOS, EOS, PAD, Vocabulary
from course_lib.evaluation import exact_matches
from course_lib.figures import panels, show, style
from course_lib.generation import write
from course_lib.recurrent import Decoder, Encoder, Seq2Seq
from course_lib.training import fit, sequence_loss
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# <!-- concept: L1-lengths -->
# ## One sequence in, another out
#
# A network with one input and one output per step can tag words, but it cannot translate: the two sides differ in
# length, and in order. *Good morning* is two words, *좋은 아침이에요* is two, *bonjour* is one. A summary squeezes 500
# words into 50, and an answer may be shorter or longer than its question. We want: **any length in, any length out**
# (sequence to sequence, 시퀀스-투-시퀀스).
#
# Our first task is small, real and exact: a date as people write it, in Korean, English, French or German, becomes an
# ISO date. *Which part of the source does the first character of the target need, in each language?*

# %%
training_dates, held_out_dates = date_examples()
shown = {example.locale: example for example in reversed(held_out_dates)}
for locale in sorted(shown):
    print(f"{locale:5}  {shown[locale].source}  →  {shown[locale].target}")

# %% [markdown]
# The year comes first in the target. In Korean it also comes first in the source, in the other three languages last:
# nothing can be written before everything has been read.
#
# The **tokens** (토큰) are single characters here. Batches hold sentences of different lengths, so the short ones are
# filled up with **padding** (패딩), id 0. Tokens 1 and 2 mark the start (`BOS`) and the end (`EOS`) of a target.

# %%
source_vocabulary = Vocabulary.from_sequences([example.source for example in training_dates])
target_vocabulary = Vocabulary.from_sequences([example.target for example in training_dates])
training_pairs = encode_pairs(text_pairs(training_dates), source_vocabulary, target_vocabulary)
held_out_pairs = encode_pairs(text_pairs(held_out_dates), source_vocabulary, target_vocabulary)

batch = make_batch(held_out_pairs[:4])
print("source lengths", batch.source_lengths.tolist(), "· padded to", batch.source.shape[1])
print("target", batch.target[0].tolist())
claim("the sentences of one batch differ in length", len(set(batch.source_lengths.tolist())) > 1)

# %% [markdown]
# <!-- concept: L1-encoder -->
# ## The encoder reads, one step at a time
#
# A **recurrent network** (RNN, 순환 신경망) keeps a **hidden state** (은닉 상태) $h$, a vector of $H$ numbers. At each
# step it reads one token's **embedding** (임베딩) $x_t$, a vector of $E$ numbers, and computes the next state from the
# last one:
#
# $$h_t = f(x_t, h_{t-1})$$
#
# The simplest $f$ adds two products and a bias, and squashes the sum (Elman 1990). With a batch of $B$ rows, $x_t$ is
# (B, E), $h$ is (B, H), and the weights are $W_{xh}$ (E, H), $W_{hh}$ (H, H), $b$ (H,):
#
# $$h_t = \tanh(x_t W_{xh} + h_{t-1} W_{hh} + b)$$


# %% exercise="rnn_cell" role="answer"
def rnn_cell(x, h, W_xh, W_hh, b):
    """One step of a recurrent network.

    x: (B, E) input of this step. h: (B, H) state before it. W_xh: (E, H). W_hh: (H, H). b: (H,).
    Returns the next state (B, H).
    """
    ### BEGIN SOLUTION
    return torch.tanh(x @ W_xh + h @ W_hh + b)
    ### END SOLUTION


# %% exercise="rnn_cell" role="check"
check("rnn_cell")

# %% [markdown]
# <!-- concept: L1-context -->
# ## A sentence becomes one vector
#
# After the last token, the state has seen everything. That last state is the **context vector** (문맥 벡터) $c$: all that
# the decoder will ever know about the source.
#
# Mind the padding. In a batch with lengths 2, 5 and 3, the first row is over after two steps; if it goes on reading
# padding, its summary depends on how long its *neighbours* are. That mistake stands in many published tutorials, because
# with one sentence, or with equal lengths, nobody sees it.


# %% exercise="encode" role="answer"
def encode(cell, inputs, lengths, state):
    """Run `cell` over time and return, for each row, the state after its last real token.

    cell: function (x (B, E), h (B, H)) -> (B, H). inputs: (B, S, E), padded at the end.
    lengths: (B,) integers from 1 to S. state: (B, H), the first state. Returns (B, H).
    """
    ### BEGIN SOLUTION
    for t in range(inputs.shape[1]):
        is_real = (t < lengths)[:, None]  # (B, 1)
        state = torch.where(is_real, cell(inputs[:, t], state), state)
    return state
    ### END SOLUTION


# %% exercise="encode" role="check"
check("encode")

# %% [markdown]
# *With your own functions:* the same sentence alone, and in the company of a longer one. *Predict how far the two
# vectors are apart.*

# %% tags=["nbval-ignore-output"]
my_cell, my_encode = mine("rnn_cell"), mine("encode")
E, H = 4, 6
weights = (torch.randn(E, H), torch.randn(H, H) / H**0.5, torch.zeros(H))
sentence = torch.randn(1, 3, E)
padded = torch.cat(
    [torch.cat([sentence, torch.randn(1, 4, E)], dim=1), torch.randn(1, 7, E)]
)  # (2, 7, E)


def cell(x, h):
    return my_cell(x, h, *weights)


alone = my_encode(cell, sentence, torch.tensor([3]), torch.zeros(1, H))
together = my_encode(cell, padded, torch.tensor([3, 7]), torch.zeros(2, H))
print("largest difference:", (alone[0] - together[0]).abs().max().item())
claim(
    "a sentence has the same context vector whatever its neighbours",
    torch.allclose(alone[0], together[0]),
)

# %% [markdown]
# <!-- concept: L1-sequential -->
# ### Each step waits for the one before
#
# $h_{40}$ needs $h_{39}$, which needs $h_{38}$. A wider machine does not help: the steps of one sentence cannot run side
# by side. *How many calls of the cell does a batch of 64 sentences with 40 tokens need, one after another?*

# %% tags=["nbval-ignore-output"]
calls = 0


def counting_cell(x, h):
    global calls
    calls += 1
    return cell(x, h)


my_encode(counting_cell, torch.randn(64, 40, E), torch.full((64,), 40), torch.zeros(64, H))
print(calls, "calls, each waiting for the last")
claim("40 tokens take at least 40 steps, one after another", calls >= 40)

# %% [markdown]
# <!-- concept: L1-long-range -->
# ### A long way for a signal
#
# *The keys that the neighbour of my sister's teacher had left on the kitchen table **were** gone.* Between *keys* and
# *were* lie thirteen words. In a recurrent network what is known of *keys* must survive every one of those steps, and so
# must the gradient on its way back.
#
# <!-- concept: L1-cells -->
# **LSTM** (Hochreiter and Schmidhuber 1997) and **GRU** (Cho et al. 2014) add gates: numbers between 0 and 1 that decide
# how much of the old state is kept. A gate that has learned to stay open lets a signal through almost unchanged.
# *Below, how strongly does the last state depend on the first token after 40 steps, for the plain cell and for an LSTM
# whose forget gates stand open?*


# %%
def sensitivity(rnn, S):
    """Norm of the gradient of the last state, in one random direction, with respect to the first input of S."""
    x = torch.randn(
        1, S, rnn.input_size, generator=torch.Generator().manual_seed(1)
    ).requires_grad_()
    last = rnn(x)[0][:, -1]
    direction = torch.ones_like(last) / last.numel() ** 0.5
    return torch.autograd.grad(last, x, direction)[0][0, 0].norm().item()


plain, lstm = nn.RNN(16, 64, batch_first=True), nn.LSTM(16, 64, batch_first=True)
with torch.no_grad():
    lstm.bias_hh_l0[64:128] = 5.0  # the forget gates: sigmoid(5) = 0.993

between = "that the neighbour of my sister's teacher had left on the kitchen table".split()
steps = list(range(1, 42, 4))
plain_curve = [sensitivity(plain, S) for S in steps]
lstm_curve = [sensitivity(lstm, S) for S in steps]
with style():
    figure, (axis,) = panels()
    axis.semilogy(steps, plain_curve, marker="o", markersize=4, label="plain RNN")
    axis.semilogy(steps, lstm_curve, marker="s", markersize=4, label="LSTM, open gates")
    axis.set(xlabel="tokens between", ylabel="gradient norm")
    axis.legend()
show(
    figure,
    "The plain RNN's gradient falls exponentially with distance; the open LSTM's hardly falls.",
)
claim("thirteen words stand between the subject and its verb", len(between) == 13)
claim("the plain cell's gradient falls below a millionth", plain_curve[-1] < 1e-6 * plain_curve[0])
claim("an open gate keeps more than a tenth of it", lstm_curve[-1] > 0.1 * lstm_curve[0])

# %% [markdown]
# From here on we let torch run a GRU, on packed batches: the same loop as yours, in one call. `course_lib.recurrent`
# holds all three cells written out by hand beside it.
#
# <!-- concept: L1-decoder -->
# ## The decoder writes
#
# A second network writes the target. Its state $s_t$ depends on the token before, on the state before, and on $c$:
#
# $$s_t = g(y_{t-1}, s_{t-1}, c)$$
#
# Sutskever et al. (2014) hand over $c$ once, as (or computed into) the first state $s_0$. Cho et al. (2014) show it
# again **at every step**, beside the embedding of $y_{t-1}$. We will train both.
#
# <!-- concept: L1-output -->
# A linear layer turns the state into one score for each token of the **vocabulary** (어휘 집합), and your softmax turns
# these **logits** into probabilities:
#
# $$p(y_t \mid y_{<t}) = \mathrm{softmax}(W_y s_t + b_y)$$

# %% tags=["nbval-ignore-output"]
my_softmax = mine("softmax")
demo = Decoder(len(target_vocabulary), d_embedding=8, d_hidden=16, d_context=16)
state = demo.start(None, torch.zeros(1, 16), None)
logits, state = demo.step(torch.tensor([BOS]), state)
p = my_softmax(logits)
print(
    p.shape,
    "probabilities; an untrained decoder prefers nothing: the largest is",
    round(p.max().item(), 2),
)
claim("the probabilities of the next token sum to 1", torch.allclose(p.sum(), torch.tensor(1.0)))

# %% [markdown]
# ### What the decoder reads while it learns
#
# In training we know the right target, so every step is fed the *right* token before it, not the decoder's own guess:
# **teacher forcing** (교사 강요). The decoder's input is the target moved one place to the right, with `BOS` in front.
#
# | step | 1 | 2 | 3 | 4 |
# | --- | --- | --- | --- | --- |
# | reads | BOS | 사 | 랑 | 해 |
# | must write | 사 | 랑 | 해 | EOS |
#
# As soon as a model is trained, you will send the teacher away and see what the decoder does on its own.


# %% exercise="shift_right" role="answer"
def shift_right(target, bos):
    """Decoder input: `bos` first, then the target without its last token.

    target: (B, T) token ids. bos: id of the start token. Returns (B, T), same dtype; the target stays as it is.
    """
    ### BEGIN SOLUTION
    first = torch.full_like(target[:, :1], bos)
    return torch.cat([first, target[:, :-1]], dim=1)
    ### END SOLUTION


# %% exercise="shift_right" role="check"
check("shift_right")

# %% [markdown]
# <!-- concept: L1-autoregressive -->
# ### Writing one token at a time
#
# After training nobody knows the target. The decoder reads what it has written itself: it is **autoregressive**
# (자기회귀). The plainest strategy takes the likeliest token at each step, **greedy decoding** (탐욕적 디코딩), until it
# writes `EOS`. In a batch some rows end early; they hold padding from then on.


# %% exercise="greedy_decode" role="answer"
def greedy_decode(step, state, bos, eos, pad, max_length):
    """Write the likeliest token, feed it back, again and again, until the end token.

    step: function (token (B,), state) -> (logits (B, V), new state). state: (B, H), the decoder's first state.
    bos, eos, pad: token ids. Returns ids (B, max_length): each row up to and with its `eos`, then `pad`.
    """
    ### BEGIN SOLUTION
    B = state.shape[0]
    token = torch.full((B,), bos)
    finished = torch.zeros(B, dtype=torch.bool)
    output = torch.full((B, max_length), pad)
    for t in range(max_length):
        logits, state = step(token, state)
        token = logits.argmax(dim=-1)  # (B,)
        output[:, t] = torch.where(finished, pad, token)
        finished = finished | (token == eos)
        if finished.all():
            break
    return output
    ### END SOLUTION


# %% exercise="greedy_decode" role="check"
check("greedy_decode")

# %% [markdown]
# ### How wrong was it?
#
# The loss is the surprise at the right token, $-\log p(y_t)$, the **cross-entropy** (교차 엔트로피), averaged over the real
# tokens. Padding is no token: it must count neither in the sum nor in the number by which you divide.


# %% exercise="masked_cross_entropy" role="answer"
def masked_cross_entropy(logits, target, pad):
    """Mean of -log p(target) over the real tokens, in nats a token.

    logits: (B, T, V) scores before softmax. target: (B, T) ids; positions that hold `pad` do not count, and at least
    one does not. Returns a tensor without axes.
    """
    ### BEGIN SOLUTION
    log_probabilities = torch.log_softmax(logits, dim=-1)  # (B, T, V)
    losses = -log_probabilities.gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (B, T)
    is_real = target != pad
    return torch.where(is_real, losses, 0.0).sum() / is_real.sum()
    ### END SOLUTION


# %% exercise="masked_cross_entropy" role="check"
check("masked_cross_entropy")

# %% [markdown]
# ## Dates, without looking back
#
# Everything is there. Two models, equal but for one thing: the first sees $c$ only in its first state, the second at
# every step. Both train on the same batches, with *your* loss and *your* shifted targets. *Which one will learn faster,
# and why?*

# %% tags=["experiment"]
my_loss, my_shift = mine("masked_cross_entropy"), mine("shift_right")


def loss_of(model, batch):
    logits = model(batch.source, batch.source_lengths, my_shift(batch.target, BOS))
    return my_loss(logits, batch.target, PAD)


def date_model(context):
    torch.manual_seed(1)
    encoder = Encoder(len(source_vocabulary), d_embedding=32, d_hidden=64, bidirectional=True)
    decoder = Decoder(len(target_vocabulary), 32, 64, encoder.d_context, context=context)
    return Seq2Seq(encoder, decoder).to(device)


def exact_dates(model):
    """Share of 500 held-out dates without a single wrong character."""
    (batch,) = evaluation_batches(held_out_pairs[:500], batch_size=500)
    written = write(model, batch, max_length=12)
    return {"dates exactly right": exact_matches(written.cpu(), batch.target, EOS).float().mean()}


models, histories = {}, {}
for context in ("initial", "every_step"):
    models[context] = date_model(context)
    histories[context] = fit(
        models[context], training_batches(training_pairs, batch_size=64), loss_of,
        steps=400, lr=0.01, evaluate=exact_dates, evaluate_every=100, target={"dates exactly right": 0.98},
    )  # fmt: skip

# %% tags=["experiment"]
right = {name: history.metrics[-1]["dates exactly right"] for name, history in histories.items()}
for name, history in histories.items():
    print(
        f"c as {name:10}: {right[name]:6.1%} of held-out dates exactly right after {history.steps} steps"
    )
claim("with c at every step, more than 9 of 10 dates are exactly right", right["every_step"] > 0.9)
claim("with c in the first state only, learning is slower", right["initial"] < right["every_step"])

# %% [markdown]
# It works, on dates that it never saw: a date fits into a vector. The decoder that is reminded of $c$ at every step
# learns much faster, because the first state need not carry it through the whole sentence.
#
# *With your own* decoder loop, a Korean date. The step below keeps $c$ aside and hands you the state as (B, H).

# %% tags=["experiment"]
my_greedy = mine("greedy_decode")
model = models["every_step"].cpu()
korean = next(example for example in held_out_dates if example.locale == "ko")
one = make_batch(encode_pairs(text_pairs([korean]), source_vocabulary, target_vocabulary))
with torch.no_grad():
    first, context = model.encode(one.source, one.source_lengths)

    def step(token, state):
        logits, (hidden, _) = model.step(token, (state.unsqueeze(0), context))
        return logits, hidden.squeeze(0)

    ids = my_greedy(step, first.squeeze(0), BOS, EOS, PAD, max_length=12)
library_ids = write(model, one, max_length=12)
print(korean.source, "→", "".join(target_vocabulary.decode(ids[0].tolist())))
claim(
    "your loop writes what the library's writes",
    torch.equal(ids[:, : library_ids.shape[1]], library_ids),
)

# %% [markdown]
# <!-- explorable: decode_stepper -->
# ### One wrong character
#
# In training your decoder has never read a mistake: the teacher put every character right. Now the teacher is gone, and
# one slip becomes part of what it reads. This gap between training and use is called **exposure bias** (노출 편향).
#
# Below, your model writes the date from above. At any step but the first you may hand it another character than the one
# it should read, out of the likeliest. *Predict first: which does more harm, a wrong digit in the year or a digit in the
# place of the first hyphen? How many of the characters after it will change? And what if a teacher goes on reading the
# right ones aloud?*
#
# Then try it: go to a step, choose what it reads, and step on; with the same mistake, switch teacher forcing on and off.
# The last row says how far the probabilities have moved: half the sum of all their changes (the **total variation**,
# 총변동), 0 where nothing has changed and 1 where all of the probability stands elsewhere.

# %% tags=["explore"]
from course_lib.explore.decode_stepper import decode_stepper

decode_stepper(model, one, target_vocabulary, source=korean.source, max_length=12)

# %% [markdown]
# One date is a story; many dates and every mistake are a measurement. *Which of the numbers below will be the smallest,
# and which the largest?*

# %% tags=["experiment"]
from course_lib.explore.decode_runs import all_runs

koreans = [example for example in held_out_dates if example.locale == "ko"][:20]
pairs = encode_pairs(text_pairs(koreans), source_vocabulary, target_vocabulary)
tried = [all_runs(model, make_batch([pair]), max_length=12) for pair in pairs]
YEAR, HYPHEN = range(2, 6), range(6, 7)  # the steps that read the year, and the first hyphen


def mistakes(teacher, places):
    """For each mistake: the run without it, and the steps from the mistake on.

    A step is (likeliest tokens, their probabilities, how far all have moved).
    """
    for runs in (run[teacher] for run in tried):
        for place in places:
            for _, _, steps in runs["errors"].get(str(place), []):
                yield runs["plain"], steps


def moved_later(teacher, places):
    """How far the probabilities move, on average, at the steps after a mistake."""
    later = [moved for _, steps in mistakes(teacher, places) for _, _, moved in steps[1:]]
    later = [moved for moved in later if moved is not None]  # None: only one of the runs goes on
    return sum(later) / max(1, len(later))


def wrote(steps):
    return [likeliest[0] for likeliest, _, _ in steps]


far = {}
for teacher in ("forced", "free"):
    for name, places in (("digit", YEAR), ("hyphen", HYPHEN)):
        far[teacher, name] = moved_later(teacher, places)
        print(f"{teacher:6} · {name:6} wrong: moved by {far[teacher, name]:.2f} later on")
# step 5 wrote the hyphen that step 6 did not get to read; is it written again, and all that follows?
late = [wrote(steps) == wrote(plain[4:]) for plain, steps in mistakes("free", HYPHEN)]
claim(
    "with a teacher, a wrong digit moves later steps by less than 0.1", far["forced", "digit"] < 0.1
)
claim(
    "on its own, by at least half as much again",
    far["free", "digit"] > 1.5 * far["forced", "digit"],
)
claim("a lost hyphen moves later steps by more than 0.8", far["free", "hyphen"] > 0.8)
claim("even with a teacher, by more than 0.3", far["forced", "hyphen"] > 0.3)
claim("nearly always, everything then comes one step late", sum(late) > 0.8 * len(late))

# %% [markdown]
# A wrong digit may spoil what comes next. With a teacher it is soon forgotten, for the right ones follow; on its own the
# decoder now and then believes what it wrote and carries it on. A lost hyphen is worse, for hyphens tell the decoder
# *where it is*. On its own it writes the missing one again, and everything comes one step late: nearly every character
# differs, and yet the date is right. With a teacher, who reads on as if nothing were amiss, the two fall out of step.

# %% [markdown]
# <!-- concept: L1-compression -->
# ## Where it breaks
#
# The same 64 numbers must hold five words or a hundred. Think of a book chapter retold in one sentence: something is
# lost, and the longer the chapter, the more. To see it we need a task in which *nothing* may be lost and the length is
# ours to choose: **copying** a string of random letters.
#
# A fresh model, 64 numbers wide, learns to copy strings of 3 to 20 letters. *Sketch the curve you expect: the share of
# letters that are right, against the length of the string.*

# %% tags=["experiment"]
from course_lib.experiments.bottleneck import load_bottleneck, make_batches, make_model, measure

copier = make_model(width=64, seed=0).to(device)
history = fit(copier, make_batches("copy", seed=0), sequence_loss, steps=600, lr=0.005)
lengths = (4, 8, 12, 16, 20)
live = measure(copier, "copy", lengths, count=200)["token"]

# %% [markdown]
# <!-- concept: L1-bottleneck -->

# %% tags=["experiment"]
with style():
    figure, (axis,) = panels()
    axis.plot(lengths, list(live.values()), marker="o")
    axis.axhline(1 / 26, color="0.4", linestyle=":", label="guessing")
    axis.set(xlabel="letters to copy", ylabel="share right", ylim=(0, 1.02), xticks=lengths)
    axis.legend()
show(
    figure,
    "The share of letters copied correctly falls steadily as the string grows from 4 to 20 letters.",
)
print({length: f"{live[length]:.0%}" for length in lengths})
claim("of 4 letters, more than 2 in 3 come through", live[4] > 0.67)
claim("of 20 letters, less than half come through", live[20] < 0.5)
shares = [live[length] for length in lengths]
claim("longer is worse, at every step of the curve", shares == sorted(shares, reverse=True))

# %% [markdown]
# That is the **bottleneck** (병목). Nothing is wrong with the code, and the loss still falls; the *architecture* has one
# narrow place, and everything must pass through it.
#
# Does a wider vector help? Does it help to copy backwards, so that the first letter written is the last one read? The
# grid below took longer than a lesson has; it was made by `python3 course.py experiment bottleneck`, three
# seeds each.

# %% tags=["experiment"]
grid = load_bottleneck()
with style():
    figure, axes = panels(2)
    for axis, task in zip(axes, ("copy", "reverse"), strict=True):
        rows = [row for row in grid["spread"] if row["task"] == task]
        for marker, row in zip("osD", rows, strict=True):
            means, spread = row["token_mean"], row["token_range"]
            half = [value / 2 for value in spread.values()]
            label = f"{row['width']} wide"
            axis.errorbar(
                list(means), list(means.values()), half, marker=marker, capsize=2, label=label
            )
        axis.set(title=task, xlabel="letters", ylabel="share right")
        axis.set(ylim=(0, 1.02), xticks=range(4, 21, 4))
        axis.legend()
show(
    figure,
    "For copy and reverse, and for three widths, accuracy falls with length; wider vectors fall later.",
)

mean = {(row["task"], row["width"]): row["token_mean"] for row in grid["spread"]}
widths = sorted({width for _, width in mean})
narrow, wide = mean["copy", widths[0]], mean["copy", widths[-1]]
claim("a wider vector keeps more of 20 letters", wide[20] > narrow[20])
claim(
    "20 letters always come out worse than 4", all(curve[20] < curve[4] for curve in mean.values())
)
gain = [mean["reverse", width][8] - mean["copy", width][8] for width in widths]
claim("8 letters come out better backwards, at every width", min(gain) > 0)

# %% [markdown]
# A wider vector moves the wall; it does not remove it. A sentence has no largest length, and a vector has a fixed width.
# Longer training would lift all of these curves, for what is hard to hold is also hard to learn; they would still fall.
# Writing backwards helps while strings are short: what was read last is written first, and is still fresh. Sutskever
# et al. (2014) fed their sources in reversed for the same reason.
#
# Move the sliders. *At which place in a string of 20 letters does the memory end, and does a wider vector move that
# place?*

# %% tags=["explore"]
from course_lib.explore.bottleneck import bottleneck

bottleneck()

# %% [markdown]
# ### The same curve on published weights
#
# The package `g2p-en` (2019) ships a real Seq2Seq GRU without attention: letters in, English sounds out, 256 numbers in
# between. Where it is installed (`python3 course.py weights g2p-en`), the next cell asks it for everyday words, alone and
# joined (*sun*, *sunlamp*, *sunlampbread*, ...), and counts how many of the sounds it gives each word alone are still
# there, in order. Mind that joined words are also stranger than single ones, so length is not the only cause.

# %% tags=["experiment"]
import random
from difflib import SequenceMatcher

from course_lib.data.g2p import g2p_installed, load_g2p
from course_lib.pronunciation import Pronouncer, pronounce

WORDS = (
    "sun lamp bread milk garden window river stone paper cloud table finger butter summer winter basket candle market "
    "pencil rabbit silver ticket violin planet lemon melon dinner supper hammer ladder carpet button cotton forest"
).split()


def sounds_kept(count, tries=200):
    """Share of the sounds of `count` words, each said alone, that are still there when they are joined into one."""
    chooser = random.Random(count)
    joined = [chooser.sample(WORDS, count) for _ in range(tries)]
    shares = []
    for words, said in zip(
        joined, pronounce(published, ["".join(words) for words in joined], 60), strict=True
    ):
        wanted = [
            sound[:2] for word in words for sound in alone[word]
        ]  # without the digit for stress
        blocks = SequenceMatcher(
            None, wanted, [sound[:2] for sound in said], autojunk=False
        ).get_matching_blocks()
        shares.append(sum(block.size for block in blocks) / len(wanted))
    return sum(shares) / tries


if g2p_installed():
    published = Pronouncer(load_g2p())
    claim("the vector between holds 256 numbers", published.decoder.hidden_size == 256)
    alone = dict(zip(WORDS, pronounce(published, WORDS), strict=True))
    kept = [sounds_kept(count) for count in range(1, 6)]
    print("animal →", " ".join(pronounce(published, ["animal"])[0]))
    print("sounds kept with 1 to 5 words in the vector:", [f"{share:.0%}" for share in kept])
    claim(
        "published weights meet the same wall: less is kept with every word",
        kept == sorted(kept, reverse=True),
    )
    claim("with five words, less than two thirds of the sounds are left", kept[-1] < 2 / 3)
else:
    print("g2p-en is not installed here; the curve above is your own measurement.")

# %% [markdown]
# ## Bug hunt: a superb loss
#
# A colleague trained the model below on the same dates. The loss is better than anything you have seen in this lesson.
# The colleague is proud, and wants to ship it. *Run it, and look at what it writes before you read on.*


# %% tags=["experiment"]
def colleagues_loss(model, batch):
    logits = model(batch.source, batch.source_lengths, batch.target)
    return my_loss(logits, batch.target, PAD)


suspect = date_model("every_step")
history = fit(
    suspect, training_batches(training_pairs, batch_size=64), colleagues_loss, steps=120, lr=0.01
)
(test,) = evaluation_batches(held_out_pairs[:200], batch_size=200)
written = write(suspect, test, max_length=12).cpu()
print(f"training loss at the end: {history.losses[-1]:.4f} nats a token")
for example, ids in zip(held_out_dates[:3], written.tolist(), strict=False):
    print("source:", example.source, "→", "".join(target_vocabulary.decode(ids)) or "(nothing)")
right = exact_matches(written, test.target, EOS).float().mean()
claim("the training loss is below 0.05", history.losses[-1] < 0.05)
claim("fewer than 1 in 10 dates come out right", right < 0.1)

# %% [markdown]
# Somewhere a model that writes garbage was told that it is excellent. A question that settles such cases: *does the loss
# change when each source is exchanged for another one?* A model that reads its source must suffer.

# %% tags=["experiment"]
from dataclasses import replace

with torch.no_grad():
    suspect.eval()
    test = test.to(device)
    exchanged = replace(
        test, source=test.source.roll(1, 0), source_lengths=test.source_lengths.roll(1, 0)
    )
    own, others = colleagues_loss(suspect, test).item(), colleagues_loss(suspect, exchanged).item()
    honest = models["every_step"].to(device).eval()
    honest_own, honest_others = loss_of(honest, test).item(), loss_of(honest, exchanged).item()
print(f"suspect: {own:.4f} with its own sources, {others:.4f} with those of others")
print(f"yours:   {honest_own:.4f} with its own sources, {honest_others:.4f} with those of others")
claim("the suspect does not care which source it reads", others < 0.1)
claim("your model cares very much", honest_others > 10 * honest_own)

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# The decoder was fed <code>batch.target</code>, not the target shifted to the right. At step t it reads the very token
# that it must write, so it learns to copy its input and needs no source. When it writes on its own there is nothing to
# copy. Shapes, loss curve and gradients look healthy; only generation, or exchanging the sources, shows it. Compare
# <code>colleagues_loss</code> with <code>loss_of</code>.
#
# </details>
#
# ## In short
#
# | part | what it computes | what to mind |
# | --- | --- | --- |
# | encoder | $h_t = f(x_t, h_{t-1})$ | one step waits for the one before |
# | context | $c$ = the state after the last *real* token | padding must not move it |
# | decoder | $s_t = g(y_{t-1}, s_{t-1}, c)$ | $c$ at every step learns faster than $c$ once |
# | output | $\mathrm{softmax}(W_y s_t + b_y)$ | the loss counts real tokens only |
# | training | the right token before, fed in | shift the target, or the loss lies |
# | generating | its own token before, fed in | each row ends for itself |
# | the bottleneck | one vector for any length | quality falls with length |
#
# ## What you should want now
#
# While it writes the month, the decoder has no use for the weekday. If it could **look back** at the source, at the one
# place that matters now, nothing would have to pass through one vector. The encoder has computed a state $h_j$ for every
# token; we threw all but the last one away. Lesson 2 keeps them.
#
# **Further reading.** Sutskever, Vinyals and Le (2014), *Sequence to sequence learning with neural networks*. Cho et al.
# (2014), *Learning phrase representations using RNN encoder–decoder*; Cho et al. (2014), *On the properties of neural
# machine translation*, which measured the fall with length on real translations. Hochreiter and Schmidhuber (1997),
# *Long short-term memory*. Bengio, Simard and Frasconi (1994) on why distance is hard to learn. Bengio et al. (2015),
# *Scheduled sampling for sequence prediction*, which sends the teacher away little by little.

# %% tags=["nbval-ignore-output"]
progress()
