# ---
# jupyter:
#   course:
#     title: Luong attention
#     question: Is a cheap score good enough, and where should attention stand?
#     outcomes:
#     - write the dot, general and concat scores, and say what each asks of its two vectors
#     - place attention after the RNN step instead of before it, and see the difference in the picture
#     - measure what an additive and a multiplicative score cost in memory as the source grows
#     - find a model in which padding takes part
#     minutes: 50
#     prerequisites: [lesson 2]
#     exercises: [dot_score, general_score, concat_score, attentional_state, luong_step]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 3 · Luong attention
#
# **Is a cheap score good enough, and where should attention stand?** · 50 minutes
#
# Bahdanau's score runs a small network for every pair of target step and source position. In the same year Luong, Pham
# and Manning (2015) tried simpler scores and a simpler place for attention. Both choices lead straight to the
# Transformer.

# %% tags=["setup"]
import torch
from course_lib import attention, check, hint, mine, pick_device, progress, solution
from course_lib.claims import claim
from course_lib.data.batches import encode_pairs, evaluation_batches, make_batch, training_batches
from course_lib.data.dates import date_examples, text_pairs
from course_lib.data.vocabulary import EOS, Vocabulary
from course_lib.evaluation import exact_matches
from course_lib.figures import panels, show, style
from course_lib.generation import write
from course_lib.recurrent import Encoder, Seq2Seq
from course_lib.recurrent_attention import BahdanauDecoder, LuongDecoder
from course_lib.training import fit, sequence_loss

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# <!-- concept: L3-cost -->
# ## What the additive score costs
#
# For one sentence with T target and S source positions the additive score makes $T \cdot S \cdot A$ features, and keeps
# them for the backward pass. A dot product makes $T \cdot S$ numbers, with one matrix product. *How many times more memory
# will the additive score keep for A = 64? Guess before you run the cell.*


# %%
def kept_bytes(compute, *tensors):
    """Bytes that autograd keeps for the backward pass of `compute(*tensors)`, beside the tensors given."""
    given, kept = {tensor.data_ptr() for tensor in tensors}, {}

    def note(tensor):
        if tensor.data_ptr() not in given:
            kept[tensor.data_ptr()] = tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        compute(*tensors)
    return sum(kept.values())


A, T = 64, 20
W_q, W_k, v = (torch.randn(shape, requires_grad=True) for shape in ((64, A), (64, A), (A,)))
W = torch.randn(64, 64, requires_grad=True)
lengths = (16, 32, 64, 128, 256)
additive_bytes, general_bytes = [], []
for S in lengths:
    query = torch.randn(8, T, 64, requires_grad=True)
    key = torch.randn(8, S, 64, requires_grad=True)

    def additive(query, key):
        return attention.masked_softmax(attention.additive_score(query, key, W_q, W_k, v))

    def general(query, key):
        return attention.masked_softmax(attention.general_score(query, key, W))

    additive_bytes.append(kept_bytes(additive, query, key))
    general_bytes.append(kept_bytes(general, query, key))

with style():
    figure, (axis,) = panels()
    axis.loglog(lengths, additive_bytes, marker="o", label="additive")
    axis.loglog(lengths, general_bytes, marker="s", label="general (a dot product with a matrix)")
    axis.set(xlabel="source length", ylabel="bytes kept for the gradient", ylim=(3e4, 1e8))
    axis.set_xticks(lengths, lengths)
    axis.minorticks_off()
    axis.legend()
show(figure, "Both grow with the source; the additive score keeps many times more.")
ratio = additive_bytes[-1] / general_bytes[-1]
print(f"at 256 source positions the additive score keeps {ratio:.0f} times as much")
claim("the additive score keeps more than 20 times the memory", ratio > 20)

# %% [markdown]
# <!-- concept: L3-dot -->
# ## Three cheaper scores
#
# The **dot** score is the plainest: multiply entry by entry and add up. It has no parameters at all. It asks something in
# return: query and key must be equally wide, and live in one space.
#
# $$\mathrm{score}(s_t, h_j) = s_t^\top h_j$$


# %% exercise="dot_score" role="answer"
def dot_score(query, key):
    """e_j = q · k_j for every source position j. query: (B, D). key: (B, S, D). Returns scores (B, S)."""
    ### BEGIN SOLUTION
    return (key @ query.unsqueeze(-1)).squeeze(-1)  # (B, S, D) @ (B, D, 1)
    ### END SOLUTION


# %% exercise="dot_score" role="check"
check("dot_score")

# %% [markdown]
# <!-- concept: L3-general -->
# The **general** score puts a learned matrix between the two: it translates from the decoder's space into the encoder's,
# and the widths may differ. It is the one that is used most.
#
# $$\mathrm{score}(s_t, h_j) = s_t^\top W\, h_j$$


# %% exercise="general_score" role="answer"
def general_score(query, key, W):
    """e_j = q W k_j for every source position j.

    query: (B, Dq). key: (B, S, Dk), the widths may differ. W: (Dq, Dk). Returns scores (B, S).
    """
    ### BEGIN SOLUTION
    return (key @ (query @ W).unsqueeze(-1)).squeeze(-1)  # (B, S, Dk) @ (B, Dk, 1)
    ### END SOLUTION


# %% exercise="general_score" role="check"
check("general_score")

# %% [markdown]
# <!-- concept: L3-concat -->
# The **concat** score joins query and key before one matrix, with tanh and a vector after it. *Have you seen it before?*
#
# $$\mathrm{score}(s_t, h_j) = v^\top \tanh(W\,[s_t; h_j])$$


# %% exercise="concat_score" role="answer"
def concat_score(query, key, W, v):
    """e_j = v^T tanh([q; k_j] W) for every source position j.

    query: (B, Dq). key: (B, S, Dk). W: (Dq + Dk, A). v: (A,). Returns scores (B, S).
    """
    ### BEGIN SOLUTION
    repeated = query.unsqueeze(1).expand(-1, key.shape[1], -1)  # (B, S, Dq)
    return torch.tanh(torch.cat([repeated, key], dim=-1) @ W) @ v  # (B, S, A) @ (A,)
    ### END SOLUTION


# %% exercise="concat_score" role="check"
check("concat_score")

# %% [markdown]
# It is Bahdanau's score with the two matrices stacked. *With your own functions:*

# %% tags=["nbval-ignore-output"]
my_additive, my_concat = mine("additive_score"), mine("concat_score")
query, key = torch.randn(2, 3), torch.randn(2, 5, 4)
first, second, weigh = torch.randn(3, 6), torch.randn(4, 6), torch.randn(6)
one = my_additive(query, key, first, second, weigh)
other = my_concat(query, key, torch.cat([first, second]), weigh)
claim(
    "concat and additive are one score, written in two ways", torch.allclose(one, other, atol=1e-5)
)

# %% [markdown]
# <!-- concept: L3-order -->
# ## Move first, then look
#
# Bahdanau's decoder looks with $s_{t-1}$, before it has read the last token $y_{t-1}$. Luong's takes the RNN step first,
# and looks with $s_t$, which has read it:
#
# | | Bahdanau | Luong |
# | --- | --- | --- |
# | 1 | weights from $s_{t-1}$ | $s_t = \mathrm{RNN}(s_{t-1}, y_{t-1})$ |
# | 2 | context $c_t$ | weights from $s_t$ |
# | 3 | $s_t = \mathrm{RNN}(s_{t-1}, [c_t; y_{t-1}])$ | context $c_t$ |
# | 4 | $s_t$ predicts | $\tilde s_t = \tanh(W_c [c_t; s_t])$ predicts |
#
# Since the context no longer enters the RNN, all RNN steps of a training target can run first, and attention for all
# steps is one matrix product.
#
# <!-- concept: L3-attentional -->
# Context and state meet after the step, in the **attentional state** (어텐션 은닉 상태):
#
# $$\tilde s_t = \tanh(W_c\,[c_t; s_t])$$


# %% exercise="attentional_state" role="answer"
def attentional_state(context, state, W_c):
    """tanh([c; s] W_c). context: (B, D). state: (B, H). W_c: (D + H, A). Returns (B, A)."""
    ### BEGIN SOLUTION
    return torch.tanh(torch.cat([context, state], dim=-1) @ W_c)
    ### END SOLUTION


# %% exercise="attentional_state" role="check"
check("attentional_state")

# %% [markdown]
# <!-- concept: L3-output -->
# It predicts the next token, $p(y_t \mid y_{<t}) = \mathrm{softmax}(W_s\, \tilde s_t)$. What the *next step* starts from is
# $s_t$, not $\tilde s_t$: two vectors that are both called state. Now the whole step, in Luong's order.

# %% tags=["nbval-ignore-output"]
masked_softmax = mine("masked_softmax")


# %% exercise="luong_step" role="answer"
def luong_step(cell, score, W_c, embedded, state, outputs, mask):
    """One step of a decoder that moves first: RNN, then score from s_t, then tanh([c_t; s_t] W_c).

    cell: function (x (B, E), h (B, H)) -> (B, H). score: function (query (B, H), key (B, S, D)) -> (B, S).
    W_c: (D + H, A). embedded: (B, E), the embedding of y_{t-1}. state: (B, H), s_{t-1}. outputs: (B, S, D).
    mask: (B, S) bool, True = a real token. Returns (attentional state (B, A), s_t (B, H), weights (B, S)).
    """
    ### BEGIN SOLUTION
    state = cell(embedded, state)
    weights = masked_softmax(score(state, outputs), mask)
    context = (weights.unsqueeze(1) @ outputs).squeeze(1)
    return attentional_state(context, state, W_c), state, weights
    ### END SOLUTION


# %% exercise="luong_step" role="check"
check("luong_step")

# %% [markdown]
# ## The scores side by side
#
# Dates again, one encoder in one direction, so that state and encoder outputs are equally wide and even the dot score
# fits. Four decoders, 200 steps each. *Which score will be the slowest, and will it be the best?*

# %% tags=["experiment"]
import time

training_dates, held_out_dates = date_examples()
source_vocabulary = Vocabulary.from_sequences([example.source for example in training_dates])
target_vocabulary = Vocabulary.from_sequences([example.target for example in training_dates])
training_pairs = encode_pairs(text_pairs(training_dates), source_vocabulary, target_vocabulary)
held_out_pairs = encode_pairs(
    text_pairs(held_out_dates[:500]), source_vocabulary, target_vocabulary
)
(held_out,) = evaluation_batches(held_out_pairs, batch_size=500)


def date_model(decoder_class, d_hidden=64, bidirectional=False, **options):
    torch.manual_seed(1)
    encoder = Encoder(len(source_vocabulary), 32, 64, bidirectional=bidirectional)
    decoder = decoder_class(
        len(target_vocabulary), 32, d_hidden, encoder.d_output, encoder.d_context, **options
    )
    return Seq2Seq(encoder, decoder).to(device)


def exact_dates(model):
    written = write(model, held_out, 12).cpu()
    return {"dates exactly right": exact_matches(written, held_out.target, EOS).float().mean()}


def train_on_dates(model, steps=200):
    batches = training_batches(training_pairs, batch_size=64)
    return fit(
        model,
        batches,
        sequence_loss,
        steps=steps,
        lr=0.01,
        evaluate=exact_dates,
        evaluate_every=50,
        curve=False,
    )


def seconds_a_step(model, repeats=7):
    """Time of one training step, forward and backward, on one batch: the fastest of a few."""
    batch, times = next(training_batches(training_pairs, 64)).to(device), []
    for _ in range(repeats):
        began = time.perf_counter()
        sequence_loss(model, batch).backward()
        times.append(time.perf_counter() - began)
    return min(times)


decoders = {
    "additive": (BahdanauDecoder, {}),
    "dot": (LuongDecoder, {"score": "dot"}),
    "general": (LuongDecoder, {"score": "general"}),
    "concat": (LuongDecoder, {"score": "concat"}),
}
models, table = {}, {}
for name, (decoder_class, options) in decoders.items():
    models[name] = date_model(decoder_class, **options)
    history = train_on_dates(models[name])
    parameters = sum(parameter.numel() for parameter in models[name].decoder.parameters())
    table[name] = (
        history.metrics[-1]["dates exactly right"],
        parameters,
        seconds_a_step(models[name]),
    )

# %% [markdown]
# <!-- concept: L3-table -->

# %% tags=["experiment"]
slowest = max(seconds for _, _, seconds in table.values())
print("score      exactly right  parameters of the decoder  time of a step (slowest = 1)")
for name, (exact, parameters, seconds) in table.items():
    print(f"{name:9}  {exact:13.1%}  {parameters:25,}  {seconds / slowest:.2f}")
claim(
    "every score learns the dates: more than 3 in 5 after 200 steps",
    min(exact for exact, _, _ in table.values()) > 0.6,
)
claim(
    "dot has the fewest parameters of Luong's three",
    table["dot"][1] < min(table["general"][1], table["concat"][1]),
)
claim(
    "a step of dot is faster than one of the additive decoder",
    table["dot"][2] < table["additive"][2],
)

# %% [markdown]
# Compare the columns of your own table. The plainest scores may need a few more steps; a step of theirs is faster, mostly
# because the RNN of Luong's decoder need not wait for attention. Which score is best depends on the task; that
# multiplicative scores are good enough is what the field built on.
#
# | | Bahdanau | Luong |
# | --- | --- | --- |
# | asks with | $s_{t-1}$ | $s_t$ |
# | score | additive | dot, general, concat |
# | context goes into | the RNN | the prediction |
# | in training | step by step | RNN at once, then one matrix product |
# | memory of the score | T · S · A | T · S (dot, general) |
#
# ### One step apart
#
# The picture shows the two orders. Both models write the same Korean date.

# %% tags=["experiment"]
example = next(e for e in held_out_dates if e.locale == "ko" and e.form == "long")
batch = make_batch(encode_pairs(text_pairs([example]), source_vocabulary, target_vocabulary))
with style():
    figure, axes = panels(2, width=3.6, height=3.2)
    for axis, name in zip(axes, ("additive", "general"), strict=True):
        _, weights = write(models[name], batch, 11, need_weights=True)
        axis.imshow(weights[0, :10].cpu(), vmin=0, vmax=1, aspect="auto")
        axis.set_xticks(range(len(example.source)), example.source, fontsize=8)
        axis.set_yticks(
            range(min(10, weights.shape[1])), example.target[: weights.shape[1]], fontsize=8
        )
        axis.grid(False)
        axis.set(
            title="Bahdanau" if name == "additive" else "Luong, general",
            xlabel="read",
            ylabel="written",
        )
show(figure, "Both read the date along the diagonal; the details of where each looks differ.")


# %% tags=["experiment"]
def reacts_to_last_token(model):
    """Whether the weights of a step change with the token that the step reads."""
    state = model.encode(batch.source.to(device), batch.source_lengths)
    one, other = (
        model.decoder.look(torch.tensor([[token]], device=device), state)[2] for token in (4, 5)
    )
    return not torch.equal(one, other)


with torch.no_grad():
    reacts = {name: reacts_to_last_token(model) for name, model in models.items()}
print(reacts)
claim("Bahdanau looks before it reads the last token", not reacts["additive"])
claim("Luong looks after it", reacts["dot"] and reacts["general"] and reacts["concat"])

# %% [markdown]
# ## Two scores, one query
#
# Three keys lie in the plane, and a query that you can drag, or move with the sliders. *Where must it go so that dot and
# additive disagree about the best key? What does a longer query do to the weights of the dot score?*

# %% tags=["explore"]
from course_lib.explore.score_lab import score_lab

score_lab([[1.0, 0.5], [-0.5, 1.0], [0.2, -1.2]])

# %% [markdown]
# ## Bug hunt: it depends on the neighbours
#
# A colleague's model has nearly the loss of yours. In production a user reports that the same date comes out differently
# on different days. *What differs between the days?*


# %% tags=["experiment"]
class ColleaguesModel(Seq2Seq):
    def encode(self, source, source_lengths):
        outputs, context = self.encoder(source, source_lengths)
        mask = torch.ones(len(source), 1, source.shape[1], dtype=torch.bool, device=source.device)
        return self.decoder.start(outputs, context, mask)


part = date_model(LuongDecoder, score="concat")
suspect = ColleaguesModel(part.encoder, part.decoder)
history = train_on_dates(suspect)
print(f"loss at the end: {sum(history.losses[-10:]) / 10:.3f}")
print(f"exactly right in batches: {history.metrics[-1]['dates exactly right']:.1%}")

# %% tags=["experiment"]
short = min(held_out_dates, key=lambda e: len(e.source))
long = max(held_out_dates, key=lambda e: len(e.source))
pairs = encode_pairs(text_pairs([short, long]), source_vocabulary, target_vocabulary)
alone, together = make_batch(pairs[:1]), make_batch(pairs)


def first_logits(model, batch):
    with torch.no_grad():
        batch = batch.to(device)
        return model(batch.source, batch.source_lengths, batch.decoder_input)[0]


def change_by_company(model):
    return (first_logits(model, alone) - first_logits(model, together)).abs().max().item()


_, weights = write(suspect, together, 11, need_weights=True)
on_padding = weights[0, :, len(short.source) :].sum(-1).mean().item()
changes = {"suspect": change_by_company(suspect), "yours": change_by_company(models["concat"])}
print(f"share of the weight on padding: {on_padding:.0%}")
print(
    "largest change of a logit when the neighbour changes:",
    {k: f"{v:.2g}" for k, v in changes.items()},
)
claim("the suspect's answer for a date depends on its neighbour", changes["suspect"] > 0.01)
claim("yours does not", changes["yours"] < 1e-3)

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# The mask allows everything, so padding takes part. Encoder outputs are 0 there, their score is 0, and exp(0) = 1: they
# take weight from real positions, more of it the longer the neighbours are. With one sentence at a time, or with equal
# lengths, nothing shows; the training loss hardly suffers. Encode a sentence alone and in company, and compare.
#
# </details>
#
# ## In short
#
# | score | formula | asks for | parameters |
# | --- | --- | --- | --- |
# | dot | $s^\top h$ | equal widths | none |
# | general | $s^\top W h$ | nothing | one matrix |
# | concat, additive | $v^\top \tanh(W [s; h])$ | memory T · S · A | a matrix and a vector |
#
# ## What you should want now
#
# The encoder state $h_j$ plays two parts: it is compared, and it is handed over. The state $s_t$ plays two as well: it
# asks, and it remembers. And the RNN still goes step by step. Lesson 4 gives each part a vector of its own.
#
# **Further reading.** Luong, Pham and Manning (2015), *Effective approaches to attention-based neural machine
# translation*. Britz et al. (2017), *Massive exploration of neural machine translation architectures*, compared additive
# and multiplicative scores at scale.

# %% tags=["nbval-ignore-output"]
progress()
