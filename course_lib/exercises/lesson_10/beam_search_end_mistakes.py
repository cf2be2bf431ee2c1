"""What people write for `beam_search` instead: when a text is finished, and which of the finished ones comes out."""

import torch

from course_lib.checking import mistake

from .beam_search_score_mistakes import best, penalty, search


@mistake(
    "The search ends with the first text that does. A longer one may still score higher: which texts can you compare "
    "only when the loop is over?",
    source="`if token == eos: return`, as in greedy search",
)
def first_finished_returned(*arguments):
    return search(*arguments, choose=lambda found: found[0])


@mistake(
    "The search ends as soon as `width` texts are finished, though one that goes on may get ahead of them: that is the "
    "other convention, early stopping. What may end this loop, if alpha makes longer texts gain?",
    source="`early_stopping=True` of a well-known library; another convention",
)
def stops_with_enough_finished(step, state, select, width, *others):
    return search(step, state, select, width, *others, stop=lambda found, *_: len(found) >= width)


@mistake(
    "The search stops when the best finished text is ahead of what goes on as it stands now. With alpha above 0 a text "
    "may catch up: its sum falls, but what it is divided by grows. What is the highest score it can still reach?",
    source="the heuristic stop of a well-known library, exact for alpha = 0 alone",
)
def stops_too_soon(*arguments):
    def stop(found, sums, length, alpha):
        return bool(found) and best(found).score >= max(sums) / penalty(length, alpha)

    return search(*arguments, stop=stop)


@mistake(
    "Any ending among the 2 · width candidates is finished, whatever its rank. Which of them does the docstring let "
    "end, and what are the others for?",
    source="`texts[ends]` without `[:width]`",
)
def ending_at_any_rank(*arguments):
    return search(*arguments, room=lambda width, found: (2 * width, 2 * width, width))


@mistake(
    "Only the best `width` candidates are looked at, so that where some of them end, fewer go on. How many must you "
    "look at to be sure that `width` of them do not end?",
    source="`topk(width)`, endings taken out of it and not replaced",
)
def too_few_go_on(*arguments):
    return search(*arguments, room=lambda width, found: (width, width, width))


@mistake(
    "Finished texts take up room: each of them makes the beam narrower for good. That is the other convention, the "
    "shrinking beam. How many texts go on here after the second one has ended?",
    source="`k -= len(complete)`, as in tutorials on image captions, or one list that holds ended texts too; another "
    "convention",
)
def shrinking_beam(*arguments):
    return search(*arguments, room=lambda width, found: (width - len(found),) * 3)


@mistake(
    "A text that has ended is extended like any other, over its `eos` and on up to max_length. Which candidates must "
    "not be fed to the next step?",
    source="A005: the loop over the steps without a look at `eos`",
)
def extended_after_the_end(step, state, select, width, bos, eos, *others):
    return search(step, state, select, width, bos, -1, *others)


@mistake(
    "Texts that reach max_length without an end are thrown away as soon as any other has one. What does the docstring "
    "do with the best of them?",
    source="`if not finished: finished = beam`, where the docstring lets both compete",
)
def cut_texts_dropped(*arguments):
    return search(*arguments, choose=lambda found: best([one for one in found if one.ended] or found))


@mistake(
    "Only the texts of the last step are compared: what ended before is forgotten. Where do you keep the best finished "
    "text while the others go on?",
    source="`beam[0]` returned behind the loop",
)
def finished_forgotten(*arguments):
    return search(*arguments, choose=lambda found: best([one for one in found if one.length == found[-1].length]))


@mistake(
    "The start token stands at the front of the text. Did the search choose it?",
    source="A004: the buffer starts with `bos` and is returned as it is",
)
def start_kept(step, state, select, width, bos, *others):
    text, score = search(step, state, select, width, bos, *others)
    return torch.cat([torch.tensor([bos]), text]), score


@mistake(
    "The text comes without its end, so nobody can tell one that is complete from one that was cut off. Is `eos` part "
    "of what is returned?",
    source="`text[1:-1]`, or a finished text kept as it was before its last token",
)
def end_dropped(step, state, select, width, bos, eos, *others):
    text, score = search(step, state, select, width, bos, eos, *others)
    return text[text != eos], score


@mistake(
    "The text comes out as a list and the score as a plain number. The docstring speaks of shapes, (L,) and 0-d: what "
    "makes a tensor of each?",
    source="a search written in lists and floats, whose result is returned as it lies there",
)
def lists_returned(*arguments):
    text, score = search(*arguments)
    return text.tolist(), score.item()


MISTAKES = (
    first_finished_returned, stops_with_enough_finished, stops_too_soon, ending_at_any_rank, too_few_go_on,
    shrinking_beam, extended_after_the_end, cut_texts_dropped, finished_forgotten, start_kept, end_dropped,
    lists_returned,
)  # fmt: skip
