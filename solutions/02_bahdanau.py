# ---
# jupyter:
#   course:
#     title: Bahdanau attention
#     question: Can the decoder look back?
#     outcomes:
#     - score every encoder state against the decoder's state, and turn the scores into weights that ignore padding
#     - write one step of a decoder with additive attention, in the right order
#     - train it on dates and see the length curve of lesson 1 go flat at the same width
#     - read an alignment picture, and recognise one that comes from a model that looks at nothing
#     minutes: 60
#     prerequisites: [lesson 1]
#     exercises: [additive_score, masked_softmax, context_vector, bahdanau_step]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 2 · Bahdanau attention
#
# **Can the decoder look back?** · 60 minutes
#
# Lesson 1 ended at a wall: one vector for a sentence of any length. Bahdanau, Cho and Bengio (2015) took it down with
# one idea: keep everything that the encoder computed, and let the decoder choose, at every step, what to read. They
# called it alignment; the field calls it **attention** (어텐션).

# %% tags=["setup"]
import torch
from course_lib import check, hint, mine, pick_device, progress, solution
from course_lib.claims import claim
from course_lib.data.batches import encode_pairs, evaluation_batches, make_batch, training_batches
from course_lib.data.dates import date_examples, text_pairs
from course_lib.data.vocabulary import EOS, Vocabulary
from course_lib.evaluation import batch_alignment_error_rate, exact_matches
from course_lib.experiments.bottleneck import load_bottleneck
from course_lib.figures import panels, show, style
from course_lib.generation import write
from course_lib.recurrent import Decoder, Encoder, Seq2Seq
from course_lib.recurrent_attention import BahdanauDecoder
from course_lib.training import fit, sequence_loss

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# ## The wall, once more
#
# A GRU with 64 numbers of state copies strings. This is lesson 1's measurement, three seeds, 1,200 steps.

# %%
grid = load_bottleneck()
row = next(row for row in grid["spread"] if (row["task"], row["width"]) == ("copy", 64))
fixed_vector = row["token_mean"]
claim(
    "it was made with 1,200 steps and three seeds", (grid["steps"], len(grid["seeds"])) == (1200, 3)
)
print({length: f"{share:.0%}" for length, share in fixed_vector.items()})
claim(
    "through one vector of 64 numbers, less than a third of 20 letters survive",
    fixed_vector[20] < 1 / 3,
)

# %% [markdown]
# <!-- concept: L2-lookback -->
# ## Keep everything, choose anew at each step
#
# The encoder has a state $h_j$ for every source position $j$. Lesson 1 threw all but the last away. Now we keep all S of
# them, and at step $t$ the decoder reads a mixture of its own choice: one for the year, another for the month. Nothing
# has to be carried through a single vector any more.
#
# <!-- concept: L2-score -->
# To choose, the decoder compares. Its state $s_{t-1}$, which knows what was written so far, is held against every $h_j$,
# and each comparison gives one number, a **score** (점수):
#
# $$e_{t,j} = \mathrm{score}(s_{t-1}, h_j)$$
#
# <!-- concept: L2-dot-first -->
# The simplest score is a dot product: large when two vectors point the same way. *Which of the three positions below
# fits the state best, and does the second one fit at all?*

# %%
s = torch.tensor([1.0, 2.0])
h = torch.tensor([[0.5, 1.0], [2.0, -1.0], [-1.0, -0.5]])
scores = h @ s
print("scores", scores.tolist())
claim(
    "the first position fits best, the second not at all", scores.argmax() == 0 and scores[1] == 0
)

# %% [markdown]
# Two choices hide in that line, and they are separate: *which score* (here the dot product) and *which state* asks (here
# $s_{t-1}$). Lesson 3 makes both differently.
#
# <!-- concept: L2-additive -->
# ## Additive attention
#
# A dot product needs two vectors of equal width that live in one space. Bahdanau et al. let the network learn how to
# compare: both sides are projected into $A$ common features, added, squashed, and weighed by a vector $v$:
#
# $$e_{t,j} = v^\top \tanh(W_q\, s_{t-1} + W_k\, h_j)$$
#
# Without tanh the state would add the same amount to every position, and cancel in the softmax: it is tanh that makes
# the two sides work together.


# %% exercise="additive_score" role="answer"
def additive_score(query, key, W_q, W_k, v):
    """e_j = v^T tanh(W_q q + W_k k_j) for every source position j.

    query: (B, Dq), the decoder's state. key: (B, S, Dk), the encoder states. W_q: (Dq, A). W_k: (Dk, A). v: (A,).
    Returns scores (B, S).
    """
    ### BEGIN SOLUTION
    features = torch.tanh((query @ W_q).unsqueeze(1) + key @ W_k)  # (B, S, A)
    return features @ v
    ### END SOLUTION


# %% exercise="additive_score" role="check"
check("additive_score")

# %% [markdown]
# <!-- concept: L2-weights -->
# ## Scores become weights
#
# Your softmax of lesson 0 turns the scores of one row into **weights** (가중치) between 0 and 1 that sum to 1:
#
# $$\alpha_{t,j} = \frac{\exp e_{t,j}}{\sum_k \exp e_{t,k}}$$
#
# One thing is new. Padding has an encoder state too, and a score, and would get weight. A **mask** (마스크) says where the
# decoder may look: `True` = may. A row that may look nowhere gets weights 0: nothing is read, and no `nan` arises.


# %% exercise="masked_softmax" role="answer"
def masked_softmax(scores, mask):
    """Softmax over the last axis among the allowed positions; the others get weight 0.

    scores: (..., S). mask: bool, broadcastable to scores, True = may be looked at. A row without any allowed position
    gets weights 0 everywhere. Returns (..., S).
    """
    ### BEGIN SOLUTION
    safe = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    exponentials = torch.exp(safe - safe.max(dim=-1, keepdim=True).values) * mask
    return exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(
        min=torch.finfo(scores.dtype).tiny
    )
    ### END SOLUTION


# %% exercise="masked_softmax" role="check"
check("masked_softmax")

# %% [markdown]
# <!-- concept: L2-context -->
# ## The context, new at every step
#
# The weights mix the encoder states into one vector, the context (문맥 벡터) of this step:
#
# $$c_t = \sum_j \alpha_{t,j}\, h_j$$
#
# Lesson 1 had one $c$ for the whole sentence. Now each step has its own.


# %% exercise="context_vector" role="answer"
def context_vector(weights, values):
    """c = sum over j of weight_j · value_j.

    weights: (B, S), each row summing to 1. values: (B, S, D), here the encoder states. Returns (B, D).
    """
    ### BEGIN SOLUTION
    return (weights.unsqueeze(1) @ values).squeeze(1)  # (B, 1, S) @ (B, S, D)
    ### END SOLUTION


# %% exercise="context_vector" role="check"
check("context_vector")

# %% [markdown]
# <!-- concept: L2-roles -->
# Three roles have appeared, and the next lessons build on their names. The state **asks**: it is the **query** (쿼리). The
# encoder states are what it is compared with, the **keys** (키), and also what is handed over, the **values** (값). Here
# $h_j$ is key and value at once; lesson 4 will separate them.
#
# <!-- concept: L2-update -->
# ## One step of the decoder
#
# Look first, then write. The context goes into the RNN, beside the embedding of the token before:
#
# $$s_t = \mathrm{RNN}(s_{t-1}, [c_t; y_{t-1}])$$


# %% exercise="bahdanau_step" role="answer"
def bahdanau_step(cell, score, embedded, state, outputs, mask):
    """One step of a decoder that looks back: score from s_{t-1}, context into the RNN.

    cell: function (x (B, D + E), h (B, H)) -> (B, H). score: function (query (B, H), key (B, S, D)) -> (B, S).
    embedded: (B, E), the embedding of y_{t-1}. state: (B, H), s_{t-1}. outputs: (B, S, D), all encoder states.
    mask: (B, S) bool, True = a real token. Returns (s_t (B, H), c_t (B, D), weights (B, S)), where
    s_t = cell([c_t; embedded], s_{t-1}).
    """
    ### BEGIN SOLUTION
    weights = masked_softmax(score(state, outputs), mask)
    context = (weights.unsqueeze(1) @ outputs).squeeze(1)
    return cell(torch.cat([context, embedded], dim=-1), state), context, weights
    ### END SOLUTION


# %% exercise="bahdanau_step" role="check"
check("bahdanau_step")

# %% [markdown]
# <!-- concept: L2-differentiable -->
# ## Nobody tells it where to look
#
# There is no label that says which source word belongs to which target word. Everything above is differentiable, so the
# loss itself moves the weights: if more weight at some position would have lowered the loss, its score rises. Below, four
# values lie ready and only the third one is what we need. *Watch where the weight goes.*

# %%
values = torch.eye(4)
scores = torch.zeros(4, requires_grad=True)
optimizer = torch.optim.SGD([scores], lr=2.0)
for step in range(41):
    weights = torch.softmax(scores, dim=0)
    loss = (weights @ values - values[2]).square().sum()
    if step % 10 == 0:
        print(f"step {step:2}  weights", [round(weight, 2) for weight in weights.tolist()])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
claim("the gradient alone has found the right position", weights.argmax() == 2 and weights[2] > 0.9)

# %% [markdown]
# ## Dates, looking back
#
# Two models of the same width, on the same batches, for the same number of steps: lesson 1's better decoder, and one with
# attention. Both use a GRU with 64 numbers of state. *How many of the 1,000 unseen dates will each write without an
# error after 100 steps?*

# %% tags=["experiment"]
training_dates, held_out_dates = date_examples()
source_vocabulary = Vocabulary.from_sequences([example.source for example in training_dates])
target_vocabulary = Vocabulary.from_sequences([example.target for example in training_dates])
training_pairs = encode_pairs(text_pairs(training_dates), source_vocabulary, target_vocabulary)
held_out_pairs = encode_pairs(text_pairs(held_out_dates), source_vocabulary, target_vocabulary)


def date_model(decoder_class, **options):
    torch.manual_seed(1)
    encoder = Encoder(len(source_vocabulary), d_embedding=32, d_hidden=64, bidirectional=True)
    decoder = decoder_class(len(target_vocabulary), 32, 64, d_context=encoder.d_context, **options)
    return Seq2Seq(encoder, decoder).to(device)


def exact_dates(model):
    """Share of the 1,000 held-out dates without a single wrong character."""
    right = [
        exact_matches(write(model, batch, 12).cpu(), batch.target, EOS)
        for batch in evaluation_batches(held_out_pairs, batch_size=500)
    ]
    return {"dates exactly right": torch.cat(right).float().mean()}


def train_on_dates(model, steps):
    batches = training_batches(training_pairs, batch_size=64)
    return fit(
        model, batches, sequence_loss, steps=steps, lr=0.01, evaluate=exact_dates, evaluate_every=50
    )


without = date_model(Decoder, context="every_step")
looking = date_model(BahdanauDecoder, d_output=128)
history_without = train_on_dates(without, steps=100)
history_looking = train_on_dates(looking, steps=200)

# %% tags=["experiment"]
looking_100 = history_looking.metrics[:2][-1]["dates exactly right"]  # the second evaluation
looking_200 = history_looking.metrics[-1]["dates exactly right"]
without_100 = history_without.metrics[-1]["dates exactly right"]
print(f"after 100 steps: {without_100:.1%} without attention, {looking_100:.1%} with it")
print(f"after 200 steps: {looking_200:.1%} with it")
claim("without attention, fewer than 1 in 5 dates are right after 100 steps", without_100 < 0.2)
claim("with attention, more than 4 in 5", looking_100 > 0.8)
claim("at least 98 % of 1,000 unseen dates after 200 steps", looking_200 >= 0.98)

# %% [markdown]
# Honesty first: a date fits into 64 numbers, so the model of lesson 1 gets there too, only later. What
# attention removes is the *need* to squeeze. The next experiment shows that on a task where squeezing is hopeless.
#
# <!-- concept: L2-heatmap -->
# ### What it looked at
#
# The weights can be drawn: rows are the characters that were written, columns the characters that were read, bright means
# much weight. *Before you run the cell: which picture is a diagonal, which an anti-diagonal, and which a moved block?*

# %% tags=["experiment"]
chosen = {}
for example in held_out_dates:
    if example.form == "long" and example.locale in ("ko", "fr", "en_US"):
        chosen.setdefault(example.locale, example)
chosen = [chosen[locale] for locale in ("ko", "fr", "en_US")]


@torch.no_grad()
def where_it_looked(model, examples):
    """Weights (B, 10, S) for the ten characters of each ISO date, fed the right ones (teacher forcing)."""
    batch = make_batch(encode_pairs(text_pairs(examples), source_vocabulary, target_vocabulary))
    state = model.encode(batch.source.to(device), batch.source_lengths)
    _, weights = model.decoder(batch.decoder_input.to(device), state, need_weights=True)
    return weights[:, :10].cpu()


with style():
    figure, axes = panels(3, width=3.6, height=3.2)
    for axis, example, row in zip(axes, chosen, where_it_looked(looking, chosen), strict=True):
        axis.imshow(row[:, : len(example.source)], vmin=0, vmax=1, aspect="auto")
        axis.set_xticks(range(len(example.source)), example.source, fontsize=8)
        axis.set_yticks(range(10), example.target, fontsize=8)
        axis.grid(False)
        axis.set(title=example.locale, xlabel="read", ylabel="written")
show(
    figure,
    "Korean is read along the diagonal, French from the end to the start, English year first.",
)

# %% [markdown]
# Korean writes dates in the order of ISO: the eye goes along. French has them reversed: the year is read last and written
# first. American English has the month before the day, so the year's block has moved and the other two keep their order.
# At the hyphens and at leading zeros there is nothing to read, and the weights lie anywhere, often at the year.
#
# For dates we *know* which characters belong to which field, so the picture can be judged. The **alignment error rate**
# counts the written digits whose strongest weight lies outside the right field; hyphens do not count.

# %% tags=["experiment"]
rates = {}
for locale in ("ko", "fr", "en_US", "de"):
    examples = [example for example in held_out_dates if example.locale == locale][:100]
    weights = where_it_looked(looking, examples)
    rates[locale] = batch_alignment_error_rate(weights, [example.spans for example in examples])
print({locale: f"{rate:.1%}" for locale, rate in rates.items()})
claim(
    "in every language, fewer than 1 digit in 4 is read in the wrong field",
    max(rates.values()) < 0.25,
)

# %% [markdown]
# Nobody gave it an alignment. It found one because finding it lowers the loss.
#
# Step through the French date, one character at a time, with the slider or the arrow keys. *Where does it look for the
# first digit of the month, and where for a hyphen?*

# %% tags=["explore"]
from course_lib.explore.alignment import alignment

french = chosen[1]
alignment(where_it_looked(looking, [french])[0], list(french.source), list(french.target))

# %% [markdown]
# <!-- concept: L2-love -->
# ### 나는 너를 사랑해
#
# Three hundred small sentences, one of them kept back: 나는 너를 사랑해. Korean has the verb at the end, English has it
# in the middle. *Where must the model look when it writes "love"?*

# %% tags=["experiment"]
SUBJECTS = {"나는": "I", "우리는": "we", "그들은": "they", "아이들은": "the children"}
OBJECTS = {
    "너를": "you",
    "고양이를": "the cat",
    "바다를": "the sea",
    "책을": "the book",
    "음악을": "music",
}
VERBS = {"사랑해": "love", "기다려": "await", "찾아": "seek", "기억해": "remember", "그려": "draw"}
WHEN = {"": "", "매일": "every day", "오늘": "today"}
sentences = [
    (
        f"{subject} {when} {thing} {verb}".split(),
        f"{SUBJECTS[subject]} {VERBS[verb]} {OBJECTS[thing]} {WHEN[when]}".split(),
    )
    for subject in SUBJECTS
    for when in WHEN
    for thing in OBJECTS
    for verb in VERBS
]
love = ("나는 너를 사랑해".split(), "I love you".split())
seen = [pair for pair in sentences if pair != love]
claim("three hundred sentences, one kept back", (len(sentences), len(seen)) == (300, 299))
korean = Vocabulary.from_sequences([source for source, _ in seen])
english = Vocabulary.from_sequences([target for _, target in seen])

torch.manual_seed(0)
encoder = Encoder(len(korean), d_embedding=32, d_hidden=32, bidirectional=True)
decoder = BahdanauDecoder(len(english), 32, 32, encoder.d_output, encoder.d_context)
translator = Seq2Seq(encoder, decoder)
fit(
    translator,
    training_batches(encode_pairs(seen, korean, english), 32),
    sequence_loss,
    steps=200,
    lr=0.01,
)
ids, weights = write(
    translator, make_batch(encode_pairs([love], korean, english)), 8, need_weights=True
)
written = english.decode(ids[0].tolist())

# %% tags=["experiment"]
with style():
    figure, (axis,) = panels(width=3.6)
    axis.imshow(weights[0, : len(written)], vmin=0, vmax=1)
    axis.set_xticks(range(3), love[0])
    axis.set_yticks(range(len(written)), written)
    axis.grid(False)
show(figure, "Writing love, the model looks at 사랑해; writing you, at 너를.")
print("나는 너를 사랑해 →", " ".join(written))
looked_at = {
    word: love[0][int(row.argmax())] for word, row in zip(written, weights[0], strict=False)
}
claim("the sentence it never saw is translated", written == ["I", "love", "you"])
claim('writing "love" it looks at 사랑해', looked_at.get("love") == "사랑해")
claim('writing "you" it looks at 너를', looked_at.get("you") == "너를")

# %% [markdown]
# Look at the row of "I" as well: it need not point at 나는. The encoder reads in both directions, so the state at the last
# word knows the whole sentence, and the model may read the subject there. Attention shows where a model looked, not what
# it found there. Lesson 12 comes back to this.
#
# ## The wall is gone
#
# Lesson 1's task, the same number of numbers for each letter read: 32 in each direction, 64 together. *Sketch the curve
# before you run the cell.*

# %% tags=["experiment"]
from course_lib.experiments.bottleneck import D_EMBEDDING, VOCABULARY, make_batches, measure

torch.manual_seed(0)
encoder = Encoder(len(VOCABULARY), D_EMBEDDING, d_hidden=32, bidirectional=True)
decoder = BahdanauDecoder(len(VOCABULARY), D_EMBEDDING, 64, encoder.d_output, encoder.d_context)
copier = Seq2Seq(encoder, decoder).to(device)
fit(copier, make_batches("copy", seed=0), sequence_loss, steps=600, lr=0.005)
lengths = (4, 8, 12, 16, 20)
live = measure(copier, "copy", lengths, count=200)["token"]

# %% tags=["experiment"]
with style():
    figure, (axis,) = panels()
    axis.plot(
        lengths,
        [fixed_vector[length] for length in lengths],
        marker="o",
        label="one vector, 1,200 steps",
    )
    axis.plot(lengths, list(live.values()), marker="s", label="attention, 600 steps")
    axis.set(xlabel="letters to copy", ylabel="share right", ylim=(0, 1.02), xticks=lengths)
    axis.legend()
show(
    figure,
    "With attention the share of letters copied stays high up to 20 letters; without it, it collapses.",
)
fall, fall_before = live[4] - live[20], fixed_vector[4] - fixed_vector[20]
print({length: f"{live[length]:.0%}" for length in lengths})
claim("of 20 letters, more than 6 in 10 come through", live[20] > 0.6)
claim("the fall from 4 to 20 letters is less than half of what it was", fall < fall_before / 2)

# %% [markdown]
# ## Bug hunt: a picture that says nothing
#
# A colleague keeps the encoder states in a buffer, as a famous tutorial does. The loss falls, dates come out, and the
# colleague has never drawn the weights. *Draw them, and measure how much the loss depends on what is looked at.*


# %% tags=["experiment"]
class ColleaguesModel(Seq2Seq):
    def encode(self, source, source_lengths):
        outputs, context = self.encoder(source, source_lengths)
        buffer = torch.zeros_like(outputs)
        for j in range(source.shape[1]):
            state = outputs[:, j]
            buffer[:, j] = buffer[:, j] + state - state
        mask = (
            (torch.arange(source.shape[1]) < source_lengths[:, None]).unsqueeze(1).to(source.device)
        )
        return self.decoder.start(buffer, context, mask)


honest = date_model(BahdanauDecoder, d_output=128)
suspect = ColleaguesModel(honest.encoder, honest.decoder)
history = fit(
    suspect, training_batches(training_pairs, batch_size=64), sequence_loss, steps=150, lr=0.01
)
batch = make_batch(encode_pairs(text_pairs(chosen[:1]), source_vocabulary, target_vocabulary))
_, weights = write(suspect, batch, max_length=10, need_weights=True)
claim("the loss has fallen, as in any training", history.losses[-1] < 0.5 * history.losses[0])

# %% tags=["experiment"]
with style():
    figure, (axis,) = panels(width=4.4)
    axis.imshow(weights[0].cpu(), vmin=0, vmax=1, aspect="auto")
    axis.grid(False)
    axis.set(xlabel="read", ylabel="written")
show(figure, "Every row is the same even colour: each position gets the same weight.")


def reads_the_source(model):
    """Norm of the gradient of the loss with respect to the encoder's outputs, through attention alone."""
    outputs_seen = []
    hook = model.encoder.register_forward_hook(
        lambda module, inputs, result: (
            outputs_seen.append(result[0].requires_grad_()) or (outputs_seen[0], result[1].detach())
        )
    )
    loss = sequence_loss(model, batch.to(device))
    hook.remove()
    return torch.autograd.grad(loss, outputs_seen[0])[0].norm().item()


through_attention = {"suspect": reads_the_source(suspect), "yours": reads_the_source(looking)}
print({name: f"{norm:.2g}" for name, norm in through_attention.items()})
spread_of_weights = (weights[0].amax(-1) - weights[0].amin(-1)).max().item()
claim("all real positions get the same weight, at every step", spread_of_weights < 1e-6)
claim("no gradient reaches the encoder through attention", through_attention["suspect"] == 0.0)
claim("in an honest model it does", through_attention["yours"] > 0)

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# The buffer stays zero: each state is added and taken away again. All keys are equal, so all scores of a row are, and
# the weights are uniform; all values are zero, so the context is. The model has fallen back to lesson 1: it lives on the
# first state alone. Shapes fit, the loss falls, weights sum to 1. An even heat map and a gradient of exactly 0 give it
# away. Attention that never read the encoder stood in an official tutorial for years.
#
# </details>
#
# ## In short
#
# | part | what it computes | what to mind |
# | --- | --- | --- |
# | score | $e_{t,j} = v^\top \tanh(W_q s_{t-1} + W_k h_j)$ | the state *before* the step asks |
# | weights | $\alpha_t = \mathrm{softmax}(e_t)$ over the source | padding gets none; an empty row gets 0, not `nan` |
# | context | $c_t = \sum_j \alpha_{t,j} h_j$ | new at each step |
# | update | $s_t = \mathrm{RNN}(s_{t-1}, [c_t; y_{t-1}])$ | look first, then write |
# | learning | by the gradient alone | nobody says where to look |
# | the picture | weights, rows = written, columns = read | where it looked, not what it found |
#
# ## What you should want now
#
# Every pair of state and position went through a tanh layer of its own: S positions times T steps, one step after the
# other. A dot product is one number from one matrix product. Lesson 3 asks whether the cheap score is good enough, and
# where attention should stand.
#
# **Further reading.** Bahdanau, Cho and Bengio (2015), *Neural machine translation by jointly learning to align and
# translate*. Och and Ney (2003) on alignment error rates. Graves (2013), *Generating sequences with recurrent neural
# networks*, had a soft window over the input before it was called attention.

# %% tags=["nbval-ignore-output"]
progress()
