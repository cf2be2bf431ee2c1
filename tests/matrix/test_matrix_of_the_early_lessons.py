"""The mistake matrix of lessons 0 to 7 on three seeds; `course matrix --seeds 20` is run by hand."""

import pytest

from .rows_of_lessons import EARLY, KINDS, check_remote, check_rows


@pytest.mark.parametrize("remote", [False, True], ids=["here", "remote"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_as_it_must_be(kind, remote):
    check_rows(EARLY, kind, remote)


def test_the_remote_table_is_the_same():
    check_remote(EARLY)
