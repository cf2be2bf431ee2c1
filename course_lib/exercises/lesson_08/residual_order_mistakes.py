"""What people write for `residual` instead: the norm in another place."""

from course_lib.checking import mistake


def pre_norm(x, sublayer, norm):
    return x + sublayer(norm(x))


def post_norm(x, sublayer, norm):
    return norm(x + sublayer(x))


@mistake(
    "This is pre-norm, whatever `norm_first` says. It is what most models do since GPT-2; the paper's own order "
    "normalises the sum. Which argument chooses between them?",
    source="C06: the Annotated Transformer normalises first, the paper last",
)
def always_pre_norm(x, sublayer, norm, norm_first=False):
    return pre_norm(x, sublayer, norm)


@mistake(
    "This is post-norm, the paper's order, whatever `norm_first` says. What should change when `norm_first` is True?",
    source="C06: the formula of section 3.1 typed in, the option left for later",
)
def always_post_norm(x, sublayer, norm, norm_first=False):
    return post_norm(x, sublayer, norm)


@mistake(
    "The two orders have changed places: post-norm where `norm_first` is True, pre-norm where it is False. "
    "Which of your branches calls `norm` before the sub-layer?",
    source="a condition the wrong way round; 'first' read as 'the first formula'",
)
def orders_exchanged(x, sublayer, norm, norm_first=False):
    return post_norm(x, sublayer, norm) if norm_first else pre_norm(x, sublayer, norm)


@mistake(
    "The shortcut carries norm(x): with norm_first, x itself should go round the norm too, or nothing runs from the "
    "first block to the last unchanged. Which x do you add?",
    source="A088",
)
def normalised_shortcut(x, sublayer, norm, norm_first=False):
    if norm_first:
        x = norm(x)
        return x + sublayer(x)
    return post_norm(x, sublayer, norm)


@mistake(
    "x is normalised at the top in both orders, so in post-norm, too, the shortcut begins behind a norm. "
    "Which x does the formula without norm_first add, and which one does its sub-layer read?",
    source="A088: `x = norm(x)` above the `if`, or a condition that only guards the last line",
)
def normed_at_the_top(x, sublayer, norm, norm_first=False):
    x = norm(x)
    return x + sublayer(x) if norm_first else post_norm(x, sublayer, norm)


@mistake(
    "With norm_first, the shortcut is normalised and what the sub-layer reads is not: the wrong one of the two. "
    "In which bracket does norm stand?",
    source="A088's mirror image: norm(x) put on the other x of the sum",
)
def other_x_normalised(x, sublayer, norm, norm_first=False):
    return norm(x) + sublayer(x) if norm_first else post_norm(x, sublayer, norm)


@mistake(
    "Without norm_first only x is normalised: the bracket of norm closes before the plus. "
    "What does the formula put inside norm(...)?",
    source="`norm(x) + sublayer(x)`, one bracket too early",
)
def bracket_too_early(x, sublayer, norm, norm_first=False):
    return pre_norm(x, sublayer, norm) if norm_first else norm(x) + sublayer(x)


@mistake(
    "Without norm_first, only what the sub-layer returns is normalised, and x is added afterwards: the sum keeps "
    "growing from block to block. Does the paper normalise before or after it adds?",
    source="x + norm(sublayer(x)), the order of Swin Transformer V2",
)
def sublayer_normalised_alone(x, sublayer, norm, norm_first=False):
    return pre_norm(x, sublayer, norm) if norm_first else x + norm(sublayer(x))


@mistake(
    "With norm_first, norm and sub-layer have changed places: the norm comes behind the sub-layer. "
    "In sublayer(norm(x)), which of the two runs first?",
    source="nested calls read from left to right",
)
def nested_the_other_way(x, sublayer, norm, norm_first=False):
    return x + norm(sublayer(x)) if norm_first else post_norm(x, sublayer, norm)


@mistake(
    "With norm_first, the sub-layer stands between two norms, before and behind it. "
    "How often does `norm` stand in the formula?",
    source="sandwich norm, as in CogView and Gemma 2, which have a norm of its own for each place",
)
def sandwiched(x, sublayer, norm, norm_first=False):
    return x + norm(sublayer(norm(x))) if norm_first else post_norm(x, sublayer, norm)


@mistake(
    "With norm_first, the sum is normalised once more at the end: nothing passes unnormalised. "
    "Which of your lines should run for one of the two orders alone?",
    source="the condition on the first norm, and none on the last line",
)
def normed_again(x, sublayer, norm, norm_first=False):
    return norm(pre_norm(x, sublayer, norm)) if norm_first else post_norm(x, sublayer, norm)


@mistake(
    "Without norm_first, the sub-layer reads norm(x) all the same, and the sum is normalised as well. "
    "In post-norm, what does the sub-layer receive?",
    source="the condition on the last norm, and none on the first line",
)
def normed_before_as_well(x, sublayer, norm, norm_first=False):
    return pre_norm(x, sublayer, norm) if norm_first else norm(pre_norm(x, sublayer, norm))


@mistake(
    "With norm_first, x is normalised at the top, and so is the sum at the end: one norm more, none less. "
    "Which of the two norms should `norm_first` take away?",
    source="`if norm_first: x = norm(x)` written above the line for post-norm, which stays as it is",
)
def normed_first_and_last(x, sublayer, norm, norm_first=False):
    return post_norm(norm(x) if norm_first else x, sublayer, norm)


@mistake(
    "There is no norm: a plain shortcut, as in image models, whose numbers grow with every block. "
    "Which argument do you never call?",
    source="'a residual connection' is x + f(x) in every text before the Transformer",
)
def no_norm(x, sublayer, norm, norm_first=False):
    return x + sublayer(x)


@mistake(
    "With norm_first nothing is normalised: you leave the last norm out, and the first one is missing. "
    "Where does it go if it does not stand at the end?",
    source="`return x if norm_first else norm(x)` alone",
)
def pre_norm_without_norm(x, sublayer, norm, norm_first=False):
    return x + sublayer(x) if norm_first else post_norm(x, sublayer, norm)


MISTAKES = (
    always_pre_norm, always_post_norm, orders_exchanged, normalised_shortcut, normed_at_the_top, other_x_normalised,
    bracket_too_early, sublayer_normalised_alone, nested_the_other_way, sandwiched, normed_again,
    normed_before_as_well, normed_first_and_last, no_norm, pre_norm_without_norm,
)  # fmt: skip
