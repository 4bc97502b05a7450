"""The folder `.mcpmock`, in which the recordings of a project are: committed, with an ignore file
for what is in it.

`mcpmock wrap` names it in configurations of projects, relative to their root. Clients start servers
in other folders too: a recorder looks for it from where it stands. `client_config` and `sessions`
stand above.
"""

from __future__ import annotations

from pathlib import Path, PurePath

from mcpmock.errors import CassetteError

PROJECT_FOLDER = ".mcpmock"
"""Below the root of a project."""
# The folder itself is committed, so that everybody who clones the project has it; what is in it is
# not.
_IGNORED = "*\n!.gitignore\n"
_LINK_HINT = "remove the link: a cloned project could lead it anywhere"


def project_root(folder: Path, home: Path) -> Path:
    """Return the nearest parent that is a repository and can be a project, else the folder
    itself.
    """
    parents = (folder, *folder.parents)
    found = (one for one in parents if (one / ".git").exists() and is_project(one, home))
    return next(found, folder)


def is_project(root: Path, home: Path) -> bool:
    """Return whether a folder can be a project. The home of a user is none, even as a repository
    (of settings), nor is the top of a file system: programs with windows start servers in both.
    """
    return root.resolve() not in (home.resolve(), Path(root.anchor))


def is_in_project_folder(output: str) -> bool:
    """Return whether the name of a recording is one that `wrap` gives in a project."""
    parts = PurePath(output).parts
    return len(parts) > 1 and parts[0] == PROJECT_FOLDER and ".." not in parts


def find_recording(output: Path, folder: Path, home: Path) -> Path:
    """Return where a recording of the project is, for a recorder that stands in a folder of it:
    below the nearest PROJECT_FOLDER upwards, else below that of the root, which is made. Raises
    CassetteError, OSError.
    """
    root = project_root(folder, home)
    for place in (folder, *folder.parents):
        if not place.is_relative_to(root):
            break
        if (place / PROJECT_FOLDER).is_dir():
            _refuse_links(place, output, *output.parents)
            return place / output
    if not is_project(root, home):
        raise CassetteError(output, f"{root} is no project")
    make_project_folder(root)
    return root / output


def make_project_folder(root: Path) -> None:
    """Make the folder below the root of a project, with its ignore file. Raises CassetteError for
    a link in its place, and OSError.
    """
    _refuse_links(root)
    folder = root / PROJECT_FOLDER
    folder.mkdir(exist_ok=True)
    ignored = folder / ".gitignore"
    if not ignored.exists():
        ignored.write_text(_IGNORED, "utf-8")


def _refuse_links(root: Path, *below: Path) -> None:
    for path in (Path(PROJECT_FOLDER), Path(PROJECT_FOLDER, ".gitignore"), *below):
        if (root / path).is_symlink():
            raise CassetteError(root / path, "is a link", hint=_LINK_HINT)
