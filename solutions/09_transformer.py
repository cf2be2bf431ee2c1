# ---
# jupyter:
#   course:
#     title: The Transformer
#     question: How do all the parts become one model that translates?
#     outcomes:
#     - build the decoder's block, both masks and the whole forward pass from your own functions
#     - say what happens in one pass in training and token by token in writing, and show that the two agree
#     - train with the paper's schedule and label smoothing, and translate sentences the model never saw
#     - look at who looks where, and at what each layer knows
#     minutes: 100
#     prerequisites: [lesson 7, lesson 8]
#     exercises: [make_masks, decoder_block, transformer_forward, noam_rate, label_smoothing_loss]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 9 · The Transformer
#
# **How do all the parts become one model that translates?** · 100 minutes
#
# 나는 너를 사랑해. At the end of this lesson a model that you have built from your own functions reads this sentence and writes *I love
# you*, without ever having seen it. Two parts are missing: the side that writes, and the way to train both.

# %% tags=["setup"]
import functools

import torch
from course_lib import check, hint, mine, pick_device, progress, solution
from course_lib.blocks import DecoderBlock
from course_lib.claims import claim
from course_lib.data.batches import encode_pairs, evaluation_batches, training_batches
from course_lib.data.korean import (
    korean_examples,
    read_korean,
    token_pairs,
    write_english,
    write_korean,
)
from course_lib.data.vocabulary import BOS, EOS, PAD, Vocabulary
from course_lib.evaluation import alignment_error_rate, exact_matches
from course_lib.figures import panels, show, style
from course_lib.generation import write
from course_lib.training import fit, sequence_loss
from course_lib.training.schedules import noam_rate as library_rate
from course_lib.transformer import Transformer
from course_lib.transformer import make_masks as library_masks
from course_lib.transformer_figure import draw_transformer
from course_lib.translation import Translation, translate
from torch import nn
from torch.nn import functional

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# <!-- concept: L9-encoder -->
# ## What you have
#
# This is the figure of the paper (Vaswani et al. 2017). Each box names the function of this course that computes it; the filled ones you
# have built. On the left stands the **encoder** (인코더): $N$ blocks of lesson 8, six in the paper, one on top of the other, each with weights of
# its own. What leaves the last of them is the **memory**: one vector for every source word.

# %%
built = {
    "softmax", "shift_right", "MultiHeadAttention", "sinusoidal_encoding", "feed_forward", "residual", "encoder_block"
}  # fmt: skip
with style():
    figure = draw_transformer(built)
show(
    figure,
    "The encoder is complete; in the decoder the block, the scores and the masks are missing.",
)

# %% [markdown]
# ## Three attentions, two masks
#
# | attention | queries from | keys and values from | may see |
# | --- | --- | --- | --- |
# | in the encoder | source | source | all real source words |
# | in the decoder, first | target | target | real target words, not in the future |
# | in the decoder, second | target | memory | all real source words |
#
# *Three attentions: why are two masks enough?* Both can be made from the ids alone, since padding has an id of its own and the
# future is a matter of places. You have both functions from lesson 5, and the shortcut from lesson 8:

# %% tags=["nbval-ignore-output"]
padding_mask, causal_mask, residual = mine("padding_mask"), mine("causal_mask"), mine("residual")


# %% exercise="make_masks" role="answer"
def make_masks(source_ids, target_ids, pad):
    """Both masks of a Transformer from ids alone. source_ids: (B, S). target_ids: (B, T), the decoder's input.

    Returns the source mask (B, 1, S), real tokens, and the target mask (B, T, T), real tokens that are not in the future.
    Bool, True = may attend.
    """
    ### BEGIN SOLUTION
    T = target_ids.shape[1]
    source_mask = padding_mask(source_ids, pad)
    target_mask = padding_mask(target_ids, pad) & causal_mask(T, T)  # (B, 1, T) & (T, T)
    return source_mask, target_mask
    ### END SOLUTION


# %% exercise="make_masks" role="check"
check("make_masks")

# %% [markdown]
# Two are enough because a mask speaks of keys: the encoder and the second attention of the decoder both look at the source, and one row,
# `(B, 1, S)`, serves all queries, however many there are. Where the future counts, each query needs a row of its own.
#
# <!-- concept: L9-decoder -->
# ## The block that writes
#
# A decoder block has three parts: self-attention under the target mask; **cross-attention** (교차 어텐션), in which the target asks and the memory
# answers, lesson 2's attention in its final form; and the feed-forward network. Around each a shortcut, with a norm of its own.


# %% exercise="decoder_block" role="answer"
def decoder_block(
    x,
    memory,
    target_mask,
    source_mask,
    self_attention,
    cross_attention,
    feed_forward,
    norm_1,
    norm_2,
    norm_3,
    norm_first=False,
):
    """Masked self-attention, cross-attention to the memory, feed-forward, each inside its `residual`.

    x: (B, T, D). memory: (B, S, D), the encoder's output. target_mask: bool (B, T, T), source_mask: bool (B, 1, S), True =
    may attend. self_attention, cross_attention: functions (query, key, value, mask) -> (B, T, D). feed_forward, norm_1,
    norm_2, norm_3: functions (B, T, D) -> (B, T, D). Returns (B, T, D).
    """
    ### BEGIN SOLUTION
    x = residual(x, lambda x: self_attention(x, x, x, target_mask), norm_1, norm_first)
    x = residual(x, lambda x: cross_attention(x, memory, memory, source_mask), norm_2, norm_first)
    return residual(x, feed_forward, norm_3, norm_first)
    ### END SOLUTION


# %% exercise="decoder_block" role="check"
check("decoder_block")

# %% [markdown]
# ## From ids to scores
#
# <!-- concept: L9-inputs -->
# **At the bottom** each id becomes its row of an embedding table, times $\sqrt{D}$, plus the vector of its place (lesson 7). The paper
# gives no reason for the factor. A likely one: the same table often serves as the output layer too, where its entries must be small, about $1/\sqrt D$. *How loud
# is such a word beside the vector of its place, whose pairs of sine and cosine have length 1 each?* Measured for $D = 512$:

# %%
torch.manual_seed(0)
word = torch.randn(1000, 512) / 512**0.5
place = mine("sinusoidal_encoding")(50, 512)
lengths = {
    "word": word.norm(dim=-1).mean().item(),
    "word · √D": (word * 512**0.5).norm(dim=-1).mean().item(),
    "place": place.norm(dim=-1).mean().item(),
}
print({name: f"{length:.1f}" for name, length in lengths.items()})
claim(
    "without the factor a word is a fifteenth as long as its place, or less",
    lengths["word"] < lengths["place"] / 15,
)
claim("with it, it is longer than its place", lengths["word · √D"] > lengths["place"])

# %% [markdown]
# <!-- concept: L9-output -->
# **At the top** a linear layer gives each vector a score for every word of the target vocabulary, and softmax makes probabilities of them. To write,
# take the likeliest word, feed it back, again and again. (Softmax is not part of the function: the loss wants scores, lesson 1.)


# %% exercise="transformer_forward" role="answer"
def transformer_forward(
    source_ids,
    target_ids,
    pad,
    source_embedding,
    target_embedding,
    positions,
    encoder_blocks,
    decoder_blocks,
    W_out,
):
    """Scores for the next token at every place of the target, from ids alone.

    source_ids: (B, S). target_ids: (B, T), the decoder's input. source_embedding: (V_s, D), target_embedding: (V_t, D), a
    row for each id; they are multiplied by √D, then positions (P, D) are added, row p at place p. encoder_blocks: tuple of
    functions (x, mask) -> x. decoder_blocks: tuple of functions (x, memory, target_mask, source_mask) -> x, where the
    memory is what the last encoder block returns. W_out: (D, V_t). Returns logits (B, T, V_t).
    """
    ### BEGIN SOLUTION
    source_mask, target_mask = make_masks(source_ids, target_ids, pad)
    scale = source_embedding.shape[-1] ** 0.5
    memory = source_embedding[source_ids] * scale + positions[: source_ids.shape[1]]  # (B, S, D)
    for block in encoder_blocks:
        memory = block(memory, source_mask)
    x = target_embedding[target_ids] * scale + positions[: target_ids.shape[1]]  # (B, T, D)
    for block in decoder_blocks:
        x = block(x, memory, target_mask, source_mask)
    return x @ W_out
    ### END SOLUTION


# %% exercise="transformer_forward" role="check"
check("transformer_forward")

# %%
with style():
    figure = draw_transformer(built | {"decoder_block", "transformer_forward", "make_masks"})
show(figure, "All boxes are filled: this is the whole model.")

# %% [markdown]
# ### With your own: equal to torch's
#
# `nn.Transformer` holds the two stacks, from vectors to vectors. Make one with random weights, hand its parts to *your* functions, and compare: with real
# padding, on both sides.

# %% tags=["nbval-ignore-output"]
my_encoder_block, my_decoder_block = mine("encoder_block"), mine("decoder_block")
my_forward = mine("transformer_forward")
torch.manual_seed(0)
model = Transformer(
    20, 30, d_model=16, num_heads=4, d_ff=32, encoder_layers=3, decoder_layers=2, dropout=0.0
).double()
# Fresh norms and biases are 1 and 0, and would hide a mix-up.
for name, weight in model.named_parameters():
    nn.init.normal_(weight, mean=1.0 if name.endswith("norm.weight") else 0.0, std=0.3)
theirs = model.to_torch()


def attend(attention):
    """One of the library's attentions as a function (query, key, value, mask) -> output."""
    return lambda query, key, value, mask: attention(query, key, value, mask=mask)[0]


encoder_blocks = tuple(
    functools.partial(
        my_encoder_block,
        self_attention=attend(block.self_attention),
        feed_forward=block.feed_forward,
        norm_1=block.around_self_attention.norm,
        norm_2=block.around_feed_forward.norm,
    )
    for block in model.encoder.blocks
)
decoder_blocks = tuple(
    functools.partial(
        my_decoder_block,
        self_attention=attend(block.self_attention),
        cross_attention=attend(block.cross_attention),
        feed_forward=block.feed_forward,
        norm_1=block.around_self_attention.norm,
        norm_2=block.around_cross_attention.norm,
        norm_3=block.around_feed_forward.norm,
    )
    for block in model.decoder.blocks
)
source = torch.tensor([[5, 9, 4, 7, 6], [8, 3, 6, PAD, PAD]])
target = torch.tensor([[BOS, 7, 12, 5], [BOS, 9, PAD, PAD]])
tables = model.source_embedding.weight, model.target_embedding.weight
places = mine("sinusoidal_encoding")(10, 16).double()
embedded = [
    table[ids] * 16**0.5 + places[: ids.shape[1]]
    for table, ids in zip(tables, (source, target), strict=True)
]
with torch.no_grad():
    ours = my_forward(
        source, target, PAD, *tables, places, encoder_blocks, decoder_blocks, model.output.weight.mT
    )
    hidden = torch.ones(4, 4, dtype=torch.bool).triu(1)  # torch: True = may NOT attend
    expected = model.output(
        theirs(
            *embedded,
            tgt_mask=hidden,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
        )
    )
apart = (ours - expected)[target != PAD].abs().max().item()
print(f"largest difference to nn.Transformer: {apart:.0e}")
claim("your Transformer is torch's, to ten digits", apart < 1e-10)

# %% [markdown]
# ## The grammar
#
# A small grammar of ours makes Korean sentences with their English: subject, object, verb, tense, negation, time, place. Particles
# (는, 를) are tokens of their own. 20,000 pairs to train on; 1,000 sentences held out, 나는 너를 사랑해 the first of them; and 1,000 more
# in which a verb and an object, or a subject and a verb, stand together that *never* did in training.

# %%
training, held_out, combinations = korean_examples()
source_vocabulary = Vocabulary.from_sequences([example.source for example in training])
target_vocabulary = Vocabulary.from_sequences([example.target for example in training])
pairs = encode_pairs(token_pairs(training), source_vocabulary, target_vocabulary)
tests = {
    name: evaluation_batches(
        encode_pairs(token_pairs(examples), source_vocabulary, target_vocabulary), 1000
    )[0]
    for name, examples in (("sentences", held_out), ("combinations", combinations))
}
for example in (*held_out[:3], *combinations[:2]):
    print(write_korean(example.source), "→", write_english(example.target))
print(len(source_vocabulary), "Korean tokens,", len(target_vocabulary), "English")
trained_on = {example.source for example in training}
claim("나는 너를 사랑해 is held out", held_out[0].source not in trained_on)
claim(
    "no held-out sentence was trained on",
    not trained_on & {e.source for e in held_out + combinations},
)


def make_model(**options):
    """Two blocks a side, 64 wide; the output layer is the target's embedding table (tied: one matrix, two uses)."""
    torch.manual_seed(0)
    sizes = {"d_model": 64, "num_heads": 4, "d_ff": 256, "encoder_layers": 2, "decoder_layers": 2}
    vocabularies = len(source_vocabulary), len(target_vocabulary)
    return Transformer(*vocabularies, **sizes, dropout=0.0, tied="output", **options).to(device)


# %% [markdown]
# (The paper ties the source's table too, and while training it sets a tenth of the numbers behind each part to 0 at random: *dropout*, against
# learning by heart. The sentences held out below come out right without it.)
#
# <!-- concept: L9-teacher -->
# ## All at once, one by one
#
# In training the true target is known, so it goes in **all at once**: $T$ places, $T$ predictions, one pass. The causal mask makes each place see
# only what a writer would have seen. When writing, nothing is known but what was written: **one by one**. *Do the two give the same
# scores? How many passes does each need?*

# %%
model = make_model().eval()
first = encode_pairs(token_pairs(held_out[:1]), source_vocabulary, target_vocabulary)
example = evaluation_batches(first)[0].to(device)  # one sentence alone has no padding
source, decoder_input = example.source, example.decoder_input
print("the decoder's input:", [target_vocabulary.symbols[token] for token in decoder_input[0]])
with torch.no_grad():
    at_once = model(source, None, decoder_input)[0]  # (T, V)
    state, one_by_one = model.encode(source), []
    for token in decoder_input[0]:
        logits, state = model.step(token.unsqueeze(0), state)
        one_by_one.append(logits[0])
passes = {"at once": 1, "one by one": len(one_by_one)}
print("passes through the decoder:", passes)
claim("both ways give the same scores", torch.allclose(at_once, torch.stack(one_by_one), atol=1e-4))

# %% [markdown]
# Lesson 1's RNN had to go one by one even in training. Here a whole batch of sentences, with all their places, is one pass: one reason why the Transformer
# could grow so large.
#
# <!-- concept: L9-one-loss -->
# ## One loss
#
# Embeddings, $W_Q$, $W_K$, norms, networks: nobody tells any of them what to do. One number at the end, the surprise at the true next words, sends its
# gradient through all of it. *Is there a part it does not reach?*

# %%
batch = next(training_batches(pairs, 64, seed=0)).to(device)
sequence_loss(model, batch).backward()
reached = [name for name, weight in model.named_parameters() if weight.grad.abs().max() > 0]
print(f"{len(reached)} of {len(list(model.parameters()))} weights get a gradient")
claim("every weight is reached", len(reached) == len(list(model.parameters())))
claim("the sinusoid has nothing to learn", not list(model.source_embedding.positions.parameters()))

# %% [markdown]
# Learned: embeddings, all projections, both layers of each network, weight and bias of each norm. Fixed: the sinusoid, the masks, the order of the parts, the number of heads and
# blocks, the scale $\sqrt{d_k}$.
#
# *How many weights has the paper's base model: 6 + 6 blocks, D = 512, 8 heads, 2,048 inside, one vocabulary of 37,000 for everything?* Count
# first, by hand:

# %%
D, d_ff, V, N = 512, 2048, 37_000, 6
counts = {
    "one attention": 4 * (D * D + D),
    "one feed-forward": 2 * D * d_ff + d_ff + D,
    "one norm": 2 * D,
    "embedding, both sides and output": V * D,
}
encoder = counts["one attention"] + counts["one feed-forward"] + 2 * counts["one norm"]
decoder = 2 * counts["one attention"] + counts["one feed-forward"] + 3 * counts["one norm"]
total = N * (encoder + decoder) + counts["embedding, both sides and output"]
print({name: f"{count:,}" for name, count in counts.items()})
shares = {
    "attentions": 3 * N * counts["one attention"],
    "feed-forward networks": 2 * N * counts["one feed-forward"],
    "embedding": counts["embedding, both sides and output"],
}
print({name: f"{count / 1e6:.1f} million" for name, count in shares.items()}, f"in all {total:,}")
with torch.device("meta"):  # shapes only, no memory
    base = Transformer(V, V, tied="all")
claim("by hand 63,082,496", total == 63_082_496)
claim("the model has exactly as many", sum(w.numel() for w in base.parameters()) == total)
claim(
    "the feed-forward networks hold the most",
    max(shares, key=shares.get) == "feed-forward networks",
)

# %% [markdown]
# The paper says 65 million; its vocabulary was "about 37,000". The feed-forward networks hold the most, 25 million; attentions and vocabulary have 19 million
# each. (Eight heads or one: the count is the same, lesson 6.)

# %% [markdown]
# ## The paper's training
#
# ### A rate that rises and falls
#
# $$\eta = D^{-1/2} \cdot \min(step^{-1/2},\ step \cdot warmup^{-3/2})$$
#
# Up in a straight line for `warmup` steps, then down with the root of the step. You saw in lesson 8 why post-norm needs the way up.


# %% exercise="noam_rate" role="answer"
def noam_rate(step, d_model, warmup):
    """The learning rate of a step: D^-0.5 · min(step^-0.5, step · warmup^-1.5) (Vaswani et al. 2017, eq. 3).

    step: 1 for the first update; ValueError for less. It rises for `warmup` steps, then falls. Returns a float.
    """
    ### BEGIN SOLUTION
    if step < 1:
        raise ValueError(f"step: expected at least 1, got {step}")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    ### END SOLUTION


# %% exercise="noam_rate" role="check"
check("noam_rate")

# %% [markdown]
# *What becomes of the highest rate when the warm-up is twice as long? When the model is half as wide?*

# %% tags=["nbval-ignore-output"]
my_rate = mine("noam_rate")
steps = range(1, 20_001, 50)
with style():
    figure, (axis,) = panels(width=4.6)
    for d_model, warmup in ((512, 4000), (512, 8000), (256, 4000)):
        rates = [my_rate(step, d_model, warmup) for step in steps]
        axis.plot(steps, rates, label=f"D = {d_model}, warm-up {warmup}")
    axis.set(xlabel="step", ylabel="rate")
    axis.legend()
show(
    figure,
    "Three tents: up in a line to the end of the warm-up, then down with the root of the step.",
)
highest = max(range(1, 20_001), key=lambda step: my_rate(step, 512, 4000))
peak = my_rate(highest, 512, 4000)
print(f"the paper's largest rate: {peak:.2e}, at step {highest:,}")
claim("the paper's rate is largest at step 4,000", highest == 4000)
claim("it is seven in ten thousand there", abs(peak - 7e-4) < 5e-6)
claim(
    "twice the warm-up takes √2 from it, half the width gives √2 to it",
    abs(peak / my_rate(8000, 512, 8000) - 2**0.5) < 1e-6
    and abs(my_rate(4000, 256, 4000) / peak - 2**0.5) < 1e-6,
)

# %% [markdown]
# ### Never quite sure
#
# Cross-entropy is content only when the true word has probability 1: the scores grow without end. **Label smoothing** (레이블 스무딩; Szegedy et al. 2016)
# asks for a little less: a share $\epsilon$ is spread over all other words. *All? One symbol must never get any.*


# %% exercise="label_smoothing_loss" role="answer"
def label_smoothing_loss(logits, target, smoothing, pad):
    """Cross-entropy against a softened target, mean over the real tokens, in nats.

    logits: (B, T, V). target: (B, T) ids; places that hold `pad` do not count. The true id gets the share 1 - smoothing,
    each other id but `pad` gets smoothing / (V - 2), and `pad` gets nothing. Returns a 0-d tensor.
    """
    ### BEGIN SOLUTION
    V = logits.shape[-1]
    share = torch.full_like(logits, smoothing / (V - 2))  # (B, T, V)
    share[..., pad] = 0.0
    share = share.scatter(-1, target.unsqueeze(-1), 1 - smoothing)
    loss = -(share * logits.log_softmax(dim=-1)).sum(dim=-1)  # (B, T)
    return loss[target != pad].mean()
    ### END SOLUTION


# %% exercise="label_smoothing_loss" role="check"
check("label_smoothing_loss")

# %% [markdown]
# <!-- concept: L9-translate -->
# ## 나는 너를 사랑해
#
# Six hundred steps, 64 sentences each. *How many of the 1,000 sentences that it never saw will be right, word for word? And of the combinations
# that it never saw?*


# %% tags=["experiment"]
def exact(model, batch):
    """Share of sentences that are right, word for word, up to the end."""
    return exact_matches(write(model, batch, 20).cpu(), batch.target, EOS).float().mean().item()


model = make_model()
history = fit(
    model,
    training_batches(pairs, 64, seed=0),
    functools.partial(sequence_loss, smoothing=0.1),
    steps=600,
    lr=lambda step: library_rate(step, d_model=64, warmup=200),
    evaluate=lambda model: {name: exact(model, batch) for name, batch in tests.items()},
    evaluate_every=200,
)
results = history.metrics[-1]
for row in history.metrics:
    print(f"step {row['step']}: " + ", ".join(f"{name} {row[name]:.1%}" for name in tests))

# %% tags=["experiment"]
to_english = functools.partial(
    translate, model, source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary
)
love = to_english("나는 너를 사랑해")
print("나는 너를 사랑해 →", love.text)
claim("it writes I love you", list(love.target[:-1]) == ["I", "love", "you"])
claim(
    "of the held-out sentences at least 98 in 100 are exactly right", results["sentences"] >= 0.98
)
claim("of the held-out combinations too", results["combinations"] >= 0.98)

# %% [markdown]
# It has learned how sentences are *built*, not a list of them: a verb that it never saw with this object finds its place and its form.
#
# And smoothing? With $\epsilon = 0.1$ the loss is least when the true word gets 0.9, not 1. *What does the model give it?*

# %% tags=["experiment"]
with torch.no_grad():
    batch = tests["sentences"].to(device)
    logits, weights = model(batch.source, None, batch.decoder_input, need_weights=True)
real = batch.target != PAD
sure = logits.softmax(-1).gather(-1, batch.target.unsqueeze(-1)).squeeze(-1)[real].mean().item()
print(f"probability of the true next word, mean: {sure:.2f}")
claim("it is sure, but not quite: between 0.85 and 0.92", 0.85 < sure < 0.92)

# %% [markdown]
# ## Who looks where
#
# The grammar knows which Korean tokens each English word comes from. So the cross-attention can be measured as in lesson 2: the *alignment error rate*, the share of
# words whose largest weight lies outside. *Which of the two layers will align better, the first or the last?*

# %% tags=["experiment"]
errors = {}
for layer, table in enumerate(weights.cross):
    mean = table.mean(dim=1).cpu()  # over the heads, (B, T, S)
    rows = [alignment_error_rate(mean[i], e.spans) for i, e in enumerate(held_out)]
    errors[layer] = sum(rows) / len(rows)
    print(f"layer {layer + 1}: alignment error {errors[layer]:.3f}")
with style():
    figure, axes = panels(2, width=2.8, height=3.0)
    for layer, axis in enumerate(axes):
        axis.imshow(love.cross[layer].mean(0), vmin=0, vmax=1, aspect="auto")
        axis.grid(False)
        axis.set_xticks(range(len(love.source)), love.source)
        axis.set_yticks(range(len(love.target)), love.target)
        axis.set_title(f"layer {layer + 1}, mean over heads")
show(figure, "In the last layer I looks at 나 는, love at 사랑해, you at 너 를.")
looks = [love.source[row.argmax()] for row in love.cross[-1].mean(0)]
claim(
    "in 나는 너를 사랑해 each word looks most at its own",
    all(token in own for token, own in zip(looks, ("나는", "사랑해", "너를"), strict=False)),
)
claim("in the last layer fewer than 15 in 100 words look elsewhere", errors[1] < 0.15)
claim("the first layer errs more", errors[0] > errors[1])

# %% [markdown]
# Nobody told it where to look: one loss on the words did. (That weights *explain* an output is another claim; lesson 12 takes it up.)
#
# ### The translator
#
# Type a sentence of the grammar, pick a layer and a head, step through the words. A word it does not know it will name.

# %% tags=["explore"]
from course_lib.explore.translator import translator

sentences = [write_korean(example.source) for example in (*held_out[:4], *combinations[:2])]
translator(to_english, sentences)

# %% [markdown]
# Korean lets the object stand first: 너를 나는 사랑해 still means *I love you*, for the particles tell who loves whom. *What will the model write?*


# %% tags=["experiment"]
def first_particle(tokens):
    """The first particle of a subject (는, 은, 가, 이) or an object (를, 을) in a sentence, "" without any."""
    return next((token for token in tokens if token in ("는", "은", "가", "이", "를", "을")), "")


turned = to_english("너를 나는 사랑해")
print("너를 나는 사랑해 →", turned.text)
begins = {first_particle(example.source) for example in training}
claim("no sentence of the training has its object first", not begins & {"를", "을"})
claim("it does not write I love you", list(turned.target[:-1]) != ["I", "love", "you"])

# %% [markdown]
# In training the one who acts always stood before the object, so the place was enough, and the particles were not needed. It has learned the grammar that it was
# shown, not Korean.
#
# <!-- concept: L9-layers -->
# ## What each layer knows
#
# Take the decoder's vectors at each height, and let a *linear probe* read two things off them: the word that was just **read**, which is the surface; and
# the word that will be **written** next, which takes the sentence's meaning. Fitted on 3,000 training sentences, tested on held-out ones. *How do the two
# curves run from bottom to top?*


# %% tags=["experiment"]
@torch.no_grad()
def heights(batch):
    """The decoder's vectors of the real tokens at each height, a list of (tokens, D); what was read and what comes."""
    batch = batch.to(device)
    source_mask, target_mask = library_masks(batch.source, batch.decoder_input, PAD)
    memory, _ = model.encoder(model.source_embedding(batch.source), mask=source_mask)
    x = model.target_embedding(batch.decoder_input)
    vectors, real = [x], batch.target != PAD
    for block in model.decoder.blocks:
        x, *_ = block(x, memory, mask=target_mask, memory_mask=source_mask)
        vectors.append(x)
    read, next_word = batch.decoder_input[real].cpu(), batch.target[real].cpu()
    return [x[real].cpu().double() for x in vectors], {"read": read, "next": next_word}


def probe(inputs, labels, new_inputs, new_labels):
    """Share of labels that a linear map finds, fitted by ridge regression on the first pair, tested on the second."""
    one_hot = functional.one_hot(labels, len(target_vocabulary)).double()
    gram = inputs.mT @ inputs + 0.01 * torch.eye(inputs.shape[1], dtype=torch.float64)
    return (
        ((new_inputs @ torch.linalg.solve(gram, inputs.mT @ one_hot)).argmax(-1) == new_labels)
        .double()
        .mean()
        .item()
    )


vectors, labels = heights(evaluation_batches(pairs[:3000], 3000)[0])
new_vectors, new_labels = heights(tests["sentences"])
found = {
    what: [
        probe(x, labels[what], new, new_labels[what])
        for x, new in zip(vectors, new_vectors, strict=True)
    ]
    for what in ("read", "next")
}
with style():
    figure, (axis,) = panels(width=4.2)
    for what, marker in (("read", "o"), ("next", "s")):
        axis.plot(
            ["embedding", "block 1", "block 2"],
            found[what],
            marker=marker,
            label=f"the word {what}",
        )
    axis.set(ylabel="share found by the probe", ylim=(0, 1))
    axis.legend()
show(figure, "From bottom to top the word read fades, and the word to write next appears.")
for what, shares in found.items():
    print(f"{what}:", [f"{share:.0%}" for share in shares])
claim("at the bottom the word just read is found more than 8 times in 10", found["read"][0] > 0.8)
claim("at the top fewer than 7 times in 10", found["read"][-1] < 0.7)
claim("the next word is found fewer than 5 times in 10 at the bottom", found["next"][0] < 0.5)
claim("at the top more than 8 times in 10", found["next"][-1] > 0.8)

# %% [markdown]
# (Even at the bottom not every word is found: a linear map of 64 numbers has to tell 285 words apart.)
#
# From what stands there to what the sentence wants next, in two steps. In BERT, an encoder, probes find a similar order over its layers, less tidily: parts of
# speech early, who is meant by a pronoun late (Tenney et al. 2019).
#
# ## With your own, from top to bottom
#
# Now without the library's model: your attention, your network, your norms, your blocks, your masks, your forward pass; your rate and your loss; and lesson 1's
# `greedy_decode` to write. The classes only hold the weights. What you have not passed yet, `mine` takes from the course, and says so.


# %% tags=["experiment"]
my = {
    name: mine(name)
    for name in (
        "MultiHeadAttention", "sinusoidal_encoding", "feed_forward", "layer_norm", "encoder_block", "decoder_block",
        "transformer_forward", "noam_rate", "label_smoothing_loss", "greedy_decode", "split_heads", "masked_attention",
    )
}  # fmt: skip


class Network(nn.Module):
    """The weights of a feed-forward network, and your function."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.W_1, self.W_2 = (
            nn.Parameter(torch.randn(*size) / size[0] ** 0.5)
            for size in ((d_model, d_ff), (d_ff, d_model))
        )
        self.b_1, self.b_2 = nn.Parameter(torch.zeros(d_ff)), nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return my["feed_forward"](x, self.W_1, self.b_1, self.W_2, self.b_2)


class Norm(nn.Module):
    """The weights of a layer norm, and your function."""

    def __init__(self, d_model):
        super().__init__()
        self.weight, self.bias = (
            nn.Parameter(torch.ones(d_model)),
            nn.Parameter(torch.zeros(d_model)),
        )

    def forward(self, x):
        return my["layer_norm"](x, self.weight, self.bias)


class MyEncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attention, self.network = (
            my["MultiHeadAttention"](d_model, num_heads),
            Network(d_model, d_ff),
        )
        self.norms = nn.ModuleList(Norm(d_model) for _ in range(2))

    def forward(self, x, mask):
        return my["encoder_block"](x, mask, self.self_attention, self.network, *self.norms)


class MyDecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attention, self.cross_attention = (
            my["MultiHeadAttention"](d_model, num_heads) for _ in range(2)
        )
        self.network, self.norms = (
            Network(d_model, d_ff),
            nn.ModuleList(Norm(d_model) for _ in range(3)),
        )

    def forward(self, x, memory, target_mask, source_mask):
        attentions = self.self_attention, self.cross_attention
        return my["decoder_block"](
            x, memory, target_mask, source_mask, *attentions, self.network, *self.norms
        )


class MyTransformer(nn.Module):
    def __init__(self, d_model=64, num_heads=4, d_ff=256, layers=2):
        super().__init__()
        self.source_embedding, self.target_embedding = (
            nn.Parameter(torch.randn(len(vocabulary), d_model) / d_model**0.5)
            for vocabulary in (source_vocabulary, target_vocabulary)
        )
        self.register_buffer("positions", my["sinusoidal_encoding"](64, d_model))
        self.encoder_blocks, self.decoder_blocks = (
            nn.ModuleList(block(d_model, num_heads, d_ff) for _ in range(layers))
            for block in (MyEncoderBlock, MyDecoderBlock)
        )

    def forward(self, source, source_lengths, decoder_input):
        tables = self.source_embedding, self.target_embedding, self.positions
        blocks = tuple(self.encoder_blocks), tuple(self.decoder_blocks)
        return my["transformer_forward"](
            source, decoder_input, PAD, *tables, *blocks, self.target_embedding.mT
        )


def my_loss(model, batch):
    logits = model(batch.source, None, batch.decoder_input)
    return my["label_smoothing_loss"](logits, batch.target, 0.1, PAD)


@torch.no_grad()
def one_token_at_a_time(model, source, max_length=20):
    """What a model writes: all so far goes in at every step, the last place's scores come out. The state is the text."""

    def step(token, written):
        written = torch.cat([written, token.unsqueeze(1).to(written.device)], dim=1)  # (B, t)
        return model(source, None, written)[:, -1].cpu(), written

    nothing = torch.empty(len(source), 0, dtype=torch.int64, device=source.device)
    return my["greedy_decode"](step, nothing, BOS, EOS, PAD, max_length)


torch.manual_seed(0)
my_model = MyTransformer().to(device)
my_history = fit(
    my_model,
    training_batches(pairs, 64, seed=0),
    my_loss,
    steps=600,
    lr=lambda step: my["noam_rate"](step, 64, 200),
)

# %% tags=["experiment"]
my_model.eval()
my_results, my_lines = {}, {}
for name, batch in tests.items():
    my_lines[name] = one_token_at_a_time(my_model, batch.source.to(device))
    my_results[name] = exact_matches(my_lines[name], batch.target, EOS).float().mean().item()
print({name: f"{share:.1%}" for name, share in my_results.items()})
my_love = target_vocabulary.decode(my_lines["sentences"][0].tolist())
print("나는 너를 사랑해 →", write_english(my_love))
claim("your own model writes I love you", list(my_love) == ["I", "love", "you"])
claim("with your own parts at least 98 in 100 sentences are right", my_results["sentences"] >= 0.98)
claim("and of the combinations", my_results["combinations"] >= 0.98)


# %% [markdown]
# Your model in the translator. Your attention hands back no weights, so a hook on each cross-attention asks for them once more:


# %% tags=["explore"]
@torch.no_grad()
def my_translate(text):
    """Korean text to a Translation, by your model."""
    tokens = read_korean(text)
    source = torch.tensor([source_vocabulary.encode(tokens)], device=device)
    written = one_token_at_a_time(my_model, source)[0].tolist()
    written = written[: written.index(EOS) + 1] if EOS in written else written
    looked = []

    def look(attention, arguments, by_name, output):
        given = dict(zip(("query", "key", "value", "mask"), arguments, strict=False)) | by_name
        query = my["split_heads"](attention.W_Q(given["query"]), 4)
        key = my["split_heads"](attention.W_K(given["key"]), 4)
        mask = given["mask"].unsqueeze(-3)
        looked.append(my["masked_attention"](query, key, key, mask)[1][0])  # (H, T, S)

    hooks = [
        block.cross_attention.register_forward_hook(look, with_kwargs=True)
        for block in my_model.decoder_blocks
    ]
    my_model(source, None, torch.tensor([[BOS, *written[:-1]]], device=device))
    for hook in hooks:
        hook.remove()
    words = tuple(target_vocabulary.symbols[number] for number in written)
    return Translation(tuple(tokens), words, torch.stack(looked).cpu())


translator(my_translate, sentences)

# %% [markdown]
# ## Bug hunt: fluent nonsense
#
# A colleague's Transformer trains without a complaint. The loss falls, the English is flawless. Only the translations are wrong. *What would
# you change in the input, and what should then change in the output?*


# %% tags=["experiment"]
class ColleaguesBlock(DecoderBlock):
    def forward(self, x, memory, *, mask=None, memory_mask=None, need_weights=False):
        x, *_ = self.around_self_attention(x, lambda x: self.self_attention(x, mask=mask))
        x, *_ = self.around_cross_attention(x, lambda x: self.cross_attention(x, x, x, mask=mask))
        return self.around_feed_forward(x, self.feed_forward), None, None


class Suspect(Transformer):
    """The library's model, with the colleague's blocks in its decoder."""

    def forward(self, source, source_lengths, decoder_input):
        source_mask, target_mask = library_masks(source, decoder_input, self.pad)
        memory, _ = self.encoder(self.source_embedding(source), mask=source_mask)
        x = self.target_embedding(decoder_input)
        for block in self.decoder.blocks:
            x, *_ = block(x, memory, mask=target_mask, memory_mask=source_mask)
        return self.output(x)


suspect = make_model()
suspect.__class__ = Suspect
for block in suspect.decoder.blocks:
    block.__class__ = ColleaguesBlock
suspect_history = fit(
    suspect,
    training_batches(pairs, 64, seed=0),
    functools.partial(sequence_loss, smoothing=0.1),
    steps=300,
    lr=lambda step: library_rate(step, d_model=64, warmup=200),
)
suspect.eval()
few = evaluation_batches(
    encode_pairs(token_pairs(held_out[:5]), source_vocabulary, target_vocabulary)
)[0]
lines = one_token_at_a_time(suspect, few.source.to(device)).tolist()
for example, line in zip(held_out, lines, strict=False):
    print(write_korean(example.source), "→", write_english(target_vocabulary.decode(line)))
claim(
    "whatever it reads, the suspect writes one and the same sentence",
    all(line == lines[0] for line in lines),
)
losses = {
    name: [sum(losses[:20]) / 20, sum(losses[280:300]) / 20]
    for name, losses in (("yours", history.losses), ("suspect", suspect_history.losses))
}
print({name: [f"{loss:.2f}" for loss in pair] for name, pair in losses.items()})
claim(
    "the suspect's loss falls to less than two thirds",
    losses["suspect"][1] < losses["suspect"][0] * 2 / 3,
)
claim("but it stays above yours", losses["suspect"][1] > losses["yours"][1] + 0.3)


# %% tags=["experiment"]
@torch.no_grad()
def moved_by_the_source(model):
    """How much the scores change when every source is replaced by its neighbour's."""
    batch = few.to(device)
    before = model(batch.source, None, batch.decoder_input)
    return (model(batch.source.roll(1, 0), None, batch.decoder_input) - before).abs().max().item()


def unreached(model):
    """Weights that get no gradient."""
    model.zero_grad()
    sequence_loss(model, few.to(device)).backward()
    return [
        name
        for name, weight in model.named_parameters()
        if weight.grad is None or not weight.grad.any()
    ]


candidates = {"suspect": suspect, "yours": model}
change = {name: moved_by_the_source(candidate) for name, candidate in candidates.items()}
deaf = {name: unreached(candidate) for name, candidate in candidates.items()}
print(
    "another source moves the scores by", {name: f"{value:.2g}" for name, value in change.items()}
)
print(
    "without gradient:",
    {name: len(names) for name, names in deaf.items()},
    deaf["suspect"][:2],
    "...",
)
claim("in the suspect another source changes nothing", change["suspect"] == 0)
claim("in yours it does", change["yours"] > 0.1)
claim(
    "none of the suspect's encoder learns",
    all(n in deaf["suspect"] for n, _ in suspect.named_parameters() if n.startswith("encoder.")),
)
claim("in yours all of it does", not deaf["yours"])

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# `cross_attention(x, x, x, ...)`: keys and values come from the decoder's own stream. The memory is handed in and never read; the model is a language model that
# has learned what English sentences look like. Shapes fit always, and where $T = S$ even the source mask would. Tests: change the source, and the scores must
# change; ask every weight for its gradient.
#
# </details>
#
# ## In short
#
# | part | reads | mask | learned |
# | --- | --- | --- | --- |
# | embedding · √D + positions | ids | | table yes, sinusoid no |
# | encoder block, N times | source | source mask | yes |
# | masked self-attention | target so far | target mask | yes |
# | cross-attention | memory | source mask | yes |
# | linear, softmax | decoder's top | | yes (tied to the table) |
#
# | | training | writing |
# | --- | --- | --- |
# | target | all at once, shifted | one by one, fed back |
# | passes through the decoder | one | one a token |
# | the future | hidden by the mask | not there yet |
#
# ## What you should want now
#
# The likeliest next word, again and again, is the simplest way to write. Is it the best? And how do we judge a translation that is right in other words? Lesson
# 10 writes in better ways and measures them.
#
# **Further reading.** Vaswani et al. (2017), *Attention is all you need*, all of it: you can read every line now. Szegedy et al. (2016),
# *Rethinking the Inception architecture*, section 7, for label smoothing. Press and Wolf (2017), *Using the output embedding to improve language
# models*. Tenney, Das and Pavlick (2019), *BERT rediscovers the classical NLP pipeline*. Popel and Bojar (2018), *Training tips for the Transformer model*.

# %% tags=["nbval-ignore-output"]
progress()
