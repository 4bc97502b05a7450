#!/usr/bin/env python3
"""Set up a Python for Windows under Wine, where tests/e2e/test_windows.py runs mcpmock.

    tools/windows.py FOLDER

Needs Debian on x86-64 and Python 3.11. Wine comes unpacked from Debian's packages. CPython is put
together: `python311.dll` and the extension modules lie in the Windows wheel of panda3d, the
standard library is ours, and a compiler of PyPI (ziglang) makes `python.exe`. Wine is not Windows:
it lacks what the sources below stand in for, and its timing is its own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
DEBIAN = ("wine64", "libwine", "libz-mingw-w64")
PINS = ("panda3d==1.10.16", "ziglang==0.17.1", "mcp==2.3.0", "pytest==9.2.0")
# For Windows alone: pip looks at the markers of the system that it runs on.
WINDOWS_ONLY = ("cffi", "colorama", "pywin32")
PYTHON = """
#include <windows.h>
typedef int (*Main)(int, wchar_t **);
int wmain(int count, wchar_t **words) {
    HMODULE python = LoadLibraryW(L"python311.dll");
    return python ? ((Main)(void *)GetProcAddress(python, "Py_Main"))(count, words) : 127;
}
"""
# Wine 8 has no bcryptprimitives.dll, where what is written in Rust gets random numbers.
RANDOM = """
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
    return SystemFunction036(data, (ULONG)size);
}
"""
# No window, no messages, a folder of its own.
WINE = """#!/bin/sh
here=${0%/*}
export WINEPREFIX="$here/prefix" WINEDEBUG=-all
export WINEDLLOVERRIDES='mscoree=;mshtml=;winemenubuilder.exe='
unset DISPLAY
exec "$here/root/usr/lib/wine/wine64" "$@"
"""
NOTHING = "int DllMain(void *module, unsigned why, void *reserved) { return 1; }"
# Wine 8 lacks SIO_BASE_HANDLE, which trio asks for: there a socket is its own base handle.
HOOK = """
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "trio._core._io_windows":
            return None
        spec = super().find_spec(name, path, target)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            module._get_underlying_socket = lambda sock, **_: module._handle(
                sock.fileno() if hasattr(sock, "fileno") else sock
            )

        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Finder)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.absolute()
    stamp = folder / ".pins"
    pins = "\n".join((*DEBIAN, *PINS, *WINDOWS_ONLY, *our_dependencies()))
    if stamp.is_file() and stamp.read_text() == pins:
        return
    if sys.version_info[:2] != (3, 11) or not shutil.which("dpkg-deb"):
        print("windows: skipped, it needs Debian and Python 3.11", file=sys.stderr)
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    unpack_wine(folder)
    make_python(folder)
    # Its user32.dll needs it, and finds it there alone.
    library = folder / "root/usr/x86_64-w64-mingw32/lib/zlib1.dll"
    system = folder / "prefix/drive_c/windows/system32"
    system.mkdir(parents=True)
    shutil.copy(library, system)
    run([str(folder / "wine"), "wineboot", "-i"], folder)
    stamp.write_text(pins)


def our_dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [one.replace(" ", "") for one in project["dependencies"]]


def unpack_wine(folder: Path) -> None:
    packages = folder / "packages"
    packages.mkdir()
    run(["apt-get", "download", *DEBIAN], packages)
    for package in packages.glob("*.deb"):
        run(["dpkg-deb", "-x", str(package), str(folder / "root")], folder)
    shutil.rmtree(packages)
    server = folder / "root/usr/lib/wine/wineserver"
    server.unlink()  # a script, which looks below /usr
    server.symlink_to("wineserver64")
    script = folder / "wine"
    script.write_text(WINE)
    script.chmod(0o755)


def make_python(folder: Path) -> None:
    python, compiler = folder / "python", folder / "compiler"
    packages = python / "Lib/site-packages"
    shutil.copytree(
        sysconfig.get_path("stdlib"),
        python / "Lib",
        ignore=shutil.ignore_patterns("site-packages", "lib-dynload", "test", "__pycache__"),
    )
    panda, zig, *others = PINS
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    windows = ["--platform", "win_amd64", "--python-version", "3.11", "--only-binary=:all:"]
    run([*pip, "install", "--target", str(compiler), zig], folder)
    run([*pip, "download", "--no-deps", *windows, "-d", str(folder), panda], folder)
    wanted = [*our_dependencies(), *WINDOWS_ONLY, *others]
    run([*pip, "install", "--target", str(packages), *windows, *wanted], folder)
    (packages / "sitecustomize.py").write_text(HOOK)
    [wheel] = folder.glob("panda3d*.whl")
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            place, _, file = name.rpartition("/")
            if place == "deploy_libs" and not file.startswith("api-ms-"):
                below = python / ("DLLs" if file.endswith(".pyd") else "")
                below.mkdir(exist_ok=True)
                (below / file).write_bytes(files.read(name))
    wheel.unlink()
    names = exported_names((python / "python311.dll").read_bytes())
    forwards = "".join(f"  {name} = python311.{name}\n" for name in names)
    (folder / "python3.def").write_text(f"LIBRARY python3\nEXPORTS\n{forwards}")
    compile_c(folder, PYTHON, "python.exe", "-municode")
    compile_c(folder, RANDOM, "bcryptprimitives.dll", "-shared", "-ladvapi32")
    entry = ("-shared", "-nostdlib", "-Wl,-e,DllMain", str(folder / "python3.def"))
    compile_c(folder, NOTHING, "python3.dll", *entry)
    shutil.rmtree(compiler)


def compile_c(folder: Path, text: str, output: str, *options: str) -> None:
    source = folder / "source.c"
    source.write_text(text)
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu", "-O1"]
    path = {**os.environ, "PYTHONPATH": str(folder / "compiler")}
    made = str(folder / "python" / output)
    run([*zig, "-o", made, str(source), *options], folder, env=path)


def exported_names(dll: bytes) -> Iterator[str]:
    """Yield the names that a library for Windows exports (PE32+)."""

    def number(at: int, form: str = "<I") -> int:
        value: int = struct.unpack_from(form, dll, at)[0]
        return value

    start = number(0x3C)
    head = start + 24
    table = head + number(start + 20, "<H")
    count = number(start + 6, "<H")
    sections: list[tuple[int, ...]]
    sections = [struct.unpack_from("<IIII", dll, table + 40 * n + 8) for n in range(count)]

    def place(address: int) -> int:
        return next(
            address - begin + raw
            for size, begin, _, raw in sections
            if begin <= address < begin + size
        )

    exports = place(number(head + 112))
    names = place(number(exports + 32))
    for n in range(number(exports + 24)):
        at = place(number(names + 4 * n))
        yield dll[at : dll.index(b"\0", at)].decode()


def run(command: Sequence[str], folder: Path, env: dict[str, str] | None = None) -> None:
    # Not captured: the services of Wine live on for a while, and hold what they were given.
    with open(os.devnull, "r+b") as nowhere:
        subprocess.run(command, cwd=folder, env=env, check=True, stdin=nowhere, stdout=nowhere)


if __name__ == "__main__":
    main()
