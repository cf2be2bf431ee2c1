"""Near-copies in a class: answers that share more than the exercise itself makes everybody share.

Likeness alone proves nothing: a softmax is three lines, and the lesson leads to them. So two answers are shown together
only if their statements are nearly the same and they also share what nobody needs: comments, names of variables and
statements that stand neither in the course nor in the answers of others.
"""

import contextlib
import inspect
import json
import re
import textwrap
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from .answer_form import form_of, words

ALIKE = 0.8  # the share of nodes in statements that two answers have in common
ENOUGH = 3.0  # the weight of what is shared and needed by nobody
NODES = 40  # in statements that no one else has: as much as one name
FEW, SHARE = 3, 20  # what more than 3 students, and more than one in 20, have is not rare
LONG, NAMES = 120, 4  # nodes and own names of an answer that nobody writes as the course does by chance
COURSE_WORDS = 10  # words in comments of the course's solution
# Names that anybody may choose, beside those that the lesson uses.
EVERYDAY = set(
    "exp exps exponentials num den numer denom numerator denominator out output result res ret tmp temp total sum "
    "max min maximum minimum highest lowest largest top best shifted stable norm normed normalized normalised "
    "scaled logits probs probabilities prob attn attention weights scores score query key value keys values queries "
    "head heads batch size len length dim dims hidden state states new old prev next step steps idx index indices "
    "pos position positions token tokens mask masked fill zeros ones loss mean var std eps count left right first "
    "last row rows col cols column columns item items shape final inner outer".split()
)


@dataclass(frozen=True)
class NearCopies:
    """Answers to one exercise that belong together.

    students: who, sorted; one alone where it is near the course's solution. of_course: whether that is what they are
    near to. how: "the same code", "the same code, other names" or "nearly the same code". shared: what nobody needs to
    share. sources: two texts to look at side by side, with their owners: ((owner, text), (owner, text)).
    """

    exercise: str
    students: tuple[str, ...]
    of_course: bool
    how: str
    shared: tuple[str, ...]
    sources: tuple[tuple[str, str], ...]


def near_copies(reports):
    """The near-copies among the answers of a class, a sorted list of NearCopies."""
    answers = defaultdict(dict)
    for report in reports:
        for mark in report.marks:
            form = form_of(mark.answer, mark.exercise) if mark.answer.strip() and attempted(mark) else None
            if form:
                answers[mark.exercise, mark.lesson][report.student] = (form, mark.answer)
    found = []
    for (exercise, lesson), group in sorted(answers.items()):
        found += _of_course(exercise, lesson, group)
        found += _of_each_other(exercise, group, course_words(exercise, lesson), len(reports))
    return sorted(found, key=lambda one: (one.exercise, one.of_course, one.students))


def attempted(mark):
    return mark.status not in ("not attempted", "not graded")


def _of_each_other(exercise, answers, known, class_size):
    rare = max(FEW, class_size // SHARE)
    owners = defaultdict(list)
    for student, (form, _) in sorted(answers.items()):
        for feature, weight in features(form, exercise, known).items():
            owners[feature].append((student, weight))
    evidence, shared = Counter(), defaultdict(list)
    for (kind, text), members in sorted(owners.items()):
        one_form = kind == "comment" and len({answers[student][0].text for student, _ in members}) == 1
        if 1 < len(members) <= rare:
            pairs = combinations([student for student, _ in members], 2)
        elif len(members) > 1 and one_form:  # a whole ring: each with the first is enough to join them
            pairs = [(members[0][0], student) for student, _ in members[1:]]
        else:
            continue
        for pair in pairs:
            evidence[pair] += members[0][1]
            shared[pair].append((kind, text))
    joined = [
        pair for pair, weight in sorted(evidence.items())
        if weight >= ENOUGH and alike(answers[pair[0]][0], answers[pair[1]][0]) >= ALIKE
    ]  # fmt: skip
    for group in groups(joined):
        pairs = [pair for pair in joined if set(pair) <= set(group)]
        common = sorted({one for pair in pairs for one in shared[pair]})
        first = min(pairs, key=lambda pair: (-evidence[pair], pair))
        forms = [answers[student][0] for student in group]
        if len({form.text for form in forms}) > 1:
            how = "nearly the same code"
        else:
            how = "the same code" if len({form.names for form in forms}) == 1 else "the same code, other names"
        sources = tuple((student, answers[student][1]) for student in first)
        yield NearCopies(exercise, group, False, how, tuple(map(say, common)), sources)


def features(form, exercise, known):
    """{(kind, text): weight} of what a writer chose and the course did not."""
    found = {}
    for name in form.names:
        parts = [part for part in words(name) if len(part) > 2]
        if parts and not all(part in known.words or part in EVERYDAY for part in parts):
            found["name", name] = 1.0
    for comment in form.comments - known.comments:
        if (count := len(comment.split())) > 2:
            found["comment", comment] = float(min(3, count // 3))
    for line, (_, size) in form.lines.items():
        if line not in known.lines:
            found["statement", line] = min(1.0, size / NODES)
    return found


def alike(one, other):
    """The share of two answers, by nodes, that lies in statements they have in common."""
    common = sum(min(n, other.lines[line][0]) * size for line, (n, size) in one.lines.items() if line in other.lines)
    total = sum(n * size for form in (one, other) for n, size in form.lines.values())
    return 2 * common / total if total else 0.0


def groups(pairs):
    """The sorted tuples of those that are joined by pairs, directly or through others."""
    group = {}
    for one, other in pairs:
        together = group.get(one, {one}) | group.get(other, {other})
        group |= dict.fromkeys(together, together)
    return sorted({tuple(sorted(members)) for members in group.values()})


def say(feature):
    kind, text = feature
    return f"{kind} “{text}”" if kind == "comment" else f"{kind} `{text}`"


def _of_course(exercise, lesson, answers):
    """Answers that are the course's solution in form, and in names or comments that were not given."""
    solution = course_solution(exercise)
    reference = form_of(solution, exercise) if solution else None
    if reference is None:
        return
    given = given_words(exercise, lesson)
    names = {name for name in reference.names if name not in given}
    comments = {comment for comment in reference.comments if not set(comment.split()) <= given}
    for student, (form, answer) in sorted(answers.items()):
        if form.text != reference.text:
            continue
        same_names = reference.size >= LONG and len(names) >= NAMES and names <= form.names
        same_comments = form.comments & comments
        if same_names or len(words(" ".join(same_comments))) >= COURSE_WORDS:
            shared = tuple(f"comment “{comment}”" for comment in sorted(same_comments))
            shared = (tuple(f"name `{name}`" for name in sorted(names)) if same_names else ()) + shared
            sources = ((student, answer), ("the course's solution", solution))
            yield NearCopies(exercise, (student,), True, "the course's solution", shared, sources)


@dataclass(frozen=True)
class Known:
    """What the course itself says of an exercise. words: of its lesson and its code. comments, lines: as in a Form."""

    words: frozenset
    comments: frozenset
    lines: frozenset


@lru_cache(maxsize=256)
def course_words(exercise, lesson):
    """The Known of an exercise; empty for one that the course does not have."""
    texts = [_lesson_text(lesson)]
    forms = []
    for function in _versions(exercise):
        source = _source(function)
        texts.append(source)
        forms.append(form_of(source, getattr(function, "__name__", exercise)))
    forms = [form for form in forms if form]
    comments = {comment for form in forms for comment in form.comments}
    comments |= {" ".join(words(line.partition("#")[2] or line)) for text in texts for line in text.split("\n")}
    lines = {line for form in forms for line in form.lines}
    return Known(frozenset(words(" ".join(texts))), frozenset(comments), frozenset(lines))


def _versions(name):
    from course_lib import exercises

    try:
        exercise = exercises.get(name)
    except exercises.UnknownExercise:
        return []
    return [exercise.reference, *exercise.accepts, *(mistake.wrong for mistake in exercise.mistakes)]


def course_solution(exercise):
    """The course's worked answer as `solution` shows it, or ""."""
    versions = _versions(exercise)
    return _source(versions[0]) if versions else ""


def given_words(exercise, lesson):
    """The names and words of the stub in the notebook, and of the docstring, which older notebooks may have."""
    from course_lib.authoring import catalogue

    texts = [f"{inspect.signature(one)} {inspect.getdoc(one)}" for one in _versions(exercise)[:1]]
    with contextlib.suppress(LookupError, ValueError, OSError):
        cells = json.loads(catalogue.lesson(lesson).notebook.read_text(encoding="utf-8"))["cells"]
        wanted = {"exercise": exercise, "role": "answer"}
        texts += ["".join(cell["source"]) for cell in cells if cell["metadata"].get("course") == wanted]
    text = " ".join(texts)
    return {"_", *words(text), *re.findall(r"\w+", text)}


def _source(function):
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


def _lesson_text(lesson):
    from course_lib.authoring import catalogue

    try:
        return catalogue.lesson(lesson).source.read_text(encoding="utf-8")
    except (LookupError, ValueError, OSError):
        return ""
