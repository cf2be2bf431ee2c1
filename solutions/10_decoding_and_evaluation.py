# ---
# jupyter:
#   course:
#     title: Decoding and evaluation
#     question: Which text should a model write, and how good is it?
#     outcomes:
#     - write greedily, with a beam, and by chance, with any model that scores the next token
#     - show where greedy misses the likeliest text, and why the likeliest text can be a bad one
#     - tame sampling with temperature, top-k and top-p
#     - compute BLEU by hand, and say what it does not see
#     - train a translator on sentence pairs of your own
#     minutes: 110
#     prerequisites: [lesson 9]
#     exercises: [greedy_search, beam_search, sample_next, corpus_bleu]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 10 · Decoding and evaluation
#
# **Which text should a model write, and how good is it?** · 110 minutes
#
# A trained model gives every next token a probability. It does not say what to *write*. Until now you took the likeliest token, again and again. This lesson writes in
# three ways, finds out what each of them misses, and then asks the harder question: who says that a translation is good?

# %% tags=["setup"]
import functools
import math
import random
import tempfile
from collections import Counter
from pathlib import Path

import torch
from course_lib import check, hint, mine, pick_device, progress, solution
from course_lib.claims import claim
from course_lib.data.batches import encode_pairs, make_batch, training_batches
from course_lib.data.korean_choices import korean_choices, ways_to_say, write_choice
from course_lib.data.pairs import read_pairs
from course_lib.data.vocabulary import BOS, EOS, PAD, Vocabulary
from course_lib.experiments.real_text import load_real_text
from course_lib.figures import panels, show, style
from course_lib.generation import beam, next_logits, sample, write
from course_lib.scores import bleu, chrf
from course_lib.training import fit, sequence_loss
from course_lib.training.schedules import noam_rate
from course_lib.transformer import Transformer

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# ## Many right answers
#
# Lesson 9 went from Korean to English, where our grammar leaves one answer. Turn it around. *How many ways can you think of to say "I love you" in Korean?*

# %%
ways = ways_to_say(("I", "love", "you"))
for tokens, share in ways.items():
    print(f"{write_choice(tokens):12} {share:.3f}")
claim("there are ten", len(ways) == 10)
claim("all of them together are said always", abs(sum(ways.values()) - 1) < 1e-12)

# %% [markdown]
# Korean leaves out who is meant when that is clear, lets an object go without its particle, is plain or polite, marks the subject with 는 or 가 (with a
# nuance that we ignore), puts the time first or second. In this course coins decide, so the truth is known: 너를 사랑해 and 너를 사랑해요, without 나는, come most often. (Our grammar is small: people mostly say
# just 사랑해, and with 요 rather 저 and 당신, or nobody.)
#
# 20,000 pairs to train on, each with **one** way, drawn by chance. And one thing that every collected corpus has: **bad lines**. In one pair of twenty the translation got
# lost and is empty. 300 sentences are held out, each with *all* translations that the grammar allows.

# %%
training, held_out = korean_choices(lost=0.05)
source_vocabulary = Vocabulary.from_sequences([english for english, _ in training])
target_vocabulary = Vocabulary.from_sequences([korean for _, korean in training])
pairs = encode_pairs(training, source_vocabulary, target_vocabulary)
for english, korean in training[:4]:
    print(" ".join(english), "→", write_choice(korean))
lost = sum(not korean for _, korean in training) / len(training)
ways_each = sum(len(sentence.ways) for sentence in held_out) / len(held_out)
print(f"{lost:.1%} of the translations are empty; {ways_each:.1f} right ways a held-out sentence")
claim("one in twenty is empty", 0.045 < lost < 0.055)
claim("a held-out sentence has fifteen right translations on average", 14.5 < ways_each < 16.5)
claim(
    "no held-out sentence was trained on",
    not {english for english, _ in training} & {sentence.english for sentence in held_out},
)

# %% [markdown]
# The model and its training are lesson 9's, label smoothing included.

# %% tags=["experiment"]
torch.manual_seed(0)
model = Transformer(
    len(source_vocabulary),
    len(target_vocabulary),
    d_model=64,
    num_heads=4,
    d_ff=256,
    encoder_layers=2,
    decoder_layers=2,
    dropout=0.0,
    tied="output",
).to(device)
history = fit(
    model,
    training_batches(pairs, 64, seed=0),
    functools.partial(sequence_loss, smoothing=0.1),
    steps=800,
    lr=lambda step: noam_rate(step, d_model=64, warmup=200),
)
model.eval()
tests = make_batch([(source_vocabulary.encode(sentence.english), []) for sentence in held_out])


# %% [markdown]
# <!-- concept: L10-greedy -->
# ## Greedy
#
# **Greedy** (탐욕적) search is lesson 1's `greedy_decode`, with one thing more: it keeps the books. The log-probability of a text is the sum over its tokens,
#
# $$\log p(y \mid x) = \sum_t \log p(y_t \mid y_{<t}, x),$$
#
# and without that number two searches cannot be compared. *Which tokens of a finished row may count?*


# %% exercise="greedy_search" role="answer"
def greedy_search(step, state, batch_size, bos, eos, pad, max_length):
    """The likeliest token at every step, and how likely the whole text is.

    step: function (token (B,), state) -> (logits (B, V), state). state: whatever `step` understands. bos, eos, pad:
    token ids. Returns ids (B, max_length), each row up to and with its `eos`, then `pad`; and scores (B,), the
    log-probability of each text: the sum over its tokens, `eos` among them.
    """
    ### BEGIN SOLUTION
    token = torch.full((batch_size,), bos)
    finished = torch.zeros(batch_size, dtype=torch.bool)
    ids, scores = torch.full((batch_size, max_length), pad), torch.zeros(batch_size)
    for t in range(max_length):
        logits, state = step(token, state)
        log_p, token = logits.log_softmax(dim=-1).max(dim=-1)  # (B,) each
        ids[:, t] = token.masked_fill(finished, pad)
        scores = scores + log_p.masked_fill(finished, 0.0)
        finished = finished | (token == eos)
        if finished.all():
            break
    return ids, scores
    ### END SOLUTION


# %% exercise="greedy_search" role="check"
check("greedy_search")

# %% [markdown]
# Now with the trained model. Its state is what lesson 9 called the memory, and a **cache** (캐시) of the keys and values of all tokens written so far, so that a step computes
# one token, not the whole text anew (lesson 11 builds it). Your function does not need to know.
#
# Since all right translations are known, the judge is exact: a text is right if it is one of them.

# %% tags=["experiment"]
my_greedy = mine("greedy_search")


def opened(batch):
    """The model's step, and its state before anything is written. Ids go in and scores come out on the CPU."""
    batch = batch.to(device)

    def step(token, state):
        logits, state = model.step(token.to(device), state)
        return logits.cpu(), state

    return step, model.encode(batch.source, batch.source_lengths)


def texts_of(ids):
    """Rows of ids as tuples of Korean tokens."""
    return [tuple(target_vocabulary.decode(row)) for row in ids.tolist()]


def up_to_end(row):
    """A row of ids up to and with its end token."""
    return row[: row.index(EOS) + 1] if EOS in row else row


def share_right(texts):
    """How many of the texts, one for each held-out sentence, are right translations: 0 to 1."""
    return sum(text in said.ways for text, said in zip(texts, held_out, strict=True)) / len(texts)


with torch.no_grad():
    ids, greedy_scores = my_greedy(*opened(tests), len(held_out), BOS, EOS, PAD, 20)
greedy_texts = texts_of(ids)
for sentence, text in zip(held_out[:4], greedy_texts, strict=False):
    print(" ".join(sentence.english), "→", write_choice(text))
print(f"right: {share_right(greedy_texts):.1%}")
claim("greedily at least 94 of 100 are right", share_right(greedy_texts) >= 0.94)

# %% [markdown]
# ### Where greedy fails
#
# Almost all of it is right. But greedy promised something else: a *likely* text. *Can the likeliest first word lead away from the likeliest sentence?* Compare with a search that looks at
# two beginnings at once, the library's beam of width 2:

# %% tags=["experiment"]
wider = write(model, tests, 20, search=beam, width=2)
gain = wider.scores[:, 0].cpu() - greedy_scores
likelier = [
    row
    for row, text in enumerate(texts_of(wider.ids[:, 0]))
    if gain[row] > 1e-3 and text in held_out[row].ways
]
print(
    f"for {(gain > 1e-3).float().mean():.0%} of the sentences two beginnings find a likelier text"
)
claim("for more than 5 of 100", (gain > 1e-3).float().mean() > 0.05)

row = max(likelier, key=lambda row: gain[row].item(), default=0)
english = held_out[row].english
one = make_batch([(source_vocabulary.encode(english), [])])
print("\n" + " ".join(english))
first_words = []
for name, found in (("greedy", ids[row]), ("beam", wider.ids[row, 0].cpu())):
    text = up_to_end(found.tolist())
    prefixes = [tuple(text[:length]) for length in range(len(text))]
    log_p = next_logits(model, one.source, one.source_lengths, prefixes).log_softmax(-1)
    each = log_p[range(len(text)), text].exp()
    first_words.append(each[0].item())
    words = [
        f"{target_vocabulary.symbols[token]} {p:.2f}" for token, p in zip(text, each, strict=True)
    ]
    print(f"{name:6} {' · '.join(words)} = {each.prod():.4f}")
claim("greedy has the likelier beginning, or the same", first_words[0] >= first_words[1] - 1e-6)

# %% [markdown]
# A **garden path**: the word that looks best opens a part of the tree where many ways to go on share the probability. Behind the other word there are fewer, and the best of them has a
# larger share: multiply the numbers behind the first. Greedy cannot know: it never goes back.
#
# <!-- concept: L10-beam -->
# ## A beam
#
# Keep the best few beginnings, not one. **Beam search** (빔 탐색) of width $k$: at each step continue all $k$ texts with all $V$ tokens, $k \cdot V$ candidates, and keep the $k$ best.
#
# What ends must be taken out, or it would block a place: set it aside as *finished*. Of the $2k$ best candidates at most $k$ can be endings (*why?*), so $k$ texts always go on. Last, texts of
# different lengths have to be compared. Every token costs probability, so short ones are ahead; a **length penalty** (길이 페널티; Wu et al. 2016) divides the sum by $((5 + L)/6)^\alpha$.
#
# The state belongs to a text. *When text 2 goes on from what was text 0, whose state does it need?*


# %% exercise="beam_search" role="answer"
def beam_search(step, state, select, width, bos, eos, max_length, alpha=0.0):
    """The best text that a beam of `width` texts finds for one sentence, and its score.

    step: function (token (k,), state) -> (logits (k, V), state), for k texts side by side. state: of one text, with
    nothing written. select: function (state, parents (k,)) -> state, in which text i goes on from text parents[i].
    Each step looks at every text with every token, sorted by the sum of log-probabilities. What ends with `eos` is
    finished if it is among the best `width` of them; the best `width` of all that do not end go on. At max_length the
    best `width` are finished as they stand. Returns ids (L,) without `bos` and the score, 0-d, of the finished text
    whose sum / ((5 + L) / 6) ** alpha is highest; `eos` counts in L.
    """
    ### BEGIN SOLUTION
    texts, sums = torch.full((1, 1), bos), torch.zeros(1)
    best_text, best_score = None, torch.tensor(-math.inf)
    for length in range(1, max_length + 1):
        logits, state = step(texts[:, -1], state)
        totals = sums.unsqueeze(1) + logits.log_softmax(dim=-1)  # (k, V)
        # At most one ending for each of k texts, so of twice as many at least `width` do not end.
        sums, places = totals.flatten().topk(min(2 * width, totals.numel()))
        parents, tokens = places // totals.shape[1], places % totals.shape[1]
        texts = torch.cat(
            [texts[parents], tokens.unsqueeze(1)], dim=1
        )  # (at most 2 · width, 1 + length)
        ends = tokens == eos
        finished = (ends | (length == max_length))[:width]
        scores = (sums[:width] / ((5 + length) / 6) ** alpha).masked_fill(~finished, -math.inf)
        if scores.max() > best_score:
            best_score, best_text = scores.max(), texts[scores.argmax(), 1:]
        rest = (~ends).nonzero().squeeze(1)[:width]
        texts, sums, state = texts[rest], sums[rest], select(state, parents[rest])
    return best_text, best_score
    ### END SOLUTION


# %% exercise="beam_search" role="check"
check("beam_search")

# %% [markdown]
# ### With your own
#
# The library's beam does the same for a whole batch at once, and stops as soon as nothing that goes on can get in front any more. For the first 30 sentences, width 4:

# %% tags=["experiment"]
my_beam = mine("beam_search")


def select(state, parents):
    return state.select(parents.to(device))


theirs = write(model, make_batch([(source_vocabulary.encode(said.english), []) for said in held_out[:30]]), 20, search=beam, width=4, alpha=0.6)  # fmt: skip
apart = []
with torch.no_grad():
    for row, said in enumerate(held_out[:30]):
        one = make_batch([(source_vocabulary.encode(said.english), [])])
        text, score = my_beam(*opened(one), select, 4, BOS, EOS, 20, alpha=0.6)
        apart.append(abs(score.item() - theirs.scores[row, 0].item()))
        if row < 3:
            text = target_vocabulary.decode(text)
            print(" ".join(said.english), "→", write_choice(tuple(text)), f"({score:.3f})")
print(f"largest difference of a score to the library's: {max(apart):.0e}")
claim("your beam's scores are the library's", max(apart) < 1e-3)

# %% [markdown]
# ### Wider and wider
#
# A beam as wide as all texts would find the likeliest of all. *So the wider, the better?* Three pictures over the width: how many texts are *right*, how many are empty, and how likely they are.

# %% tags=["experiment"]
widths = (1, 2, 4, 8, 16)
table, steps = {}, []


class Counted:
    """The model, and how many texts each step computes."""

    def __getattr__(self, name):
        return getattr(model, name)

    def step(self, token, state):
        steps.append(len(token))
        return model.step(token, state)


for alpha in (0.0, 0.6):
    for width in widths:
        steps.clear()
        found = write(Counted(), tests, 20, search=beam, width=width, alpha=alpha)
        texts = texts_of(found.ids[:, 0])
        table[alpha, width] = {
            "score": found.scores[:, 0].mean().item(),
            "right": share_right(texts),
            "empty": sum(not text for text in texts) / len(texts),
            "computed": sum(steps) / len(held_out),
            "texts": texts,
        }
with style():
    figure, axes = panels(3, width=3.2, height=2.8)
    for alpha, marker in ((0.0, "o"), (0.6, "s")):
        rows = [table[alpha, width] for width in widths]
        for axis, name in zip(axes[:2], ("right", "empty"), strict=True):
            axis.plot(widths, [row[name] for row in rows], marker=marker, label=f"α = {alpha}")
            axis.set(xlabel="width", ylabel=f"share {name}", ylim=(-0.05, 1.05))
    axes[2].plot(widths, [table[0.0, width]["score"] for width in widths], marker="o")
    axes[2].set(xlabel="width", ylabel="mean log-probability (α = 0)")
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.set_xticks(widths, widths)
    axes[0].legend(loc="lower left")
show(
    figure,
    "Up to width 4 a wider beam finds likelier texts, and more of them are empty. A length penalty holds those off.",
)
for width in widths:
    plain, divided = table[0.0, width], table[0.6, width]
    print(f"width {width:2}: right {plain['right']:.1%}, empty {plain['empty']:.1%}; with α = 0.6 right {divided['right']:.1%}; {plain['computed']:.0f} texts computed a sentence")  # fmt: skip
claim("wider finds likelier texts", table[0.0, 16]["score"] > table[0.0, 2]["score"] > table[0.0, 1]["score"])  # fmt: skip
claim("and fewer that are right: 8 of 100 less than greedy, or worse", table[0.0, 16]["right"] < table[0.0, 1]["right"] - 0.08)  # fmt: skip
claim("greedy writes nothing empty", table[0.0, 1]["empty"] < 0.01)
claim("the penalty brings width 16 back to within 4 of 100 of greedy", table[0.6, 16]["right"] > table[0.0, 1]["right"] - 0.04)  # fmt: skip
claim("width 16 computes more than ten times as many texts as greedy", table[0.0, 16]["computed"] > 10 * table[0.0, 1]["computed"])  # fmt: skip

# %% [markdown]
# <details><summary><b>Why is the widest beam not the best?</b></summary>
#
# One training pair of twenty was empty, so the empty text has a probability of about 0.05. All right ways share the rest: where they are sixteen, each has about a sixteenth, and label smoothing takes a little
# of it at every token. So for a quarter of the sentences the **likeliest single text is the empty one**, though people write something nineteen times out of twenty. Greedy never sees it: at the first step
# ending is not the likeliest token. A wide beam keeps it, and at the end it wins.
#
# </details>
#
# It happens to large systems too: with a wide beam translation gets worse (Koehn and Knowles 2017), bad lines of the training corpus come out (Ott et al. 2018), and for more than half of the sentences of a
# strong model the likeliest text of all was the empty one (Stahlberg and Byrne 2019). The length penalty repairs the symptom. The cause is the question: *the likeliest* is not *the typical* when there are many right answers. In practice: width 4
# or 5, with a length penalty.
#
# And a beam is not free: every step computes $k$ texts (*computed*, above), and $k$ caches have to be held and rearranged.
#
# <!-- concept: L10-sampling -->
# ## By chance
#
# Another answer: do not search, **draw** (표본 추출, 샘플링). Then what is said often is written often. Three knobs rule out what should not happen:
#
# - **temperature** (온도) $\tau$: $\mathrm{softmax}(z / \tau)$; below 1 the likely tokens gain, at 0 the likeliest has all (lesson 4);
# - **top-k** (Fan et al. 2018): only the $k$ likeliest tokens;
# - **top-p**, the nucleus (Holtzman et al. 2020): the fewest tokens, likeliest first, that together have at least the mass $p$.
#
# Chance is handed in as a function `draw`, so that your function can be checked.


# %% exercise="sample_next" role="answer"
def sample_next(logits, draw, temperature=1.0, top_k=None, top_p=None):
    """Draw the next token of each row, after unlikely ones were made rarer or ruled out.

    logits: (B, V). draw: function (probabilities (B, V)) -> ids (B,). temperature: the logits are divided by it; at 0
    the likeliest token alone is left. top_k: of these only the k likeliest are left. top_p: of these only the fewest
    tokens, likeliest first, whose probabilities sum to at least top_p. None leaves a filter out. What is left sums to 1
    each time. Returns ids (B,), as drawn, and the probabilities (B, V) that they were drawn by.
    """
    ### BEGIN SOLUTION
    if temperature == 0:
        temperature, top_k = 1.0, 1
    ranked, order = (logits / temperature).sort(dim=-1, descending=True)
    p = ranked.softmax(dim=-1)  # (B, V), the likeliest first
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(dim=-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(dim=-1) - p  # of all tokens that are likelier
        p = p * (before < top_p)
        p = p / p.sum(dim=-1, keepdim=True)
    probabilities = torch.zeros_like(p).scatter(-1, order, p)  # back to the order of the vocabulary
    return draw(probabilities), probabilities
    ### END SOLUTION


# %% exercise="sample_next" role="check"
check("sample_next")

# %% [markdown]
# ### With your own: does it say what people say?
#
# "I love you", 500 times, by your function with top-p 0.8. Greedy would write one way, 500 times out of 500. *Will chance speak as people do?*

# %% tags=["experiment"]
my_sample = mine("sample_next")


@torch.no_grad()
def drawn_texts(batch, seed, **knobs):
    """A text for each row of a batch, every token drawn by your function."""
    generator = torch.Generator().manual_seed(seed)
    step, state = opened(batch)
    token, columns = torch.full((len(batch),), BOS), []
    for _ in range(20):
        logits, state = step(token, state)
        token, _ = my_sample(
            logits, lambda p: torch.multinomial(p, 1, generator=generator).squeeze(1), **knobs
        )
        columns.append(token)
    return texts_of(torch.stack(columns, dim=1))


love = source_vocabulary.encode(("I", "love", "you"))
said = drawn_texts(make_batch([(love, [])] * 500), seed=0, top_p=0.8)
counts = {tokens: said.count(tokens) / len(said) for tokens in ways}
print(
    f"right: {sum(counts.values()):.0%}, different: {len(set(said) & set(ways))} of {len(ways)} right ways"
)
with style():
    figure, (axis,) = panels(width=5.6, height=3.4)
    names = [write_choice(tokens) for tokens in ways]
    places = torch.arange(len(names))
    axis.barh(places - 0.2, list(ways.values()), 0.4, label="people")
    axis.barh(places + 0.2, list(counts.values()), 0.4, label="drawn, top-p 0.8")
    axis.set_yticks(places, names)
    axis.invert_yaxis()
    axis.set(xlabel="share")
    axis.legend()
show(
    figure,
    "The model says it in all or most ways; what people say most, it says more often still.",
)
claim("at least six of the ten ways come up", len(set(said) & set(ways)) >= 6)

# %% [markdown]
# ### How hot?
#
# For all held-out sentences, five drawn texts each: how many are right, and how many of the five differ. *What does temperature 1 do, which changes nothing?*

# %% tags=["experiment"]
knobs = {f"τ = {value}": {"temperature": value} for value in (0.1, 0.3, 0.5, 0.7, 1.0, 1.5)}
knobs |= {f"top-k {value}": {"top_k": value} for value in (2, 5, 20)}
knobs |= {f"top-p {value}": {"top_p": value} for value in (0.5, 0.7, 0.8, 0.95)}
outcome = {}
for name, chosen in knobs.items():
    generator = torch.Generator(device).manual_seed(0)
    five = [
        texts_of(write(model, tests, 20, search=sample, generator=generator, **chosen))
        for _ in range(5)
    ]
    different = sum(len(set(texts)) for texts in zip(*five, strict=True)) / len(held_out)
    outcome[name] = sum(map(share_right, five)) / 5, different
    print(f"{name:10} right {outcome[name][0]:6.1%}, different of five {different:.1f}")
with style():
    figure, (axis,) = panels(width=5.0, height=3.4)
    for prefix, marker in (("τ", "o"), ("top-k", "s"), ("top-p", "^")):
        chosen = {name: outcome[name] for name in outcome if name.startswith(prefix)}
        shares, different = zip(*chosen.values(), strict=True)
        axis.plot(different, shares, marker=marker, label=prefix)
        for name, (right, apart) in chosen.items():
            axis.annotate(
                name.split()[-1],
                (apart, right),
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=8,
            )
    axis.set(xlabel="different texts of five", ylabel="share right", ylim=(-0.05, 1.08))
    axis.legend()
show(
    figure,
    "More variety costs correctness. At four different texts of five, top-p 0.8 keeps as many right as τ = 0.7, or more.",
)
claim("at temperature 0.3 at least 9 of 10 are right", outcome["τ = 0.3"][0] > 0.9)
claim("at temperature 1 fewer than 6 of 10", outcome["τ = 1.0"][0] < 0.6)
claim("at 1.5 next to none", outcome["τ = 1.5"][0] < 0.05)
claim("top-p 0.8 keeps as many right as τ = 0.7, or more", outcome["top-p 0.8"][0] > outcome["τ = 0.7"][0] - 0.01)  # fmt: skip
claim("with top-p 0.8 more than 8 of 10, and three or more of five differ", outcome["top-p 0.8"][0] > 0.8 and outcome["top-p 0.8"][1] > 3)  # fmt: skip

# %% [markdown]
# Temperature 1 draws from what the model believes, and label smoothing taught it to keep a tenth for everything else. One token in ten from the tail: over seven tokens fewer than half
# survive. That is why hardly anybody samples from a large vocabulary without a filter.
#
# Translation wants few surprises: a beam, or a low temperature. A story wants more: top-p 0.9 and $\tau$ near 1 are common. And where the text is open, search has one more trouble: the likeliest continuation of a story
# repeats itself (Holtzman et al. 2020).
#
# ### The tree
#
# Choose a sentence and a width, and let the tree grow step by step. Then select a token, and turn the knobs: which of the next tokens stay possible?

# %% tags=["explore"]
from course_lib.explore.sampler import sampler


def after(sentence, prefixes):
    """Scores of the next token after each prefix, for an English sentence."""
    source = torch.tensor([source_vocabulary.encode(sentence.split())])
    return next_logits(model, source, torch.tensor([source.shape[1]]), prefixes)


shown = [" ".join(held_out[place].english) for place in dict.fromkeys((0, *likelier[:3], 1, 2, 3))]
sampler(
    after,
    shown,
    symbols=target_vocabulary.symbols,
    eos=EOS,
    spell=lambda tokens: write_choice(tuple(tokens)),
)

# %% [markdown]
# <!-- concept: L10-evaluation -->
# ## How good is it?
#
# Here a judge knows all right answers. For real text nobody does: there is a **reference** (참조 번역) or a few, what some person once wrote. **BLEU** (Papineni et al. 2002) compares runs of 1, 2, 3 and 4 tokens, *n-grams*, of the
# whole corpus:
#
# $$\mathrm{BLEU} = 100 \cdot \min(1, e^{1 - r/c}) \cdot \Big(\prod_{n=1}^{4} p_n\Big)^{1/4}$$
#
# $p_n$: the share of the written n-grams that stand in a reference, each counted at most as often as there ("the the the" earns one *the*). $c$ and $r$: tokens written, and tokens of the references. *Why is there a
# penalty for short texts and none for long ones?*


# %%
def ngrams(tokens, n):
    """How often each run of n tokens occurs: a Counter of tuples."""
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


print(ngrams(["the", "cat", "the", "cat"], 2))


# %% exercise="corpus_bleu" role="answer"
def corpus_bleu(hypotheses, references):
    """BLEU of a whole corpus, 0 to 100, without smoothing (Papineni et al. 2002).

    hypotheses: a list of tokens for each sentence. references: for each sentence a list of translations, each a list of
    tokens, all of them right. For n = 1 to 4: of all n-grams of all hypotheses, the share that stands in a reference of
    its sentence, none counted more often than in the reference that has it most. BLEU is the geometric mean of the four
    shares times the brevity penalty exp(1 - r / c) where c < r: c tokens in all hypotheses, r in the references of the
    closest length (of two the shorter). 0 where one of the shares is 0 or has no n-grams at all.
    """
    ### BEGIN SOLUTION
    matched, total = [0] * 4, [0] * 4
    c = r = 0
    for hypothesis, choices in zip(hypotheses, references, strict=True):
        c += len(hypothesis)
        r += min((len(choice) for choice in choices), key=lambda L: (abs(L - len(hypothesis)), L))
        for n in range(1, 5):
            written, allowed = ngrams(hypothesis, n), Counter()
            for choice in choices:
                allowed |= ngrams(choice, n)  # the larger count of each
            matched[n - 1] += (written & allowed).total()  # the smaller count of each
            total[n - 1] += written.total()
    if 0 in matched:
        return 0.0
    mean = math.exp(sum(math.log(m / t) for m, t in zip(matched, total, strict=True)) / 4)
    return 100 * mean * min(1.0, math.exp(1 - r / c))
    ### END SOLUTION


# %% exercise="corpus_bleu" role="check"
check("corpus_bleu")

# %% [markdown]
# ### Equal to sacrebleu, and what it says
#
# Scores in papers should come from one program, *sacrebleu* (Post 2018), since small differences in cutting words move BLEU by points. The library calls it, and prints the signature without which a
# score means nothing. For each held-out sentence draw one way as *the* reference, and one more as another person's translation, which is right by construction. *What BLEU will a perfect translator get?*

# %% tags=["experiment"]
my_bleu = mine("corpus_bleu")
person = random.Random(0)


def people():
    """One right translation of each held-out sentence, as one person would happen to write it."""
    return [person.choices([*said.ways], [*said.ways.values()])[0] for said in held_out]


def points(texts, references):
    """Your BLEU of texts, each with a list of references, all of them any sequences of tokens."""
    return my_bleu([*map(list, texts)], [[*map(list, choices)] for choices in references])


reference, someone = people(), people()
everything = [list(said.ways) for said in held_out]


def spaced(texts):
    return [" ".join(text) for text in texts]


mine_says = points(greedy_texts, [[text] for text in reference])
sacrebleu_says = bleu(spaced(greedy_texts), spaced(reference), tokenize="none")
print("yours     ", round(mine_says, 4))
print("sacrebleu ", sacrebleu_says)
claim("yours is sacrebleu's", abs(mine_says - sacrebleu_says.score) < 1e-6)

# %% tags=["experiment"]
writers = {
    "the model, greedily": greedy_texts,
    "the model, beam 16": table[0.0, 16]["texts"],
    "another person": someone,
}
judged = {}
for name, texts in writers.items():
    judged[name] = {
        "right": share_right(texts),
        "one": points(texts, [[text] for text in reference]),
        "all": points(texts, everything),
    }
    numbers = judged[name]
    print(f"{name:20} right {numbers['right']:6.1%}, BLEU with one reference {numbers['one']:5.1f}, with all {numbers['all']:5.1f}")  # fmt: skip
claim("another person is right always", judged["another person"]["right"] == 1)
claim("and gets half of the points, give or take 8", 42 < judged["another person"]["one"] < 58)
claim("with all references it is 100", abs(judged["another person"]["all"] - 100) < 1e-9)
claim("the model is within 10 points of the person", abs(judged["the model, greedily"]["one"] - judged["another person"]["one"]) < 10)  # fmt: skip
claim("BLEU does see the empty texts", judged["the model, beam 16"]["one"] < judged["the model, greedily"]["one"] - 5)  # fmt: skip

# %% [markdown]
# A perfect translator gets half of the points, for having said it in other words. And the model, which is not perfect, comes out beside the person or ahead: it writes the commonest way. So a BLEU of 50 is not "half right"; scores compare systems on *one* test set, and say little alone.
#
# ### What BLEU misses
#
# Now a translator who is **always wrong**, by one word: 나 and 너 change places, 고양이 and 강아지, 오늘 and 어제; the rest is copied from the reference. *More points than the right one, or fewer?*

# %% tags=["experiment"]
swaps = ("나 너", "그 그녀", "우리 그들", "고양이 강아지", "친구 의사", "학생 선생님", "오늘 어제")
other = {}
for pair in swaps:
    first, second = pair.split()
    other[first], other[second] = second, first


def wrong_by_one(tokens):
    """The first word that has a counterpart replaced by it; None where no word has one."""
    for place, token in enumerate(tokens):
        if token in other:
            return (*tokens[:place], other[token], *tokens[place + 1 :])
    return None


rows = [
    row
    for row, text in enumerate(reference)
    if wrong_by_one(text) not in {None, *held_out[row].ways}
]
wrong = [wrong_by_one(reference[row]) for row in rows]
right, truth = [someone[row] for row in rows], [reference[row] for row in rows]
print(
    write_choice(truth[0]),
    "| wrong by one:",
    write_choice(wrong[0]),
    "| right:",
    write_choice(right[0]),
)
scores = {
    name: (
        points(texts, [[text] for text in truth]),
        chrf([*map(write_choice, texts)], [*map(write_choice, truth)]).score,
    )  # fmt: skip
    for name, texts in (("always right", right), ("always wrong", wrong))
}
for name, (by_words, by_letters) in scores.items():
    print(f"{name}: BLEU {by_words:.1f}, chrF {by_letters:.1f}, {len(rows)} sentences")
claim(
    "the wrong one gets more points, by 5 or more",
    scores["always wrong"][0] > scores["always right"][0] + 5,
)
claim("chrF is deceived as well", scores["always wrong"][1] > scores["always right"][1])

# %% [markdown]
# Both measures count pieces, and neither knows that 나 for 너 changes the meaning, or that 는 for 가 hardly does. Particles, word order, what Korean leaves out: all that is free
# counts as wrong. Three more traps:

# %% tags=["experiment"]
perfect = bleu(["I love you"], ["I love you"], tokenize="none").score
print("a perfect I love you:", perfect)
claim("a perfect sentence of three words has BLEU 0", perfect == 0.0)

texts = [*map(write_choice, greedy_texts)]
truths = [*map(write_choice, reference)]
cut = {
    "our tokens": sacrebleu_says.score,
    "words": bleu(texts, truths, tokenize="13a").score,
    "characters": bleu(texts, truths, tokenize="char").score,
}
print("the same translations:", {name: f"{score:.0f}" for name, score in cut.items()})
claim(
    "by words it is the lowest, by characters the highest",
    cut["words"] < cut["our tokens"] < cut["characters"],
)

ordered = points(greedy_texts, [[text] for text in reference])
single = sum(points([text], [[one]]) for text, one in zip(greedy_texts, reference, strict=True))
print(f"of the corpus {ordered:.1f}, mean of the sentences' {single / len(reference):.1f}")
claim("the mean of sentences is another number", abs(ordered - single / len(reference)) > 3)

# %% [markdown]
# - **Short texts**: 3 words have no run of four. BLEU is for corpora; for single sentences it says little.
# - **How words are cut**: the same translations, three numbers. What stands between two spaces in Korean is often a noun with its particle; another particle makes it another word, and few runs of four match. Compare like with like: *the signature*. (For
#   Korean this course uses characters, or **chrF** (Popović 2015), n-grams of letters, in which a right stem with another particle counts in part.)
# - **The corpus is one text**: counts are added first, then divided. The mean over sentences is something else.
#
# What remains? BLEU and chrF to see whether a change of *one* system helps; learned measures, which know paraphrases (Rei et al. 2020); and people, who read.
#
# ## Real text
#
# Everything so far was a grammar of ours. Now sentences of the world: any file with a sentence, a tab, and its translation on each line. Real files have real faults, and nothing is dropped silently:

# %%
lines = [
    "나는 학생이야.\tI am a student.",
    "비가 와.\tIt is raining.\tsomebody",
    "비가 와.\tIt is raining.\tsomebody else",
    "고마워.\t",
    "잘 자.",
]
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "pairs.tsv"
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        read_pairs(path)
    except ValueError as refused:
        print(refused, "\n")
    found = read_pairs(path, bad="skip")
print(found.report)
claim("two pairs are left of five lines", len(found.pairs) == 2)

# %% [markdown]
# Cut into **subwords** (서브워드): frequent words stay whole, rare ones fall into pieces, so that a few thousand symbols can spell everything. Outside the notebook, one line trains, shows BLEU as it goes, and goes on
# where it stopped:
#
# ```
# python3 course.py train pairs.tsv --source 1 --target 0 --minutes 20
# ```
#
# *What do you expect of twenty minutes of one processor core, without a GPU?* We ran it on two files of sentences that volunteers wrote for Tatoeba: from French, 26,000 pairs, and from Korean, 5,000 pairs and seven minutes, into English. (The files are not
# part of the course. What stands here was measured by the command printed first; the sentences at the end are ours.)

# %%
real = load_real_text()
print(real["command"], "\n")
curves = {}
with style():
    figure, axes = panels(2, width=3.8)
    for point, marker in zip(real["points"], "os", strict=True):
        per_step = point["cpu_seconds"] / point["steps"] / 60
        steps, _, losses, scores, _ = zip(*point["evaluations"], strict=True)
        minutes = [step * per_step for step in steps]
        curves[point["from"]] = minutes, losses, scores
        for axis, values in zip(axes, (losses, scores), strict=True):
            axis.plot(minutes, values, marker=marker, markersize=4, label=f"from {point['from']}")
    axes[0].set(xlabel="minutes of processor time", ylabel="loss on held-out sentences")
    axes[1].set(
        xlabel="minutes of processor time", ylabel="BLEU on held-out sentences", ylim=(0, None)
    )
    axes[0].legend()
show(
    figure,
    "Real text into English on one core: from French the score rises fast, then hardly; from Korean, with a fifth of the pairs, it stays at half of that or less.",
)
final = {}
for point in real["points"]:
    print(
        f"from {point['from']}, {point['cpu_seconds'] / 60:.0f} minutes, {point['weights']:,} weights"
    )
    for name, score in point["final"].items():
        final[point["from"], name] = float(score["BLEU"].split()[1])
        print(f"  {name:6} {score['BLEU']}\n         {score['chrF']}")
    for source, target in point["sentences"]:
        print(f"  {source} → {target}")
minutes, losses, scores = curves["French"]
half = sum(minute <= 10 for minute in minutes)
claim("from French BLEU is above 35 after ten minutes", scores[half - 1] > 35)
claim("and gains less than 6 points in the next ten", max(scores[half:]) - scores[half - 1] < 6)
claim(
    "a beam of 4 gains one to three points",
    1 < final["French", "beam"] - final["French", "greedy"] < 3,
)
claim(
    "from Korean it is half of that, or less",
    final["Korean", "beam"] <= final["French", "beam"] / 2,
)

# %% [markdown]
# **What one core can do**: short everyday sentences, after the time of a coffee. **What it cannot**: rarer words (*dishes* for the kitchen table, a *revard* for dusty), anything
# long, and a language with few pairs, where the Korean curve is flat after three minutes. More time helps little: the loss on held-out sentences has stopped falling. More pairs would. The paper's base model saw 4.5 million pairs for half a day on eight
# GPUs (Vaswani et al. 2017), some ten thousand times the arithmetic.
#
# And do not read the French number as quality: these sentences are short, and much alike. From news text, with its long sentences and rare words, expect next to nothing.
#
# A model that `python3 course.py train` has kept comes back in any notebook: `load_model("MODEL FOLDER").translate("...")`, from `course_lib.saved_model`.

# %% [markdown]
# ## Bug hunt: a beam that forgets
#
# A colleague's decoder uses a cache, and her beam search. With width 1 all is well. With width 4 more of the texts are wrong. *What does a beam do
# between two steps that greedy search never does?*


# %% tags=["experiment"]
class ColleaguesState:
    """The model's state, as the colleague hands it to the beam."""

    def __init__(self, state, started=False):
        self.state, self.started = state, started

    def select(self, rows):
        if not self.started:  # one text becomes `width` texts
            return ColleaguesState(self.state.select(rows), started=True)
        return self


class Colleague:
    """What `write` asks of a model: the same weights, the same steps, but her state in `encode` and `step`."""

    training = False

    def parameters(self):
        return model.parameters()

    def train(self, mode=True):
        return self

    eval = train

    def encode(self, source, source_lengths):
        return ColleaguesState(model.encode(source, source_lengths))

    def step(self, token, state):
        logits, inner = model.step(token, state.state)
        return logits, ColleaguesState(inner, state.started)


suspect = Colleague()
shares = {}
for name, writer in (("yours", model), ("suspect", suspect)):
    for width in (1, 4):
        found = write(writer, tests, 20, search=beam, width=width, alpha=0.6)
        shares[name, width] = share_right(texts_of(found.ids[:, 0]))
        print(f"{name:8} width {width}: right {shares[name, width]:.1%}")
claim("with width 1 the suspect is as good as yours", shares["suspect", 1] == shares["yours", 1])
claim(
    "with width 4 it is wrong in 3 more of 100, or worse",
    shares["suspect", 4] < shares["yours", 4] - 0.03,
)

# %% [markdown]
# Every beam claims a score for its text. The model can be asked again, from scratch: feed it the finished text, all at once, and add up (lesson 9: *all at once* and *one by one* give the same).


# %% tags=["experiment"]
@torch.no_grad()
def asked_again(found):
    """The log-probability of each best text, by one pass over the text: (B,)."""
    ids = found.ids[:, 0].to(device)
    decoder_input = torch.cat([torch.full_like(ids[:, :1], BOS), ids[:, :-1]], dim=1)
    log_p = model(tests.source.to(device), tests.source_lengths, decoder_input).log_softmax(-1)
    each = log_p.gather(-1, ids.unsqueeze(-1)).squeeze(-1)  # (B, L)
    return each.masked_fill(ids == PAD, 0.0).sum(dim=1)


gaps = {}
for name, writer in (("yours", model), ("suspect", suspect)):
    found = write(writer, tests, 20, search=beam, width=4)
    gaps[name] = (found.scores[:, 0] - asked_again(found)).abs().mean().item()
    print(f"{name:8} claimed and recomputed differ by {gaps[name]:.1e} on average")
claim("your beam tells the truth", gaps["yours"] < 1e-3)
claim("the suspect does not", gaps["suspect"] > 0.05)

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# `select` hands the state back as it was: the texts change places, their caches do not. Text 2, which now goes on from what was text 0, is continued with the keys and values of another
# text. Shapes fit, nothing raises, and with one text there is nothing to mix up. The test that finds it: recompute the score of the text that was found, from scratch.
#
# </details>
#
# ## In short
#
# | | chooses | finds | costs a step | for |
# | --- | --- | --- | --- | --- |
# | greedy | the likeliest token | a good text, not always the likeliest | one text | a first look |
# | beam, width k | the k best beginnings | likelier texts; too wide, too short ones | k texts and their caches | translation, with a length penalty |
# | sampling | by chance | what is typical | one text | open text, with top-p and temperature |
#
# | | compares | needs | does not see |
# | --- | --- | --- | --- |
# | exact match | whole texts | all right answers | nearly right |
# | BLEU | runs of 1 to 4 tokens | references, one way of cutting words | other words, one word that matters |
# | chrF | runs of 1 to 6 characters | references | the same, milder for endings |
#
# ## What you should want now
#
# The Transformer reads with one half and writes with the other. Most models of today have one of the two halves only. Which half can do what? And the cache that you have used here without looking: what does it
# keep, and what does it save? Lesson 11 takes the Transformer apart into its three families.
#
# **Further reading.** Holtzman et al. (2020), *The curious case of neural text degeneration*. Stahlberg and Byrne (2019), *On NMT search errors and model errors: cat got your tongue?* Eikema and Aziz
# (2020), *Is MAP decoding all you need?* Murray and Chiang (2018), *Correcting length bias in neural machine translation*. Papineni et al. (2002), *BLEU*. Post (2018), *A call for clarity in reporting BLEU scores*.

# %% tags=["nbval-ignore-output"]
progress()
