import pytest

from course_lib.data.symbols import ALPHABET, symbol_pairs


def test_copy_and_reverse():
    copies, reversals = symbol_pairs("copy", 50), symbol_pairs("reverse", 50)
    assert all(target == source for source, target in copies)
    assert all(target == source[::-1] for source, target in reversals)
    assert [source for source, _ in copies] == [source for source, _ in reversals]


def test_all_lengths_and_all_symbols_occur_and_no_other():
    sources = [source for source, _ in symbol_pairs("copy", 2000, lengths=(3, 7))]
    counts = [sum(len(source) == length for source in sources) for length in range(3, 8)]
    assert sum(counts) == 2000 and min(counts) > 300
    assert set("".join(sources)) == set(ALPHABET)
    assert set("".join(source for source, _ in symbol_pairs("copy", 100, alphabet="xy"))) == {"x", "y"}


def test_the_seed_decides():
    assert symbol_pairs("copy", 20, seed=1) == symbol_pairs("copy", 20, seed=1)
    assert symbol_pairs("copy", 20, seed=1) != symbol_pairs("copy", 20, seed=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "sort"}, "task: expected one of"),
        ({"lengths": (0, 3)}, "lengths: expected 1 <="),
        ({"lengths": (4, 3)}, "lengths: expected 1 <="),
        ({"alphabet": ""}, "alphabet: expected at least one"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        symbol_pairs(**{"task": "copy", "count": 1, **arguments})
