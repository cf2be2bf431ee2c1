"""Figures are the same bytes every time, opaque, small, and quiet about fonts."""

import io
import warnings

from PIL import Image

from course_lib.figures import COLOURS, panels, png, style


def draw():
    with style():
        figure, (left, right) = panels(2)
        left.plot([1, 2, 3], [1, 4, 9], label="나는 너를 사랑해")
        left.legend()
        right.imshow([[0.1, 0.9], [0.6, 0.4]])
    return png(figure)


def test_the_same_figure_is_the_same_bytes():
    assert draw() == draw()


def test_opaque_with_few_colours():
    picture = Image.open(io.BytesIO(draw()))
    assert picture.mode == "P" and len(picture.getcolors()) <= COLOURS
    assert "transparency" not in picture.info
    assert picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_no_warning_where_a_font_is_missing(monkeypatch):
    from matplotlib import font_manager

    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans"])
    with warnings.catch_warnings(record=True) as caught, style():
        warnings.simplefilter("always")
        panels(1)
    assert not caught


def test_the_caller_s_settings_come_back():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    draw()
    assert dict(mpl.rcParams) == before
