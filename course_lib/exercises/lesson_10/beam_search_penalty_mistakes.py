"""What people write for `beam_search` instead: by what a sum is divided, and when."""

from course_lib.checking import mistake

from .beam_search_score_mistakes import best, penalty, search


@mistake(
    "The sum is multiplied by the penalty. It is negative, so that a long text falls further behind, which is the "
    "opposite of what alpha is for. Which operation brings a negative number closer to 0?",
    source="the penalty taken for a factor, as its name suggests",
)
def penalty_multiplied(*arguments):
    return search(*arguments, score=lambda total, length, ended, alpha: total * penalty(length, alpha))


@mistake(
    "The sum is divided by length ** alpha: that is the other convention, which the libraries of pretrained models "
    "use. Which formula does the docstring give?",
    source="`sum_logprobs / (len ** length_penalty)`: another convention than that of Wu et al. 2016, equation 14",
)
def power_of_the_length(*arguments):
    return search(*arguments, score=lambda total, length, ended, alpha: total / length**alpha)


@mistake(
    "Only 5 + L is raised to alpha, the 6 is not: a text of one token no longer keeps its sum. Where does the bracket "
    "close in the docstring?",
    source="`(5 + length) ** alpha / 6`: the bracket",
)
def bracket_of_the_penalty(*arguments):
    return search(*arguments, score=lambda total, length, ended, alpha: total / ((5 + length) ** alpha / 6))


@mistake(
    "L leaves the end out: a text that ends is taken for one token shorter than it is. Does the decoder choose `eos`, "
    "or does it come by itself?",
    source="the length of the text as a reader sees it",
)
def end_not_in_the_length(*arguments):
    return search(*arguments, score=lambda total, length, ended, alpha: total / penalty(length - ended, alpha))


@mistake(
    "L counts the start token as well. Is `bos` among the tokens whose log-probabilities you sum?",
    source="`texts.shape[1]` taken for the length; the buffer begins with `bos`",
)
def start_in_the_length(*arguments):
    return search(*arguments, score=lambda total, length, ended, alpha: total / penalty(length + 1, alpha))


@mistake(
    "`alpha` is never read: finished texts of all lengths are compared by their sums. By what is a sum divided?",
    source="the version without a length penalty",
)
def alpha_unread(*arguments):
    return search(*arguments, score=lambda total, length, ended, alpha: total)


@mistake(
    "The score is the mean over the tokens, whatever `alpha` is. What should be left of the penalty when alpha is 0?",
    source="dividing by the length, the length normalisation of Bahdanau's and Cho's groups; another convention",
)
def mean_over_tokens(*arguments):
    return search(*arguments, score=lambda total, length, ended, alpha: total / length)


@mistake(
    "Texts that are cut off at max_length get no penalty, so they are compared with the others by another measure. "
    "What do the two kinds of finished text share?",
    source="the penalty stands in the branch of `eos`; the rest is collected behind the loop as it is",
)
def cut_texts_without_penalty(*arguments):
    return search(
        *arguments, score=lambda total, length, ended, alpha: total / penalty(length, alpha) if ended else total
    )


@mistake(
    "The best text is chosen by its plain sum, and only the score that comes out is divided. When must the penalty be "
    "known, before or after the choice?",
    source="the penalty applied to what is returned",
)
def chosen_by_the_sum(*arguments):
    return search(*arguments, choose=lambda found: max(found, key=lambda one: one.sum))


@mistake(
    "The text is the right one, and its score is the plain sum, without the penalty by which it won. Which of the two "
    "numbers does the docstring return?",
    source="two lists, one for ranking and one for reporting",
)
def sum_returned(*arguments):
    def choose(found):
        chosen = best(found)
        return chosen._replace(score=chosen.sum)

    return search(*arguments, choose=choose)


@mistake(
    "The divided scores are what the next step adds to, so every step divides again. Which number should go on, and "
    "which is only for comparing finished texts?",
    source="one variable `scores` for both the sums and the normalised scores",
)
def divided_again_at_each_step(*arguments):
    return search(*arguments, carried=lambda total, length, alpha: total / penalty(length, alpha))


MISTAKES = (
    penalty_multiplied, power_of_the_length, bracket_of_the_penalty, end_not_in_the_length, start_in_the_length,
    alpha_unread, mean_over_tokens, cut_texts_without_penalty, chosen_by_the_sum, sum_returned,
    divided_again_at_each_step,
)  # fmt: skip
