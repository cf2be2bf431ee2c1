"""Laws about what must not work: where a function should refuse, people's functions go many ways."""

from .exercise import Law
from .observe import tell


def attempt(action):
    """What an action returns; the kind of an exception that it raises, a string, in its place."""
    try:
        return action()
    except Exception as error:  # the function is the learner's, and which one it raises is what a law asks
        return tell(error).kind


def one_for_each_way(name, happens, *, right, ways, where, question):
    """A law for each way to go wrong, so that mistakes are told apart, and one for all other ways, a tuple.

    happens: function (the learner's) -> in a few words, what it does there; `right` where it does as it should.
    where: how the sentence about it begins, such as "past its last row your function".
    """

    def law(way):
        def broken(function, cases, generator):
            what = happens(function)
            return f"{where} {what}" if what == way or way is None and what != right else None

        return Law(name if way is None else f"{name} ({way})", broken, question)

    return tuple(map(law, (*ways, None)))
