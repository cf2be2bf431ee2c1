"""What runs on the learner's side of the wall: it is copied beside the learner's code and holds no secret."""

START, END, LOST = b"s", b"e", b"l"  # what the judge asks of the warm process, see `__main__`
