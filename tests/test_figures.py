"""Figures are the same bytes every time, opaque, small, and quiet about fonts."""

import io
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib import font_manager
from PIL import Image

from course_lib import figures
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


@pytest.fixture
def fonts(monkeypatch):
    """matplotlib as on a machine of its own: fonts.files is what lies on the disk, fonts.known what its list holds."""
    machine = SimpleNamespace(files=[], known=["DejaVu Sans"])
    monkeypatch.setattr(font_manager, "get_font_names", lambda: list(machine.known))
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: machine.files)
    monkeypatch.setattr(font_manager.fontManager, "addfont", lambda path: machine.known.append(Path(path).stem))
    figures.hangul_fonts.cache_clear()
    yield machine
    figures.hangul_fonts.cache_clear()


def test_no_warning_where_a_font_is_missing(fonts):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draw()
    assert not caught


def test_a_font_that_came_after_matplotlib_s_list_is_found(fonts):
    fonts.files = ["a/DejaVuSans.ttf", "b/NanumGothic.ttf", "b/NanumGothicCoding.ttf"]
    assert figures.hangul_fonts() == ("NanumGothic",)
    assert "NanumGothicCoding" not in fonts.known  # what is not asked for is not read


def test_without_any_korean_font_there_is_none(fonts):
    fonts.files = ["a/DejaVuSans.ttf"]
    assert figures.hangul_fonts() == ()


def test_the_caller_s_settings_come_back():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    draw()
    assert dict(mpl.rcParams) == before
