"""What people write for `classify` instead: the wrong answers that the exercise knows by name."""

import torch

from course_lib.checking import mistake
from course_lib.exercises.lesson_05.causal_mask import causal_mask
from course_lib.exercises.lesson_05.padding_mask import padding_mask


def mean_of_real(x, mask):
    """(B, S, D), (B, 1, S) -> (B, D)"""
    return x.masked_fill(~mask.mT, 0.0).sum(dim=1) / mask.sum(dim=-1).clamp(min=1)


def with_pooling(pool, ids, encode, W, b, pad):
    """The right answer but for the pooling. pool: (x (B, S, D), mask (B, 1, S)) -> (B, D)."""
    mask = padding_mask(ids, pad)
    return pool(encode(ids, mask), mask) @ W + b


def with_mask(choose, ids, encode, W, b, pad):
    """The right answer but for what the encoder is given. choose: mask (B, 1, S) -> another mask."""
    mask = padding_mask(ids, pad)
    return mean_of_real(encode(ids, choose(mask)), mask) @ W + b


@mistake(
    "The encoder gets no mask (or one that shows everything): real tokens listen to the padding, and no pooling takes "
    "that out again. Who else needs the mask besides the mean?",
    source="A047",
)
def encoder_without_mask(ids, encode, W, b, pad):
    return with_mask(lambda mask: None, ids, encode, W, b, pad)


@mistake(
    "The encoder leaves padding out, and then the mean takes it in: an encoder gives a vector for every place, padded "
    "ones too. Which function of yours reads a mask?",
    source="A100's kin: `encode(ids, mask).mean(dim=1)`",
)
def padding_in_the_mean(ids, encode, W, b, pad):
    return with_pooling(lambda x, mask: x.mean(dim=1), ids, encode, W, b, pad)


@mistake(
    "`pad` is never read: the encoder listens to padding, and the mean counts it. At which two places does a text have "
    "to be told from what follows it?",
    source="A016, tried out on texts of one length",
)
def no_mask_at_all(ids, encode, W, b, pad):
    return encode(ids, None).mean(dim=1) @ W + b


@mistake(
    "Probabilities come out where scores are asked for: `cross_entropy` would normalise them once more, and learn "
    "slowly. Which step is one too many?",
    source="A101",
)
def probabilities(ids, encode, W, b, pad):
    return with_pooling(mean_of_real, ids, encode, W, b, pad).softmax(dim=-1)


@mistake(
    "Log-probabilities come out. They can be used as scores, but the sum over the classes has been taken off: "
    "what does the docstring say is returned?",
    source="A105's sister: a network that ends with `LogSoftmax`, for `NLLLoss`",
)
def log_probabilities(ids, encode, W, b, pad):
    return with_pooling(mean_of_real, ids, encode, W, b, pad).log_softmax(dim=-1)


@mistake(
    "Each class gets a probability of its own, by a sigmoid: that is for texts with several labels, and it is the "
    "loss that would apply it. What is a logit?",
    source="binary classifiers end with a sigmoid; A101's sister",
)
def sigmoid_of_each(ids, encode, W, b, pad):
    return with_pooling(mean_of_real, ids, encode, W, b, pad).sigmoid()


@mistake(
    "The class is chosen already: an id has no gradient and does not say how close it was. What is to be returned for "
    "each class?",
    source="prediction written where the model is asked for",
)
def class_chosen(ids, encode, W, b, pad):
    return with_pooling(mean_of_real, ids, encode, W, b, pad).argmax(dim=-1)


@mistake(
    "The encoder gets a causal mask: no token hears those after it, as in a decoder. The whole text is known here; "
    "what would be given away if a token saw the next one?",
    source="the family mixed up: `padding & causal` kept from a decoder (A096's kin)",
)
def causal_encoder(ids, encode, W, b, pad):
    N = ids.shape[1]
    return with_mask(lambda mask: mask & causal_mask(N, N), ids, encode, W, b, pad)


@mistake(
    "The first token stands for the text, as BERT's [CLS] does. Here there is no such token, only a first word. "
    "What did you write `mean_pool` for?",
    source="`x[:, 0]`, as in BERT's classifier",
)
def first_token(ids, encode, W, b, pad):
    return with_pooling(lambda x, mask: x[:, 0], ids, encode, W, b, pad)


@mistake(
    "The last real token stands for the text. In a decoder it has to, for it alone has seen everything; "
    "what has each token of an encoder seen?",
    source="the classifier of a GPT-like model on an encoder",
)
def last_token(ids, encode, W, b, pad):
    return with_pooling(
        lambda x, mask: x[torch.arange(len(x)), mask.sum(dim=-1).squeeze(1) - 1], ids, encode, W, b, pad
    )


@mistake(
    "The last column is read: in most rows that is padding. Where does each text end?",
    source="A006: `x[:, -1]`, tried out on texts of one length",
)
def last_column(ids, encode, W, b, pad):
    return with_pooling(lambda x, mask: x[:, -1], ids, encode, W, b, pad)


@mistake(
    "The largest value of each feature is kept: max pooling. How does every real token get its say?",
    source="max pooling, from convolutional text classifiers",
)
def largest_features(ids, encode, W, b, pad):
    return with_pooling(lambda x, mask: x.masked_fill(~mask.mT, -1e9).amax(dim=1), ids, encode, W, b, pad)


@mistake(
    "Every token is scored and the largest score of each class wins, so one word decides. Is it the mean or the "
    "maximum of a text's tokens that this exercise asks for?",
    source="one classifier for each token, then `amax`: multiple-instance learning",
)
def largest_score(ids, encode, W, b, pad):
    mask = padding_mask(ids, pad)
    return (encode(ids, mask) @ W + b).masked_fill(~mask.mT, -1e9).amax(dim=1)


@mistake(
    "The scores of the tokens are added up, the bias with each of them: longer texts get larger scores. "
    "How often should b be counted in one text?",
    source="log-probabilities of words are added in naive Bayes; a mean is asked for here",
)
def scores_added_up(ids, encode, W, b, pad):
    mask = padding_mask(ids, pad)
    return ((encode(ids, mask) @ W + b) * mask.mT).sum(dim=1)


@mistake(
    "Padding is taken to be id 0, whatever `pad` says: a real word is hidden, and padding is read. "
    "Which argument names the padding?",
    source="A043",
)
def padding_is_zero(ids, encode, W, b, pad):
    return with_pooling(mean_of_real, ids, encode, W, b, 0)


@mistake(
    "W is applied as `nn.Linear` stores it, (C, D), and D = C lets it run. Which of its axes meets the features here?",
    source="`functional.linear(vector, W, b)`; square matrices hide it",
)
def as_in_linear(ids, encode, W, b, pad):
    return with_pooling(mean_of_real, ids, encode, W.T, b, pad)


@mistake(
    "The mask is True at the padding, in the encoder and in the mean: the classes of nothing are scored. "
    "Is it `==` or `!=` that finds a real token?",
    source="A130, in one line that both readers share",
)
def mask_inverted(ids, encode, W, b, pad):
    mask = ~padding_mask(ids, pad)
    return mean_of_real(encode(ids, mask), mask) @ W + b


@mistake(
    "The mask is negated on its way into the encoder alone, as for torch's `src_key_padding_mask`: tokens hear nothing "
    "but padding. What does True say to `encode`?",
    source="A130: `nn.TransformerEncoder` hides where the mask is True",
)
def negated_for_the_encoder(ids, encode, W, b, pad):
    return with_mask(lambda mask: ~mask, ids, encode, W, b, pad)


@mistake(
    "The encoder gets a mask (B, S): where B = S its texts are taken for queries, elsewhere nothing fits. "
    "Which shape does the docstring give for the mask of `encode`?",
    source="A041's sister: `ids != pad` handed on as it is",
)
def mask_without_query_axis(ids, encode, W, b, pad):
    return with_mask(lambda mask: mask.squeeze(1), ids, encode, W, b, pad)


@mistake(
    "A tanh stands between the mean and the linear layer, as in BERT's pooler, which has a matrix of its own for it. "
    "How many layers does the docstring name?",
    source="BERT's pooler remembered without its matrix",
)
def tanh_before_the_layer(ids, encode, W, b, pad):
    return with_pooling(lambda x, mask: mean_of_real(x, mask).tanh(), ids, encode, W, b, pad)


@mistake(
    "The bias is missing: a text of no features would score every class alike. Which argument is never read?",
    source="`pooled @ W` looks finished",
)
def bias_forgotten(ids, encode, W, b, pad):
    return with_pooling(mean_of_real, ids, encode, W, torch.zeros_like(b), pad)


MISTAKES = (
    encoder_without_mask, padding_in_the_mean, no_mask_at_all, probabilities, log_probabilities, sigmoid_of_each,
    class_chosen, causal_encoder, first_token, last_token, last_column, largest_features, largest_score,
    scores_added_up, padding_is_zero, as_in_linear, mask_inverted, negated_for_the_encoder, mask_without_query_axis,
    tanh_before_the_layer, bias_forgotten,
)  # fmt: skip
