"""Exercise `label_smoothing_loss`: cross-entropy with a target that is never quite sure, Vaswani et al. 2017, 5.4."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close, on, padding_ignored, reordered

from . import label_smoothing_loss_mean_mistakes, label_smoothing_loss_mistakes


def label_smoothing_loss(logits, target, smoothing, pad):
    """Cross-entropy against a softened target, mean over the real tokens, in nats.

    logits: (B, T, V). target: (B, T) ids; places that hold `pad` do not count. The true id gets the share
    1 - smoothing, each other id but `pad` gets smoothing / (V - 2), and `pad` gets nothing. Returns a 0-d tensor.
    """
    V = logits.shape[-1]
    share = torch.full_like(logits, smoothing / (V - 2))  # (B, T, V)
    share[..., pad] = 0.0
    share = share.scatter(-1, target.unsqueeze(-1), 1 - smoothing)
    loss = -(share * logits.log_softmax(dim=-1)).sum(dim=-1)  # (B, T)
    return loss[target != pad].mean()


def cases(generator):
    """No padding, no smoothing, padding, another padding id, large logits, few ids, equal sizes, one token."""

    def arguments(B, T, V, smoothing, lengths=None, pad=0, scale=1.5):
        logits = scale * torch.randn(B, T, V, generator=generator, dtype=torch.float64)
        ids = torch.randint(1, V, (B, T), generator=generator)
        target = torch.where(ids == pad, 0, ids)  # with pad = 0 no id is 0; with another pad 0 is a real word
        if lengths is not None:
            target[torch.arange(T) >= torch.tensor(lengths)[:, None]] = pad
        return logits, target, smoothing, pad

    yield Case("five ids, no padding", arguments(2, 3, 5, 0.4), group="no padding")
    yield Case("seven ids, no padding", arguments(3, 4, 7, 0.1), group="no padding")
    yield Case("no smoothing", arguments(2, 4, 6, 0.0), group="no smoothing")
    yield Case("lengths 2, 5, 3", arguments(3, 5, 7, 0.3, [2, 5, 3]), group="padding")
    yield Case("one sentence much shorter", arguments(2, 9, 6, 0.2, [9, 1]), group="padding")
    yield Case("one row is padding alone", arguments(3, 4, 6, 0.4, [4, 0, 2]), group="padding")
    logits, target, smoothing, pad = arguments(3, 5, 6, 0.4, [5, 2, 4], pad=3)
    target[0, 1], target[2, 0] = 0, 0
    yield Case("padding is id 3, id 0 is a word", (logits, target, smoothing, pad), group="another padding id")
    yield Case("padding is the last id", arguments(2, 4, 6, 0.3, [4, 2], pad=5), group="another padding id")
    logits, target, smoothing, pad = arguments(2, 4, 5, 0.2, [4, 2])
    yield Case("logits of ±10,000", (1e4 * torch.sign(logits), target, smoothing, pad), group="large logits")
    yield Case("three ids", arguments(2, 4, 3, 0.3, [4, 3], pad=1), group="three ids")
    yield Case("B = T = V", arguments(5, 5, 5, 0.4, [5, 1, 3, 2, 4]), group="equal sizes")
    yield Case("one token", arguments(1, 1, 4, 0.4), group="one token")


def by_gathering(logits, target, smoothing, pad):
    """The loss of the true id and that of the others, weighed."""
    surprise = -functional.log_softmax(logits, dim=2)
    true = surprise.gather(-1, target[..., None]).squeeze(-1)
    others = surprise.sum(-1) - surprise[..., pad] - true
    losses = (1 - smoothing) * true + smoothing * others / (logits.size(-1) - 2)
    return torch.where(target == pad, 0.0, losses).sum() / (target != pad).sum()


def by_log_sum_exp(logits, target, smoothing, pad):
    """Shares sum to 1, so log Σ exp enters once, minus what the target expects of the raw scores."""
    scores, ids = logits[target.ne(pad)], target[target.ne(pad)]  # (N, V), (N,)
    words = torch.arange(scores.shape[-1]) != pad
    rest = (scores[:, words].sum(1) - scores[torch.arange(len(ids)), ids]) / (words.sum() - 1)
    wanted = torch.lerp(scores.take_along_dim(ids[:, None], 1)[:, 0], rest, smoothing)
    return (torch.logsumexp(scores, 1) - wanted).mean()


def by_loops(logits, target, smoothing, pad):
    losses, V = [], logits.shape[-1]
    for row, ids in zip(logits, target.tolist(), strict=True):
        for scores, true in zip(row, ids, strict=True):
            if true != pad:
                surprise = scores.logsumexp(0) - scores
                others = [surprise[v] for v in range(V) if v not in (true, pad)]
                losses.append((1 - smoothing) * surprise[true] + smoothing * sum(others) / len(others))
    return sum(losses) / len(losses)


def softened(target, smoothing, pad, V):
    """The target distributions (B, T, V), by arithmetic on one-hot vectors."""
    true, padding = functional.one_hot(target, V), functional.one_hot(torch.tensor(pad), V)
    return true * (1 - smoothing) + (1 - true - padding).clamp(min=0) * (smoothing / (V - 2))


def by_divergence(logits, target, smoothing, pad):
    """What KL divergence leaves out, the entropy of the target, added again."""
    share = softened(target, smoothing, pad, logits.shape[-1]).to(logits.dtype)
    divergence = functional.kl_div(functional.log_softmax(logits, -1), share, reduction="none")
    is_real = (target != pad).unsqueeze(-1)
    return ((divergence + torch.special.entr(share)) * is_real).sum() / is_real.sum()


def by_torch(logits, target, smoothing, pad):
    """`cross_entropy` takes whole distributions too."""
    share = softened(target, smoothing, pad, logits.shape[-1]).to(logits.dtype)
    losses = functional.cross_entropy(logits.movedim(-1, 1), share.movedim(-1, 1), reduction="none")  # (B, T)
    return losses.masked_select(target != pad).mean()


def _padding_appended(function, cases, generator):
    """Three more columns of padding change neither the value nor the gradient."""
    for case in cases:
        logits, target, smoothing, pad = case.args
        more = 5 * torch.randn(len(logits), 3, logits.shape[-1], generator=generator, dtype=logits.dtype)
        longer = torch.cat([target, torch.full((len(target), 3), pad)], dim=1)
        found = []
        for scores, ids in ((logits, target), (torch.cat([logits, more], dim=1), longer)):
            scores = scores.clone().requires_grad_()
            loss = function(scores, ids.clone(), smoothing, pad)
            slopes = torch.autograd.grad(loss, scores)[0] if loss.requires_grad else torch.zeros_like(scores)
            found.append((loss.detach(), slopes[:, : target.shape[1]]))
        (value, slopes), (new_value, new_slopes) = found
        if not close(value, new_value):
            return f"three more columns of padding change the loss ({case.label})"
        if not close(slopes, new_slopes):
            return f"three more columns of padding change the gradient ({case.label})"
    return None


def _one_long_sentence(function, cases, generator):
    for case in cases:
        logits, target, *rest = case.args
        together = Case(case.label, (logits.flatten(0, 1).unsqueeze(0), target.reshape(1, -1), *rest))
        if not close(call(function, case), call(function, together)):
            return f"the same tokens in one long sentence have another loss ({case.label})"
    return None


def _uniform(function, cases, generator):
    for case in cases:
        logits, *rest = case.args
        found = call(function, Case(case.label, (torch.zeros_like(logits), *rest))).item()
        if not math.isclose(found, math.log(logits.shape[-1]), rel_tol=1e-6):
            return f"where all ids are equally likely, your loss is {found:.4g} ({case.label})"
    return None


def _padding_unwanted(function, cases, generator):
    for case in cases:
        logits, target, smoothing, pad = case.args
        never = logits.clone()
        never[..., pad] -= 1e6
        if call(function, Case(case.label, (never, target, smoothing, pad))) > call(function, case):
            return f"the surer the model is that a word is not padding, the larger the loss ({case.label})"
    return None


def _undecided(case):
    """A case in which no id has probability 0 already: large logits are left out."""
    return None if case.group == "large logits" else case


EXERCISE = Exercise(
    name="label_smoothing_loss",
    reference=label_smoothing_loss,
    cases=cases,
    laws=(
        padding_ignored(0, lambda case: case.args[1] == case.args[3]),
        Law("padding appended", _padding_appended, "Which tokens do you add up, and by how many do you divide?"),
        Law("every token weighs the same", _one_long_sentence, "Over what is the mean taken, and in one step?"),
        reordered("sentences in any order", {0: (0,), 1: (0,)}, {}, "What would know a sentence by its place?"),
        on(Law("padding is never asked for", _padding_unwanted, "What share does the padding id get?"), _undecided),
        Law("a uniform guess costs log V", _uniform, "Do the shares of one token sum to 1, and what do they multiply?"),
    ),
    mistakes=label_smoothing_loss_mistakes.MISTAKES + label_smoothing_loss_mean_mistakes.MISTAKES,
    accepts=(by_gathering, by_log_sum_exp, by_loops, by_divergence, by_torch),
    hints=(
        "Make the target distribution first, (B, T, V): a full tensor, then two corrections.",
        "`torch.full_like(logits, smoothing / (V - 2))`, then 0 in the column of `pad`, then 1 - smoothing at the true "
        "ids: `scatter(-1, target.unsqueeze(-1), 1 - smoothing)`.",
        "Cross-entropy is minus the sum over V of share times `logits.log_softmax(dim=-1)`: (B, T), a loss for each "
        "token.",
        "`target != pad` chooses the real tokens; their mean is the loss.",
    ),
    minutes=12,
    difficulty=3,
    points=3,
    forbidden=("torch.nn.functional.cross_entropy", "torch.nn.CrossEntropyLoss"),
)  # fmt: skip
