"""What people write for `label_smoothing_loss` instead: the right shares, and another loss or another mean."""

from torch.nn import functional

from course_lib.checking import mistake

from .label_smoothing_loss_mistakes import mean_of_real, softened, token_losses


@mistake(
    "Padded places are left out of the sum and counted in the mean: the loss shrinks as padding grows. "
    "By how many tokens do you divide?",
    source="A100; harvardnlp/annotated-transformer#39: the rows are zeroed, and the mean is taken over all",
)
def padding_in_the_mean(logits, target, smoothing, pad):
    return (token_losses(logits, softened(logits, target, smoothing, pad)) * (target != pad)).mean()


@mistake(
    "Padded places count like any word: nothing is left out, and the model learns to write padding. "
    "At which places is there something to learn?",
    source="A103: the target row of a pad position is not zeroed",
)
def padding_counts(logits, target, smoothing, pad):
    return token_losses(logits, softened(logits, target, smoothing, pad)).mean()


@mistake(
    "Padded places are added up with the rest, and the sum is divided by the real tokens alone: the longer the "
    "padding, the larger the loss. Which losses belong into your sum?",
    source="A103: the target row of a pad position is not zeroed; the division is right",
)
def padding_in_the_sum(logits, target, smoothing, pad):
    return token_losses(logits, softened(logits, target, smoothing, pad)).sum() / (target != pad).sum()


@mistake(
    "The choice of places is turned round: padding alone is learned. Does your comparison say `==` or `!=`?",
    source="A103: the pad row mask is inverted",
)
def padding_alone(logits, target, smoothing, pad):
    losses = token_losses(logits, softened(logits, target, smoothing, pad)) * (target == pad)
    return losses.sum() / (target == pad).sum().clamp(min=1)


@mistake(
    "The losses are added up and not averaged: a large batch takes larger steps. By what should the sum be divided?",
    source="`reduction='sum'`, with the division left to the training loop",
)
def sum_of_tokens(logits, target, smoothing, pad):
    return token_losses(logits, softened(logits, target, smoothing, pad))[target != pad].sum()


@mistake(
    "The sum is divided by the number of sentences, the loss a sentence: another convention. "
    "How many tokens are there to share it?",
    source="`reduction='batchmean'` on (B, T, V), or d2l-ai/d2l-en#2707 (B001)",
)
def per_sentence(logits, target, smoothing, pad):
    return sum_of_tokens.wrong(logits, target, smoothing, pad) / len(target)


@mistake(
    "Each sentence is averaged by itself, then the sentences: a token of a short one weighs more than one of a long "
    "one. What should every real token weigh?",
    source="A100, IBM/pytorch-seq2seq#125: the mean of means; B001's kin",
)
def mean_of_sentence_means(logits, target, smoothing, pad):
    is_real = target != pad
    losses = token_losses(logits, softened(logits, target, smoothing, pad)) * is_real
    return (losses.sum(1) / is_real.sum(1).clamp(min=1))[is_real.any(1)].mean()


@mistake(
    "The mean runs over the vocabulary as well, V terms a token: they are one sum, the loss of that token. "
    "Over which axis do you add, and over which do you average?",
    source="`reduction='mean'` of `kl_div`, or `.mean()` on (B, T, V)",
)
def mean_over_ids_too(logits, target, smoothing, pad):
    return mean_of_real(token_losses(logits, softened(logits, target, smoothing, pad)), target, pad) / logits.shape[-1]


@mistake(
    "This is KL divergence: cross-entropy less the entropy of the target. Its gradients are the same, its value is "
    "smaller by what smoothing itself costs. Which of the two is asked for, and is 0 in its reach?",
    source="`nn.KLDivLoss`, as in the Annotated Transformer: the same training, another number",
)
def divergence(logits, target, smoothing, pad):
    share = softened(logits, target, smoothing, pad)
    losses = functional.kl_div(logits.log_softmax(-1), share, reduction="none").sum(-1)
    return mean_of_real(losses, target, pad)


@mistake(
    "This is KL divergence, cross-entropy less the entropy of the target, and added up over the tokens. "
    "Which of its two terms is asked for, and by how many tokens is it shared?",
    source="`nn.KLDivLoss(reduction='sum')`, the Annotated Transformer's, which divides in its training loop",
)
def divergence_summed(logits, target, smoothing, pad):
    return divergence.wrong(logits, target, smoothing, pad) * (target != pad).sum()


@mistake(
    "Shares multiply probabilities: the logarithm is missing, so being sure and wrong hardly costs anything. "
    "How large should a loss be when p goes to 0?",
    source="A105: probabilities where log-probabilities are required",
)
def no_logarithm(logits, target, smoothing, pad):
    share = softened(logits, target, smoothing, pad)
    return mean_of_real(-(share * logits.softmax(-1)).sum(-1), target, pad)


@mistake(
    "Shares multiply raw scores: nothing makes the scores of one token compete, so the loss falls for ever as the true "
    "one grows. What turns scores into logarithms of probabilities?",
    source="A105: scores put where log-probabilities are required; `nll_loss` on logits",
)
def raw_scores(logits, target, smoothing, pad):
    share = softened(logits, target, smoothing, pad)
    return mean_of_real(-(share * logits).sum(-1), target, pad)


@mistake(
    "A probability underflows to 0 before its logarithm is taken, and 0 · log 0 is NaN. "
    "Which one function gives the logarithm of a softmax directly?",
    source="A105: the log of an exact zero",
)
def log_of_softmax(logits, target, smoothing, pad):
    share = softened(logits, target, smoothing, pad)
    return mean_of_real(-(share * logits.softmax(-1).log()).sum(-1), target, pad)


@mistake(
    "A small number inside the logarithm keeps it finite and puts a ceiling on every loss: beyond it nothing pulls "
    "the model back. Which function needs no such crutch?",
    source="A105's cure by habit: `log(p + 1e-9)`",
)
def small_number_added(logits, target, smoothing, pad):
    share = softened(logits, target, smoothing, pad)
    return mean_of_real(-(share * (logits.softmax(-1) + 1e-9).log()).sum(-1), target, pad)


@mistake(
    "Every loss is NaN: a logarithm is taken of something that is never above 0, a log-probability, or the share 0 of "
    "`pad`. What stands inside each of your logarithms?",
    source="A105: the logarithm applied twice; or share · log share, written out for the KL divergence",
)
def logarithm_of_no_positive(logits, target, smoothing, pad):
    share = softened(logits, target, smoothing, pad)
    return mean_of_real(-(share * logits.log_softmax(-1).log()).sum(-1), target, pad)


@mistake(
    "Softmax is applied twice: `log_softmax` takes raw scores and normalises them, so this loss cannot tell a sure "
    "model from a vague one. What does it expect to be given?",
    source="A101",
)
def double_softmax(logits, target, smoothing, pad):
    share = softened(logits, target, smoothing, pad)
    return mean_of_real(token_losses(logits.softmax(-1), share), target, pad)


@mistake(
    "Softmax runs over time: places compete with one another instead of words. Over which axis lies the vocabulary?",
    source="A020, E-axis",
)
def softmax_over_time(logits, target, smoothing, pad):
    share = softened(logits, target, smoothing, pad)
    return mean_of_real(-(share * logits.log_softmax(dim=1)).sum(-1), target, pad)


@mistake(
    "The minus is missing: who minimises this makes the model worse. Which sign has the logarithm of a probability?",
    source="likelihood maximised by a minimiser",
)
def wrong_sign(logits, target, smoothing, pad):
    return -mean_of_real(token_losses(logits, softened(logits, target, smoothing, pad)), target, pad)


@mistake(
    "The value is right and teaches nothing: the logits were taken out of the graph. "
    "Which of your tensors may be made without a gradient, the target or the scores?",
    source="`x.data.clone()` of the Annotated Transformer, right for the target, put onto the scores",
)
def scores_detached(logits, target, smoothing, pad):
    share = softened(logits, target, smoothing, pad)
    return mean_of_real(token_losses(logits.data.clone(), share), target, pad)


MISTAKES = (
    padding_in_the_mean, padding_counts, padding_in_the_sum, padding_alone, sum_of_tokens, per_sentence,
    mean_of_sentence_means, mean_over_ids_too, divergence, divergence_summed, no_logarithm, raw_scores, log_of_softmax,
    small_number_added, logarithm_of_no_positive, double_softmax, softmax_over_time, wrong_sign, scores_detached,
)  # fmt: skip
