"""Languages given by the chances of their next tokens, as the steps of models, and a beam search over them in loops."""

import math
from typing import NamedTuple

import torch

PAD, BOS, EOS = 0, 1, 2
IDS = {"bos": BOS, "eos": EOS, "pad": PAD}


class Prefix(NamedTuple):
    """The state: what each row has written, (N, t), and which language it is written in, (N,)."""

    written: torch.Tensor
    language: torch.Tensor

    def select(self, rows):
        return Prefix(self.written[rows], self.language[rows])


def start(*languages):
    return Prefix(torch.zeros(len(languages), 0, dtype=torch.int64), torch.tensor(languages))


def step_of(next_scores):
    """The step of a model that is given by a function (language, tuple of tokens so far) -> V scores."""

    def step(token, state):
        written = torch.cat([state.written, token.unsqueeze(1)], dim=1)
        prefixes = [tuple(row[1:]) for row in written.tolist()]  # without BOS
        scores = [next_scores(*pair) for pair in zip(state.language.tolist(), prefixes, strict=True)]
        return torch.stack(scores), Prefix(written, state.language)

    return step


def random_language(V, spread=2.0):
    """Each prefix has random scores of its own, the same whenever it is asked for."""

    def next_scores(language, prefix):
        seed = language
        for token in prefix:
            seed = seed * (V + 1) + token + 1
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(V, generator=generator, dtype=torch.float64) * spread

    return next_scores


def written_down(chances):
    """A language from a dict: tuple of tokens so far -> {token: chance}; what is not in it has no chance at all."""
    V = 1 + max(token for following in chances.values() for token in following)

    def next_scores(language, prefix):
        p = torch.zeros(V, dtype=torch.float64)
        for token, chance in chances.get(prefix, {EOS: 1.0}).items():
            p[token] = chance
        return p.log()

    return next_scores


def penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def all_texts(next_scores, language, max_length, alpha):
    """Every text up to its end or max_length, with its score: a list of (score, text), the best first."""
    found, open_ones = [], [(0.0, ())]
    for length in range(1, max_length + 1):
        following = []
        for total, prefix in open_ones:
            for token, log_p in enumerate(next_scores(language, prefix).log_softmax(-1).tolist()):
                following.append((total + log_p, (*prefix, token)))
        ended = [one for one in following if one[1][-1] == EOS or length == max_length]
        found += [(total / penalty(length, alpha), text) for total, text in ended if total > -math.inf]
        open_ones = [one for one in following if one[1][-1] != EOS]
    return sorted(found, key=lambda one: -one[0])


def looped_beam(next_scores, language, width, alpha, max_length):
    """Every text that a beam of this width sets aside, the best first; it never stops early."""
    finished, live = [], [(0.0, ())]
    for length in range(1, max_length + 1):
        following = []
        for total, prefix in live:
            for token, log_p in enumerate(next_scores(language, prefix).log_softmax(-1).tolist()):
                if total + log_p > -math.inf:
                    following.append((total + log_p, (*prefix, token)))
        following.sort(key=lambda one: -one[0])  # stable: of equal ones the older text, then the smaller token
        for total, text in following[:width]:
            if text[-1] == EOS or length == max_length:
                finished.append((total / penalty(length, alpha), text))
        live = [one for one in following if one[1][-1] != EOS][:width]
    return sorted(finished, key=lambda one: -one[0])
