"""An answer as it stands at its check: which cells have to run again so that it is what the learner saw there.

Mostly that is its one cell. There are more where an answer was finished in a second cell (`Encoder.forward = forward`,
`softmax = faster(softmax)`), and where several cells give a meaning to a helper that the answer uses.
"""

import builtins

from course_lib.authoring.cell_code import bound_names, builds_on, global_names, patched_names

from ..records import Cell

BUILTINS = frozenset(dir(builtins))
FIRST = -2  # the place, before all cells, where builtins get their meaning back


def standing(own, name, at, attempts, check, exercises):
    """The cells that make the answer `name` what it is at its check, in their order.

    own: {index: cells}. at: the index of the cell that counts. attempts: indices of all that define it. check: the
    index of its last check, or None. exercises: names that have answers of their own.
    """
    chosen = {at: parts(own, at, name)}
    first = at
    while any(builds_on(cell.source, name) for cell in chosen[first]):
        before = [i for i in attempts if i < first]
        if not before:
            break
        first = before[-1]
        chosen[first] = parts(own, first, name)
    end = check if check is not None and at <= check else max(own)
    for i in own:
        if at < i <= end and any(name in patched_names(cell.source) for cell in own[i]):
            chosen[i] = own[i]
    add_helpers(chosen, own, end, exercises)
    return tuple(cell for i in sorted(chosen) for cell in chosen[i])


def parts(own, i, name):
    """The cells at an index that define a name; all of them where none can be told to."""
    return tuple(cell for cell in own.get(i, ()) if name in bound_names(cell.source)) or own.get(i, ())


def add_helpers(chosen, own, end, exercises):
    """Add the cells that give a name the meaning that it has at index `end`, where other cells give it others.

    A builtin that gets another meaning below `end` only (`sum = scores.sum()`) is itself there.
    """
    waiting = [cell.source for cells in chosen.values() for cell in cells]
    seen, givers, restored = set(exercises), {}, []
    for i, cells in own.items():
        for name in {name for cell in cells for name in bound_names(cell.source)}:
            givers.setdefault(name, []).append(i)
    while waiting:
        names = global_names(waiting.pop()) - seen
        seen |= names
        for name in sorted(names):
            giving = {i: parts(own, i, name) for i in givers.get(name, ())}
            last = max((i for i in giving if i <= end), default=None)
            if giving and last is None and name in BUILTINS:
                restored.append(Cell(f"del {name}  # a cell below gives it another meaning", f"above `{name}`"))
            elif last is not None and last not in chosen and len(set(map(texts, giving.values()))) > 1:
                chosen[last] = giving[last]
                waiting += texts(giving[last])
    if restored:
        chosen[FIRST] = tuple(restored)


def texts(cells):
    return tuple(cell.source for cell in cells)
