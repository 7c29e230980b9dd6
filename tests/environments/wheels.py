"""Real wheels, indexes and locks, made on the spot: uv and pip take them as any other."""

import base64
import hashlib
import zipfile
from pathlib import Path


def write_wheel(folder: Path, name: str, version: str, content: str = "") -> Path:
    """A wheel with one module, which knows its version, and one console script, which prints it."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n{content}\ndef main():\n    print(VERSION)\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    record = [f"{path},sha256={_urlsafe(text)},{len(text)}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


def write_index(folder: Path, *wheels: Path) -> Path:
    """A package index in a folder: a page for each package, with a link to each of its wheels."""
    pages: dict[str, str] = {}
    for wheel in wheels:
        name = wheel.name.partition("-")[0]
        pages[name] = pages.get(name, "") + f'<a href="{wheel.as_uri()}">{wheel.name}</a>\n'
    for name, links in pages.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "index.html").write_text(f"<!DOCTYPE html><body>\n{links}</body>\n")
    return folder


def locked(*wheels: Path) -> str:
    """The text of a lock that pins exactly these wheels."""
    lines = []
    for wheel in wheels:
        name, version, _ = wheel.name.split("-", 2)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines.append(f"{name}=={version} \\\n    --hash=sha256:{digest}\n")
    return "# made by hand\n" + "".join(lines)


def _urlsafe(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
