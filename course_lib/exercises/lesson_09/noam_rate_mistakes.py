"""What people write for `noam_rate` instead: the wrong answers that the exercise knows by name."""

from course_lib.checking import mistake


def required(step):
    """The step, which must be counted from 1."""
    if step < 1:
        raise ValueError(f"step: expected at least 1, got {step}")
    return step


def schedule(step, warmup):
    """The rate of the paper without its factor for the width."""
    return min(required(step) ** -0.5, step * warmup**-1.5)


@mistake(
    "The larger of the two powers is taken: the rate falls while it should warm up and climbs without end afterwards. "
    "Which one of the two is the brake before the warm-up ends?",
    source="`max` for `min`; or the two branches of an `if` exchanged",
)
def larger_of_the_two(step, d_model, warmup):
    return d_model**-0.5 * max(required(step) ** -0.5, step * warmup**-1.5)


@mistake(
    "√D multiplies: a wider model takes larger steps, where it should take smaller ones. "
    "What does the minus in the exponent of D do?",
    source="the √D by which the same paper multiplies embeddings; A024 is its like",
)
def multiplied_by_root(step, d_model, warmup):
    return d_model**0.5 * schedule(step, warmup)


@mistake(
    "The root of D is missing: the rate is divided by the whole width. Which power of D does equation 3 have?",
    source="E-scale's kin: 'divide by the width'",
)
def width_without_root(step, d_model, warmup):
    return d_model**-1 * schedule(step, warmup)


@mistake(
    "`d_model` is never read: a model of width 64 and one of width 1024 get the same rate. What stands before the min?",
    source="the curve copied without its first factor",
)
def width_unread(step, d_model, warmup):
    return schedule(step, warmup)


@mistake(
    "The warm-up has the exponent -0.5, so the rising line is so steep that it is the smaller one for a moment only. "
    "At which step do your two powers meet, and at which should they?",
    source="both exponents taken to be -0.5",
)
def steep_warmup(step, d_model, warmup):
    return d_model**-0.5 * min(required(step) ** -0.5, step * warmup**-0.5)


@mistake(
    "`step / warmup` climbs to 1, but the other power is far below 1 by then: they meet too early, and too high. "
    "By what must the share of the warm-up be multiplied to end where the falling curve begins?",
    source="'the share of the warm-up that is done', put into the min",
)
def plain_share(step, d_model, warmup):
    return d_model**-0.5 * min(required(step) ** -0.5, step / warmup)


@mistake(
    "The warm-up rises to D^-0.5 and the next step is far below: the curve jumps where its two parts should meet. "
    "How high is step^-0.5 at the end of the warm-up?",
    source="`if step < warmup: step / warmup`, `else: step ** -0.5`: two parts from two recipes",
)
def warmup_that_jumps(step, d_model, warmup):
    return d_model**-0.5 * (step / warmup if required(step) < warmup else step**-0.5)


@mistake(
    "This is the rate of the next step: 1 is added to a step that counts from 1 already. "
    "Which number has the first update in this course?",
    source="A106: `step + 1`, the cure for a counter from 0, where none is needed",
)
def next_step(step, d_model, warmup):
    return d_model**-0.5 * schedule(required(step) + 1, warmup)


@mistake(
    "The warm-up counts from 0, so the first update moves nothing. How far has the warm-up come at step 1?",
    source="A106: the first update is a no-op",
)
def first_step_lost(step, d_model, warmup):
    return d_model**-0.5 * min(required(step) ** -0.5, (step - 1) * warmup**-1.5)


@mistake(
    "The rate rises for ever: only the line of the warm-up is there. What takes over when the warm-up ends?",
    source="the second half of the min, alone",
)
def never_falls(step, d_model, warmup):
    return d_model**-0.5 * required(step) * warmup**-1.5


@mistake(
    "`warmup` is never read: the first step is the largest of all. What keeps the first steps of an untrained model "
    "small?",
    source="the first half of the min, alone: inverse square root decay without warm-up",
)
def never_rises(step, d_model, warmup):
    return (d_model * required(step)) ** -0.5


@mistake(
    "After the warm-up the rate stays where it is. Which power of the step should bring it down from there?",
    source="`get_constant_schedule_with_warmup` of another library",
)
def constant_after_warmup(step, d_model, warmup):
    return d_model**-0.5 * min(warmup**-0.5, required(step) * warmup**-1.5)


@mistake(
    "After the warm-up the rate goes down in a straight line, to 0. Which curve falls fast at first, and never ends?",
    source="BERT's recipe, `get_linear_schedule_with_warmup`; here as long down as up",
)
def triangle(step, d_model, warmup):
    return (d_model * warmup) ** -0.5 * max(0.0, min(required(step) / warmup, 2 - step / warmup))


@mistake(
    "The falling part is 1 / step: its root is missing, and the rate is gone soon. "
    "What is the exponent of the step in the first half of the min?",
    source="1/t decay, taken for that with the root",
)
def inverse_step(step, d_model, warmup):
    return d_model**-0.5 * min(1 / required(step), step * warmup**-1.5)


@mistake(
    "√step grows: a minus is missing in its exponent, so nothing ever brings the rate down. "
    "Which of your two powers should become smaller with every step?",
    source="`step ** 0.5` for `step ** -0.5`",
)
def growing_root(step, d_model, warmup):
    return d_model**-0.5 * min(required(step) ** 0.5, step * warmup**-1.5)


@mistake(
    "The curve is right and a thousand times too low: a base rate of 1e-3 multiplies it. "
    "Is this formula a rate, or a factor for one?",
    source="A108: the formula as a multiplier on an optimiser whose own rate is not 1",
)
def on_a_base_rate(step, d_model, warmup):
    return 1e-3 * d_model**-0.5 * schedule(step, warmup)


@mistake(
    "A rate of your own, 1e-3, stands where the width should: no model is asked how wide it is. "
    "Which argument makes the first factor?",
    source="A108: d_model^-0.5 replaced by the user's rate",
)
def rate_for_width(step, d_model, warmup):
    return 1e-3 * schedule(step, warmup)


@mistake(
    "The highest rate is 1 whatever the model: this is the curve as a share of its peak, a multiplier for an optimiser "
    "that knows the peak. Which two numbers decide how high the paper's peak is?",
    source="`LambdaLR` wants a multiplier; the curve normalised for it (A108)",
)
def share_of_the_peak(step, d_model, warmup):
    return min(required(step) / warmup, (warmup / step) ** 0.5)


@mistake(
    "`//` rounds the exponents down: -1 // 2 is -1, and -3 // 2 is -2. Which division keeps the half?",
    source="A069 is its like in the position code",
)
def floored_exponents(step, d_model, warmup):
    return d_model ** (-1 // 2) * min(required(step) ** (-1 // 2), step * warmup ** (-3 // 2))


@mistake(
    "`x ** -1 / 2` is (1/x) / 2, for the power binds closer than the division. Where do brackets belong?",
    source="operator precedence",
)
def half_the_inverse(step, d_model, warmup):
    return d_model**-1 / 2 * min(required(step) ** -1 / 2, step * warmup**-3 / 2)


@mistake(
    "At step 0 this divides by zero, in the middle of a training that began to count there. "
    "Who should say that steps begin at 1, and in which words?",
    source="A106: 0 to the power -0.5",
)
def divides_by_zero(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@mistake(
    "At step 0 the rate is 0: the update is skipped without a word. Is a step 0 a step, or a counter set wrongly?",
    source="A106: the first update is a no-op, checkpoint 1 equals checkpoint 0",
)
def zero_at_zero(step, d_model, warmup):
    return 0.0 if step == 0 else d_model**-0.5 * schedule(step, warmup)


@mistake(
    "Step 0 gets the rate of step 1: a counter set wrongly stays unnoticed, and every later step is one behind. "
    "What would you rather have, a number or an error?",
    source="`max(step, 1)`, to make the error of A106 go away",
)
def zero_taken_for_one(step, d_model, warmup):
    return d_model**-0.5 * schedule(max(step, 1), warmup)


@mistake(
    "0 alone is refused: a step below it goes on to a root of a negative number. "
    "Which comparison holds for every step that is too small?",
    source="`if step == 0` or `if not step`, made for the one value that was seen to fail (A106)",
)
def zero_alone_refused(step, d_model, warmup):
    if step == 0:
        raise ValueError("step 0")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


MISTAKES = (
    larger_of_the_two, multiplied_by_root, width_without_root, width_unread, steep_warmup, plain_share,
    warmup_that_jumps, next_step, first_step_lost, never_falls, never_rises, constant_after_warmup, triangle,
    inverse_step, growing_root, on_a_base_rate, rate_for_width, share_of_the_peak, floored_exponents, half_the_inverse,
    divides_by_zero, zero_at_zero, zero_taken_for_one, zero_alone_refused,
)  # fmt: skip
