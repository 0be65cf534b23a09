"""``d3stats audit-table`` as a user runs it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from d3stats.cli import app
from d3stats.inference import audit_table

TABLE = "model,accuracy,baseline,gain,note\nMORE,85.0,72.5,12.5,a\nSAMRE,86.3,72.5,14.8,b\n"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["audit-table", *words])


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    return str(path)


def test_what_is_inconsistent_comes_first_with_what_would_have_to_be_true(file: str) -> None:
    done = run(file, "--n", "80")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "4 findings: 1 inconsistent, 0 possible only under a further condition, 3 consistent"
    )
    assert lines[2].startswith("Inconsistent")
    assert lines[3].strip() == "SAMRE, gain: printed 14.8; implied 13.8 (13.7 to 13.9)"
    assert lines[4].strip() == "needs other entries than the printed ones"
    assert "SAMRE, a share of 80 items: printed 86.3; implied 69/80 (a half, rounded up)" in done.stdout
    assert "kappa: no kappa" in done.stdout
    assert "columns that no check reads: note" in done.stdout
    assert max(map(len, lines)) <= 100


def test_findings_are_no_error_unless_strict(file: str) -> None:
    assert run(file).exit_code == 0
    assert run(file, "--strict").exit_code == 1
    assert run(file, "--strict", "--check", "share", "--n", "80").exit_code == 0


def test_json_holds_every_finding(file: str) -> None:
    done = run(file, "--n", "80", "--json")
    document = json.loads(done.stdout)
    assert document["holds"] is False
    assert [f["verdict"] for f in document["findings"]].count("inconsistent") == 1
    assert document["findings"][0]["implied"] == "68/80"
    assert document["ignored_columns"] == ["note"]
    # Strictness changes the exit code, not the document.
    strict = run(file, "--n", "80", "--json", "--strict")
    assert strict.exit_code == 1
    assert json.loads(strict.stdout) == document


def test_latex_is_a_booktabs_table(file: str) -> None:
    done = run(file, "--latex")
    assert done.stdout.startswith("\\begin{tabular}")
    assert "\\toprule" in done.stdout


def test_closing_zeros_of_the_file_count(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("accuracy,n\n0.600,7\n", encoding="utf-8")
    assert run(str(path), "--strict").exit_code == 1
    path.write_text("accuracy,n\n0.6,7\n", encoding="utf-8")
    assert run(str(path), "--strict").exit_code == 0


def test_the_checks_and_their_columns_are_listed() -> None:
    done = run("--checks")
    assert done.exit_code == 0
    assert "gain: Is the gain the difference? (accuracy, baseline, gain)" in done.stdout
    assert json.loads(run("--checks", "--json").stdout)["holm"]["needs"] == ["p"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{file}", "--json", "--latex"], "only one of --json"),
        ([], "FILE must be a table"),
        (["nowhere.csv"], "nowhere.csv"),
        (["{file}", "--check", "colour"], "check must be one of"),
        (["{file}", "--n", "0"], "n must be >= 1"),
        (["{empty}"], "must be a table with a line of column names: file must hold records; got 0 bytes"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_1(
    words: list[str], message: str, file: str, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("", encoding="utf-8")
    done = run(*[word.format(file=file, empty=empty) for word in words])
    assert done.exit_code == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\n", "must be a table with a line of column names; got none"),
        ("model,accuracy\n", "at least one row; got none"),
        ("model,accuracy\nA,\nB,-\n", "at least one number in accuracy; got none"),
        ("model,accuracy\nA,good\n", "accuracy must be a number as printed; got 'good' in row 'A'"),
        ("model,accuracy,n\nA,80,many\n", "n must be a number as printed; got 'many' in row 'A'"),
        ("model,accuracy,n\nA,80,inf\n", "n must be a number as printed; got 'inf' in row 'A'"),
        ("model,accuracy\nA,80\nA,80\n", "model must name each row once; got 'A' more than once"),
        ("model,accuracy,accuracy\nA,80,81\n", "columns must have names that differ by more than case"),
        ("colour,size\nred,1\n", "must have one of the columns accuracy"),
        ("model;accuracy;t\nA;80;1,390\n", "no comma between thousands; got '1,390'; write 1390 (or all"),
        (
            "model;accuracy;tokens\nA;80,5;1,390\n",
            "no comma between thousands; got '1,390'; write 1390 (or all",
        ),
        ('model,accuracy\nA,80.5\nB,"80,5"\n', "accuracy must be a number as printed; got '80,5' in row 'B'"),
        # An unquoted 4,650 is two cells, which would shift every number to another column.
        (
            "model,accuracy,tokens\nA,80,4,650\n",
            "line 2: a row must have 3 cells; got 4; put a number that holds a comma in quotes",
        ),
    ],
)
def test_a_file_that_is_no_table_of_numbers_is_one_clear_line(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    done = run(str(path))
    assert done.exit_code == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_table_that_no_check_can_read_says_that_nothing_was_checked(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,accuracy,acc\nA,80,79\n", encoding="utf-8")
    done = run(str(path))
    assert done.stdout.startswith("Nothing was checked, because no check has all of its columns.")
    assert "columns that no check reads: acc" in done.stdout


def test_the_notes_say_how_the_table_was_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,accuracy,n\nA,66.6,3\nB,83.3,6\n", encoding="utf-8")
    done = run(str(path), "--strict")
    assert done.exit_code == 0
    notes = done.stdout.partition("Notes")[2]
    assert "read as accuracy in percent" in notes
    assert "digits are read as truncated, not rounded" in notes
    document = json.loads(run(str(path), "--json").stdout)
    assert document["notes"][-1] == "digits are read as truncated, not rounded"


WRITTEN = {
    "commas": ("t.csv", lambda frame: frame.to_csv(index=False).encode()),
    "commas in quotes": ("t.csv", lambda frame: frame.to_csv(index=False, quoting=1).encode()),
    "semicolons": ("t.csv", lambda frame: frame.to_csv(index=False, sep=";").encode()),
    "tabs in a CSV": ("t.csv", lambda frame: frame.to_csv(index=False, sep="\t").encode()),
    "TSV": ("t.tsv", lambda frame: frame.to_csv(index=False, sep="\t").encode()),
    "bars": ("t.csv", lambda frame: frame.to_csv(index=False, sep="|").encode()),
    "gzip": ("t.csv.gz", lambda frame: gzip.compress(frame.to_csv(index=False).encode())),
    "a mark": ("t.csv", lambda frame: frame.to_csv(index=False).encode("utf-8-sig")),
    "UTF-16": ("t.csv", lambda frame: frame.to_csv(index=False, sep="\t").encode("utf-16")),
    "line ends of Windows": ("t.csv", lambda frame: frame.to_csv(index=False, lineterminator="\r\n").encode()),
    "an encoding": ("t.csv", lambda frame: frame.to_csv(index=False).encode("cp1252")),
    "a line for spreadsheets": ("t.csv", lambda frame: b"sep=;\n" + frame.to_csv(index=False, sep=";").encode()),
    "JSON lines": ("t.jsonl", lambda frame: frame.to_json(orient="records", lines=True).encode()),
    "decimal commas": (
        "t.csv",
        lambda frame: frame.map(lambda x: x.replace(",", "").replace(".", ",")).to_csv(index=False, sep=";").encode(),
    ),
}  # fmt: skip


def written(frame: pd.DataFrame, form: str, folder: Path) -> str:
    """Write a table in one of the forms that are read."""
    if form in ("XLSX", "Parquet"):
        path = folder / f"t.{form.lower()}"
        if form == "XLSX":
            frame.to_excel(path, index=False)
        else:
            duckdb.sql(f"COPY (SELECT * FROM frame) TO '{path}' (FORMAT parquet)")
    else:
        name, write = WRITTEN[form]
        path = folder / name
        path.write_bytes(write(frame))
    return str(path)


@pytest.mark.parametrize("form", [*WRITTEN, "XLSX", "Parquet"])
def test_every_form_of_a_table_gives_the_same_findings(form: str, tmp_path: Path) -> None:
    rows = [
        ("Zoë", "85.0", "72.5", "12.5", "1,390", "16.35"),
        ("MORE", "86.3", "72.5", "14.8", "2,051", "23.77"),
        ("SAMRE", "80.0", "72.5", "7.5", "900", "-"),
    ]
    columns = ["system", "Accuracy (%)", "baseline", "gain", "tokens", "tokens_per_point"]
    frame = pd.DataFrame(rows, columns=columns, dtype=str)
    options = ["--encoding", "cp1252"] if form == "an encoding" else []
    done = run(written(frame, form, tmp_path), "--n", "80", "--json", *options)
    assert done.exit_code == 0, done.output
    got, expected = json.loads(done.stdout), audit_table(frame, n=80).to_dict()
    if form == "decimal commas":  # thousands are printed without their comma
        for document in (got, expected):
            for finding in document["findings"]:
                finding.update({key: text.replace(",", "") for key, text in finding.items()})
        assert "numbers have a decimal comma, such as '85,0'" in got.pop("notes")
        expected.pop("notes")
    assert got == expected
    assert [f["verdict"] for f in got["findings"]].count("inconsistent") == 1


@pytest.mark.parametrize("form", ["XLSX", "Parquet", "JSON lines"])
def test_numbers_whose_closing_zeros_the_file_lost_are_named(form: str, tmp_path: Path) -> None:
    """A spreadsheet's 85 may have been printed as 85.0: fewer findings are certain, and a note says why."""
    frame = pd.DataFrame({"system": ["A", "B"], "accuracy": [85.0, 86.3], "n": [80, 80], "note": [1.5, 2.5]})
    document = json.loads(run(written(frame, form, tmp_path), "--json").stdout)
    (note,) = [note for note in document["notes"] if "closing zeros" in note]
    assert note.startswith("accuracy: the file holds numbers, not text")
    assert [f["printed"] for f in document["findings"]] == ["85", "86.3"]


def test_a_table_of_two_sheets_names_the_one_that_was_not_read(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    frame = pd.DataFrame({"accuracy": ["85.0"], "n": ["80"]})
    with pd.ExcelWriter(path) as book:
        frame.to_excel(book, sheet_name="main", index=False)
        frame.to_excel(book, sheet_name="ablation", index=False)
    assert "not read: 'ablation'" in run(str(path)).stdout


def test_own_names_give_the_same_findings_and_keep_a_percent_sign(tmp_path: Path) -> None:
    own, standard = tmp_path / "own.csv", tmp_path / "standard.csv"
    rows = "MORE,0.85,0.725,12.5\nSAMRE,0.863,0.725,14.8\n"
    own.write_text("who,Acc. (%),base,Diff (%)\n" + rows)
    standard.write_text("system,accuracy (%),baseline,gain (%)\n" + rows)
    columns = {"system": "who", "accuracy": "Acc. (%)", "baseline": "base", "gain": "Diff (%)"}
    written = ",".join(f"{role}={name}" for role, name in columns.items())
    found = run(str(own), "--columns", written, "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout) == json.loads(run(str(standard), "--json").stdout)
    assert (
        audit_table(pd.read_csv(own, dtype=str), columns=columns).findings == audit_table(standard).findings
    )
    hidden = own.read_text().replace("who", "Accuracy")
    own.write_text(hidden)
    found = audit_table(own, columns={name: columns[name] for name in ("accuracy", "baseline", "gain")})
    assert found.ignored == ("Accuracy (not read)",)
    for wrong, said in (
        ("acuracy=base", "did you mean 'accuracy'?"),
        ("accuracy=bas", "did you mean 'base'?"),
    ):
        refused = run(str(own), "--columns", wrong)
        assert (refused.exit_code, said in refused.stderr) == (1, True)
