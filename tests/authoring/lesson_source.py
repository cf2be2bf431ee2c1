"""A small lesson for the tests, without torch."""

from course_lib.authoring.catalogue import lesson

HEADER = {
    "title": "Small",
    "question": "Is it one?",
    "outcomes": "[see one]",
    "minutes": "5",
    "prerequisites": "[]",
    "exercises": "[one_of]",
}
CELLS = '''
# %% [markdown]
# # A small lesson
#
# About one.

# %% tags=["setup"]
def check(name):
    assert globals()[name](2) == 1
    print(f"✓ {name}: passed")

# %% exercise="one_of" role="answer"
def one_of(number):
    """One, for any number."""
    ### BEGIN SOLUTION
    half = number / 2
    return half * 2 / number
    ### END SOLUTION


# %% exercise="one_of" role="check"
check("one_of")

# %% [markdown]
# And so it is.

# %% tags=["experiment"]
import os, sys
print("progress", file=sys.stderr)
print(object(), os.getcwd())
print("second line")
'''


def header(**changes):
    """The header with some keys replaced; a key set to None is left out."""
    lines = [f"#     {key}: {value}" for key, value in (HEADER | changes).items() if value is not None]
    return "\n".join(["# ---", "# jupyter:", "#   course:", *lines, "# ---", ""])


def write_lesson(root, cells=CELLS, name="07_small", **changes):
    """Write the source below `root` and return its path."""
    (root / "solutions").mkdir(exist_ok=True)
    path = root / "solutions" / f"{name}.py"
    path.write_text(header(**changes) + cells, encoding="utf-8")
    return path


def make_lesson(root, cells=CELLS, **changes):
    write_lesson(root, cells, **changes)
    return lesson(7, root)
