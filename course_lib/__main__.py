"""`python -m course_lib ARGS` is `course ARGS`."""

from course_lib.cli import main

main()
