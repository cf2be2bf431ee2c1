from matplotlib.colors import to_hex

from course_lib import exercises
from course_lib.figures import png, style
from course_lib.transformer_figure import BOXES, BUILT, DECODER, ENCODER, STACKS, draw_transformer


def filled(figure):
    (axes,) = figure.axes
    return sum(to_hex(patch.get_facecolor()) == BUILT.lower() for patch in axes.patches)


def test_every_box_names_an_exercise_of_the_course():
    named = {box.function for box in BOXES} | {function for *_, function in STACKS}
    assert named - {""} <= set(exercises.names())


def test_only_what_is_built_is_filled():
    assert filled(draw_transformer(set())) == 0
    attentions = [box for box in BOXES if box.function == "MultiHeadAttention"]
    assert filled(draw_transformer({"MultiHeadAttention"})) == len(attentions) == 3
    assert filled(draw_transformer(set(exercises.names()))) == sum(bool(box.function) for box in BOXES)


def test_each_sub_layer_is_followed_by_its_sum():
    for column in (ENCODER, DECODER):
        labels = [box.label for box in sorted(BOXES, key=lambda box: box.y) if box.x == column]
        for below, above in zip(labels, labels[1:], strict=False):
            assert (above == "add & norm") == ("attention" in below or below == "feed-forward")


def test_the_picture_is_small_and_the_same_every_time():
    with style():
        first, second = (png(draw_transformer({"residual"})) for _ in range(2))
    assert first == second and len(first) < 40_000
