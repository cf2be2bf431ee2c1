"""What people write for `residual` instead: another shortcut, or none."""

import torch

from course_lib.checking import mistake


def joined(x, sublayer, norm, norm_first, join):
    """Both orders, with another way to bring x and the sub-layer's result together."""
    if norm_first:
        return join(x, sublayer(norm(x)))
    return norm(join(x, sublayer(x)))


@mistake(
    "There is no shortcut: x is lost behind the sub-layer, and a deep stack learns slowly or not at all. "
    "What is added to what the sub-layer returns?",
    source="layers in a row, as in nn.Sequential",
)
def no_shortcut(x, sublayer, norm, norm_first=False):
    return joined(x, sublayer, norm, norm_first, lambda x, out: out)


@mistake(
    "With norm_first the shortcut is missing: only what the sub-layer returns is handed on. "
    "What does the formula for norm_first begin with?",
    source="`x +` forgotten in one of two lines, since norm and sub-layer are nested there",
)
def no_shortcut_in_pre_norm(x, sublayer, norm, norm_first=False):
    return sublayer(norm(x)) if norm_first else norm(x + sublayer(x))


@mistake(
    "The name x is given to the sub-layer's result, and then added to itself: the input is gone before the plus. "
    "Which value does x hold on the line that adds?",
    source="`x = sublayer(x)` followed by `x + x`: a name used for two things",
)
def x_overwritten(x, sublayer, norm, norm_first=False):
    return joined(x, sublayer, norm, norm_first, lambda x, out: out + out)


@mistake(
    "x is added twice: the sub-layer's word counts half as much beside it. On which two lines does x come in?",
    source="the shortcut written once beside the call, and once more on the return",
)
def shortcut_twice(x, sublayer, norm, norm_first=False):
    return joined(x, sublayer, norm, norm_first, lambda x, out: x + out + x)


@mistake(
    "The mean of both is taken: with every block the way past all of them becomes half as strong. "
    "Which factor stands before x in the formula?",
    source="'joining two paths' as an average",
)
def averaged(x, sublayer, norm, norm_first=False):
    return joined(x, sublayer, norm, norm_first, lambda x, out: (x + out) / 2)


@mistake(
    "The sum is multiplied by √0.5 to keep its variance: the convolutional models of 2017 did that. "
    "What keeps the numbers in bounds in a Transformer?",
    source="ConvS2S (Gehring et al. 2017) scales each sum by √0.5",
)
def scaled_by_root_half(x, sublayer, norm, norm_first=False):
    return joined(x, sublayer, norm, norm_first, lambda x, out: (x + out) * 0.5**0.5)


@mistake(
    "x and the sub-layer's result are multiplied: where one of them is 0, the other is lost. "
    "Which operation lets both pass?",
    source="a gate, as in LSTM and highway networks, in place of a sum",
)
def multiplied(x, sublayer, norm, norm_first=False):
    return joined(x, sublayer, norm, norm_first, lambda x, out: x * out)


@mistake(
    "Both stand side by side, so the token grows twice as wide. Which operation leaves a token as wide as it was?",
    source="skip connections of U-Net and DenseNet, which concatenate",
)
def concatenated(x, sublayer, norm, norm_first=False):
    return joined(x, sublayer, norm, norm_first, lambda x, out: torch.cat([x, out], dim=-1))


@mistake(
    "The sub-layer runs twice, the second time on its own result. How often is it called in the formula?",
    source="`x = sublayer(x)` left above the line that calls it again",
)
def called_twice(x, sublayer, norm, norm_first=False):
    inner = sublayer(norm(x)) if norm_first else sublayer(x)
    return x + sublayer(inner) if norm_first else norm(x + sublayer(inner))


@mistake(
    "The sub-layer begins from its own result, shortcut included: x is replaced by sublayer(x) first. "
    "Which line changes x before the formula reads it?",
    source="`x = sublayer(x)` left above `norm(x + sublayer(x))`: a line kept from before",
)
def one_step_ahead(x, sublayer, norm, norm_first=False):
    return joined(sublayer(x), sublayer, norm, norm_first, torch.add)


@mistake(
    "The values are right, but x was written to: `+=` adds into the caller's tensor. "
    "What does the caller hold after your function returns?",
    source="A090",
)
def in_place(x, sublayer, norm, norm_first=False):
    if norm_first:
        x += sublayer(norm(x))
        return x
    x += sublayer(x)
    return norm(x)


@mistake(
    "The values are right, but no gradient takes the shortcut: it is a copy outside torch's graph. "
    "For whom was this way round the sub-layer made?",
    source="`shortcut = x.detach().clone()` or `x.data`, to keep x as it was",
)
def shortcut_detached(x, sublayer, norm, norm_first=False):
    return joined(x, sublayer, norm, norm_first, lambda x, out: x.detach() + out)


@mistake(
    "The values are right, but nothing is learned in the sub-layer: no gradient comes through it. "
    "Which line detaches its result, or runs it under `no_grad`?",
    source="`.detach()` or `.data` on the wrong one of the two",
)
def sublayer_detached(x, sublayer, norm, norm_first=False):
    return joined(x, sublayer, norm, norm_first, lambda x, out: x + out.detach())


MISTAKES = (
    no_shortcut, no_shortcut_in_pre_norm, x_overwritten, shortcut_twice, averaged, scaled_by_root_half, multiplied,
    concatenated, called_twice, one_step_ahead, in_place, shortcut_detached, sublayer_detached,
)  # fmt: skip
