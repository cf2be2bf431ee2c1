"""What a learner moves with slider and keys: `from course_lib.explore.alignment import alignment`.

One module each, with a function of the same name; `base` is what they share. Nothing is imported here, so that the
server extension in `save_hook` costs the server neither torch nor matplotlib.
"""
