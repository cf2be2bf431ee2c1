"""What a learner's softmax can do beside being right or wrong by a known mistake."""

import sys
import time

import torch

from course_lib import exercises

SOFTMAX = exercises.get("softmax")


def right(scores, dim=-1):
    return torch.softmax(scores, dim)


def nothing(scores, dim=-1):
    right(scores, dim)


def only_a_docstring(scores, dim=-1):
    """Still to be written."""


def a_list(scores, dim=-1):
    return right(scores, dim).tolist()


def an_array(scores, dim=-1):
    return right(scores, dim).detach().numpy()


def a_tuple(scores, dim=-1):
    return right(scores, dim), scores


def integers(scores, dim=-1):
    return right(scores, dim).long()


def booleans(scores, dim=-1):
    return right(scores, dim) > 0.1


def not_a_number(scores, dim=-1):
    return right(scores, dim) * float("nan")


def another_shape(scores, dim=-1):
    return right(scores, dim).sum(dim)


def an_extra_axis(scores, dim=-1):
    return right(scores, dim).unsqueeze(0)


def detached(scores, dim=-1):
    return right(scores, dim).detach()


def through_numpy(scores, dim=-1):
    return torch.from_numpy(right(scores, dim).numpy())


def single_precision(scores, dim=-1):
    return right(scores.float(), dim)


def always_double(scores, dim=-1):
    return right(scores.double(), dim)


def zeros(scores, dim=-1):
    return torch.zeros_like(scores)


def the_argument(scores, dim=-1):
    return scores


def for_ever(scores, dim=-1):
    return for_ever(scores, dim)


def takes_all_memory(scores, dim=-1):
    return bytearray(1 << 60)


def sleeps(scores, dim=-1):
    time.sleep(30)


def swallows_everything(scores, dim=-1):
    while True:
        try:
            time.sleep(0.01)
        except Exception:  # what a learner may write; the alarm must pass it
            pass


def catches_the_alarm(scores, dim=-1):
    try:
        time.sleep(30)
    except:  # noqa: E722 (what a learner may write; it catches even the alarm)
        time.sleep(30)


def more_than_there_are(scores, dim=-1):
    return scores.topk(scores.numel() + 1).values


def fails(scores, dim=-1):
    return right(scores, dim) @ torch.ones(7)


def one_truth_value(scores, dim=-1):
    return right(scores, dim) if not scores < 0 else scores


def an_axis_too_far(scores, dim=-1):
    return torch.softmax(scores, dim=scores.ndim)


def mask_of_another_shape(scores, dim=-1):
    scores[torch.ones(7, dtype=torch.bool)] = 0.0
    return right(scores, dim)


def views_a_transpose(scores, dim=-1):
    return right(scores.unsqueeze(-1).expand(*scores.shape, 2).transpose(0, -1).contiguous().mT.view(-1), dim)


def one_argument(*arguments, **options):
    def softmax(scores):
        return right(scores)

    return softmax(*arguments, **options)


def a_helper_without_dim(scores, dim=-1):
    def shifted(scores):
        return scores - scores.max()

    return right(shifted(scores, dim))


def a_result_for_a_function(scores, dim=-1):
    return right(scores)(dim)


def leaves_the_process(scores, dim=-1):
    sys.exit(0)


def noise(scores, dim=-1):
    return right(scores, dim) * 1.1


def random_numbers(scores, dim=-1):
    return right(scores + 0.01 * torch.randn(scores.shape), dim)


def depends_on_layout(scores, dim=-1):
    return right(scores.view(-1).view(scores.shape), dim)
