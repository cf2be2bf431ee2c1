"""The roster: any usual CSV file; and where it cannot be used, the line."""

import pytest

from course_lib.grading.collecting.roster import BadRoster, read_roster


def written(folder, data):
    path = folder / "people.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp949"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_usual_files(tmp_path, encoding, delimiter, end):
    rows = ["student,name,email", 'k1,김하나,"hana@x.org"', "j2,Ruiz Jose,jr@x.org", "", " a3 , Ann ,"]
    text = end.join(row.replace(",", delimiter) for row in rows)
    found = read_roster(written(tmp_path, text.encode(encoding)))
    assert [(one.id, one.name) for one in found] == [("k1", "김하나"), ("j2", "Ruiz Jose"), ("a3", "Ann")]
    assert "hana@x.org" in found[0].values


@pytest.mark.parametrize(
    ("text", "student"),
    [
        ("id,first_name,last_name,email\nx1,Ann,Lee,a@b\n", ("x1", "Ann Lee")),  # nbgrader
        ("First name,Surname,ID number,Email address\nAnn,Lee,x1,a@b\n", ("x1", "Ann Lee")),  # Moodle
        ('Student,ID,SIS Login ID,Section\n    Points Possible,,,\n"Lee, Ann",77,al,1\n', ("77", "Lee, Ann")),  # Canvas
        ("student,name,email,id\nx1,Ann,a@b,9001\n", ("x1", "Ann")),
        ("student,first_name,last_name,id\nx1,Ann,Lee,9001\n", ("x1", "Ann Lee")),
        ("student\nx1\n", ("x1", "")),
        ("ID;Name\nx/1;=cmd()\n", ("x_1", "=cmd()")),
    ],
)
def test_what_other_programs_write(tmp_path, text, student):
    (found,) = read_roster(written(tmp_path, text))
    assert (found.id, found.name) == student


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", 1, "the file is empty"),
        ("name,email\nAnn,a@b\n", 1, "no column is called `id` or `student`; the columns are name, email"),
        ("id,name\nx1,Ann\n\nX1,Bo\n", 4, "the id X1 stands in line 2 too"),
        ("id,name\nx1,Ann\n,Bo\n", 3, "the student has no id"),
        ("id,name\nx1,Ann,Lee\n", 2, "3 values under 2 headings"),
        ("id,id\nx1,x2\n", 1, "two columns are called `id`"),
        ('id,name\nx1,"Ann\n', 2, "this is no CSV"),
    ],
)
def test_a_bad_roster_names_the_line(tmp_path, text, where, what):
    with pytest.raises(BadRoster) as raised:
        read_roster(written(tmp_path, text))
    assert str(raised.value).startswith(f"people.csv, line {where}: ") and what in str(raised.value)
