"""Where results go that are named with -O: whole ones in their place, partial ones beside it, nothing left of dead runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile

import pytest

from fff_cli.output import files
from fff_cli.output.files import NewFile
from fff_cli.output.sinks.duck import rows_in
from fff_cli.output.streams import FORMATS
from tests.cli.terminal import FAKE, ended, environment, fake, under_way
from tests.sampling import every


def content(path, form):
    """What two files of one result have alike: no two of DuckDB's are, and a workbook holds the second of its making."""
    if form == "duckdb":
        return rows_in(path)
    return zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml") if form == "xlsx" else path.read_bytes()


SAID = "the partial result is in {!r}"


@pytest.mark.parametrize("form", every(9, FORMATS))
def test_a_partial_result_takes_no_whole_ones_place(form, tmp_path):
    target, beside = tmp_path / "out", tmp_path / "out.partial"
    target.write_text("old")
    done = fake("query", "partial", "-o", form, "-O", str(target))
    assert (done.returncode, target.read_text()) == (3, "old")
    assert f"{SAID.format(str(beside))}; {str(target)!r} is as it was" in done.stderr
    partial = content(beside, form)
    done = fake("query", "partial", "-o", form, "-O", str(target), "--on-source-error", "partial")
    assert (done.returncode, content(target, form)) == (3, partial), "asked for in so many words"
    assert "as it was" not in done.stderr
    done = fake("query", "rows 3", "-o", form, "-O", str(target))
    assert done.returncode == 0
    assert f"removed {str(beside)!r}" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_partial_result_has_its_own_name_also_where_there_is_no_other(tmp_path):
    done = fake("query", "partial", "-O", str(tmp_path / "out.csv"))
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == SAID.format(str(tmp_path / "out.csv.partial"))
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv.partial"]
    done = fake("query", "partial", "-O", str(tmp_path / "out.csv"), "--progress", "json")
    assert '"event": "note"' in done.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("script", ["rows 1; partial", "partial; rows 1"])
def test_a_file_of_several_results_is_whole_when_all_are(script, tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    done = fake("query", script, "-O", str(target))
    assert (done.returncode, target.read_text()) == (3, "old")
    assert done.stderr.count(SAID.format(f"{target}.partial")) == 1
    assert (tmp_path / "out.csv.partial").read_text().count("n,name") == 2
    fake("query", script, "-O", str(target), "--on-source-error", "partial")
    assert target.read_text().count("n,name") == 2
    assert fake("query", "rows 1; rows 1", "-O", str(target)).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_link_keeps_its_whole_file_too(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    file = NewFile(tmp_path / "link.csv")
    file.out.write(b"new")
    file.keep(aside=True)
    assert (tmp_path / "real.csv").read_text() == "old"
    assert (tmp_path / "real.csv.partial").read_text() == "new"
    assert (tmp_path / "link.csv").is_symlink()


def test_what_is_said_of_a_partial_result_is_where_it_is(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("folder/real.csv")
    (tmp_path / "way").symlink_to("folder")
    for named, said in (("link.csv", "folder/real.csv.partial"), ("way/real.csv", "way/real.csv.partial")):
        done = fake("query", "partial", "-O", named, cwd=tmp_path)
        beside = [word for word in re.findall(r"'([^']*)'", done.stderr) if word.endswith(".partial")]
        assert [(tmp_path / word).resolve() for word in beside] == [tmp_path / "folder" / "real.csv.partial"]
        assert beside[0].endswith(said)
        whole = fake("query", "rows 3", "-O", named, cwd=tmp_path)
        assert f"removed {beside[0]!r}" in whole.stderr
        assert not (tmp_path / "folder" / "real.csv.partial").exists()


def test_nobody_elses_partial_is_removed(tmp_path):
    (tmp_path / "kept").write_text("theirs")
    (tmp_path / "out.partial").symlink_to("kept")
    (tmp_path / "other.partial").mkdir()
    for name in ("out", "other"):
        assert NewFile(tmp_path / name).keep() is None
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "kept",
        "other",
        "other.partial",
        "out",
        "out.partial",
    ]


def test_what_dead_runs_left_is_swept_and_nothing_else(tmp_path, monkeypatch):
    """Whether a run is dead is told by the lock it holds on its file, on whatever machine and under whatever number."""
    code = "import os, sys, pathlib\nfrom fff_cli.output.files import NewFile\nNewFile(pathlib.Path(sys.argv[1])).out.write(b'half')\nos._exit(0)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "out.csv")], env=environment(), check=True)
    [left] = tmp_path.iterdir()
    theirs = [tmp_path / ".out.csv.x.tmp", tmp_path / ".fff-tmp.txt", tmp_path / "out.fff-tmp"]
    for path in theirs:
        path.write_text("theirs")
    running = NewFile(tmp_path / "other.csv")
    [mine] = set(tmp_path.iterdir()) - {left, *theirs}
    NewFile(tmp_path / "out.csv").drop()
    assert left.exists(), "it may be about to be claimed"
    monkeypatch.setattr(files, "_ABANDONED_S", -1.0)
    NewFile(tmp_path / "out.csv").drop()
    assert set(tmp_path.iterdir()) == {mine, *theirs}
    running.keep()
    assert (tmp_path / "other.csv").exists()


@pytest.mark.parametrize("partial", [True, False])
def test_a_full_disk_leaves_the_old_file_and_no_other(partial, tmp_path):
    (tmp_path / "out.csv").write_text("old")
    file = NewFile(tmp_path / "out.csv")
    os.dup2(os.open("/dev/full", os.O_WRONLY), file.out.fileno())
    file.out.write(b"new")
    with pytest.raises(OSError, match="No space"):
        file.keep(aside=partial)
    file.drop()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.csv", "old")]


@pytest.mark.slow
def test_the_first_interrupt_leaves_a_partial_file(tmp_path):
    arguments = [*FAKE, "query", "wait", "-O", str(tmp_path / "out.csv")]
    with ended(subprocess.Popen(arguments, stderr=subprocess.PIPE, env=environment(), text=True)) as run:
        assert run.stderr is not None
        under_way(run, tmp_path)
        run.send_signal(2)
        said = run.stderr.read()
    assert run.returncode == 3, said
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv.partial"]


def test_a_report_to_a_full_disk_leaves_the_result_and_is_told(tmp_path):
    done = fake("query", "rows 2", "--report", "/dev/full")
    assert (done.returncode, done.stdout) == (2, "n,name\n0,row 0\n1,row 1\n")
    assert done.stderr.splitlines() == [
        "2 rows in 1.2 s, 97 requests, complete",
        "error: cannot write the report '/dev/full': No space left on device",
    ]
    done = fake("query", "rows 1; rows 1", "--report", "/dev/full", "-O", str(tmp_path / "out.csv"))
    assert (done.returncode, (tmp_path / "out.csv").read_text().count("row 0")) == (2, 2)


@pytest.mark.parametrize(
    ("option", "name", "closed"),
    [("-O", "/dev/fd/9", ""), ("--report", "/dev/fd/9", ""), ("-O", "/dev/stdout", " >&-")],
)
def test_a_file_that_nobody_has_opened_for_the_command_is_none_of_its_own(option, name, closed):
    command = f"{' '.join(FAKE)} query 'rows 1' -o csv {option} {name}"
    done = subprocess.run(
        ["bash", "-c", f"exec {command} 9>&-{closed}"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: cannot write {name!r}: it is not open\n  open it")


def test_a_file_that_was_opened_for_the_command_is_written(tmp_path):
    command = f"{' '.join(FAKE)} query 'rows 1' -q -o csv -O /dev/fd/9 9>{tmp_path}/out"
    assert subprocess.run(["bash", "-c", command], env=environment(), check=False).returncode == 0
    assert (tmp_path / "out").read_text() == "n,name\n0,row 0\n"


@pytest.mark.parametrize("folder", [".", "/", "here"])
@pytest.mark.parametrize("more", [(), ("--append",), ("--refreshable",), ("--server", "http://127.0.0.1:1")])
def test_a_folder_is_no_file_for_a_result(folder, more, tmp_path):
    (tmp_path / "here").mkdir()
    done = fake("query", "rows 1", "-o", "csv", "-O", folder, *more, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: "), "no internal one"
    refused = fake("refresh", folder, cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"error: {folder!r} is a folder, and no result in a file\n")


@pytest.mark.parametrize("report", ["out.csv", "./out.csv", "link", "out.csv.partial", "out.csv.fff.json"])
@pytest.mark.parametrize("where", [(), ("--server", "http://127.0.0.1:1")])
def test_a_report_takes_no_results_place(report, where, tmp_path):
    (tmp_path / "link").symlink_to("out.csv")
    done = fake("query", "rows 2", "-O", "out.csv", "--report", report, *where, cwd=tmp_path)
    assert (done.returncode, [path.name for path in tmp_path.iterdir()]) == (2, ["link"])
    assert "the result is written there\n  name another file with --report" in done.stderr


@pytest.mark.parametrize(
    ("scene", "code", "said"),
    [("fail", 4, "HTTP 503"), ("select wrong", 1, "no column wrong"), ("partial; fail", 4, "503")],
)
def test_that_a_report_cannot_be_written_hides_no_other_error(scene, code, said):
    done = fake("query", scene, "--report", "/dev/full")
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("cannot write the report '/dev/full': No space left on device") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("form", [form for form in FORMATS if form != "table"])
def test_a_result_on_a_full_disk_is_one_error(form, tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")
    done = fake("query", "rows 9000", "-o", form, "-O", str(tmp_path / "full"))
    assert (done.returncode, done.stderr) == (2, "error: cannot write the result: No space left on device\n")
