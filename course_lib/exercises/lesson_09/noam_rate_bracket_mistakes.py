"""What people write for `noam_rate` instead: a factor inside the brackets, numbers of the paper written in."""

from course_lib.checking import mistake

from .noam_rate_mistakes import required, schedule


@mistake(
    "The factor for the width stands inside the min, at the falling power alone: a wide model ends its warm-up early. "
    "Where does the bracket of the min begin in the formula, before or after the factor?",
    source="`min(d_model**-0.5 * step**-0.5, ...)`: the product carried over the bracket, half-way",
)
def width_at_the_falling_power(step, d_model, warmup):
    return min((d_model * required(step)) ** -0.5, step * warmup**-1.5)


@mistake(
    "The factor for the width stands inside the min, at the warm-up alone: the falling part is the same for every "
    "model. Which of the two powers has to do with D, one of them, both, or neither?",
    source="`min(step**-0.5, step * warmup**-1.5 * d_model**-0.5)`: the factor written last",
)
def width_at_the_warmup(step, d_model, warmup):
    return min(required(step) ** -0.5, d_model**-0.5 * step * warmup**-1.5)


@mistake(
    "The warm-up lasts 4,000 steps, whatever `warmup` says: a short training would end before it does. Which argument "
    "do you never read?",
    source="A043's kin: the number of the paper, section 5.3, written in",
)
def warmup_written_in(step, d_model, warmup):
    return d_model**-0.5 * schedule(step, 4000)


@mistake(
    "The width is 512, whatever `d_model` says: a narrow model gets the rate of the paper's base model. Which argument "
    "is never read here?",
    source="A043's kin: the base model's width written in",
)
def width_written_in(step, d_model, warmup):
    return 512**-0.5 * schedule(step, warmup)


MISTAKES = (width_at_the_falling_power, width_at_the_warmup, warmup_written_in, width_written_in)
