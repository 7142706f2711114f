"""A run has the commit of the user's repository. It has None if there is no repository, no commit
or no git.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from checkers.report.repository import commit_of


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    ran = subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    git(tmp_path, "init", "--quiet")
    return tmp_path


def test_a_clean_tree_has_its_commit_and_a_changed_file_is_uncommitted(repository: Path) -> None:
    (repository / "a").write_text("1")
    git(repository, "add", "a")
    git(repository, "commit", "--quiet", "-m", "one")
    (repository / "untracked").write_text("")
    found = commit_of(repository)
    assert found is not None
    assert (found.hash, found.uncommitted) == (git(repository, "rev-parse", "HEAD"), False)
    (repository / "a").write_text("2")
    found = commit_of(repository)
    assert found is not None
    assert found.uncommitted


def test_a_repository_without_a_commit_has_none(repository: Path) -> None:
    assert commit_of(repository) is None


def test_a_folder_without_a_repository_or_without_git_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit_of(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert commit_of(tmp_path) is None
