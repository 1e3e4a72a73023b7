"""Every example: of docstrings, of the README, and the notebook."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyoutset

HERE = Path(__file__).parents[2]
MODULES = [found.name for found in pkgutil.iter_modules(pyoutset.__path__) if found.name not in ("__main__", "spark")]


@pytest.mark.parametrize("name", ["", *MODULES])
def test_the_examples_of_docstrings(name):
    module = importlib.import_module(f"pyoutset.{name}" if name else "pyoutset")
    assert doctest.testmod(module).failed == 0


@pytest.fixture
def samples(tmp_path, monkeypatch):
    """A directory with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    makes = re.findall(r"^printf .* > \S+$", (HERE / "README.md").read_text(), re.MULTILINE)
    subprocess.run(["sh", "-c", "\n".join(makes)], check=True)
    return tmp_path


def test_the_readme(samples):
    failed, tried = doctest.testfile(str(HERE / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert failed == 0 and tried > 15


def test_the_readme_names_what_there_is():
    text = (HERE / "README.md").read_text()
    for name in set(re.findall(r"\bpyoutset\.([A-Za-z_]+)", text)) - {"spark"}:
        assert hasattr(pyoutset, name), name


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs_from_top_to_bottom(samples, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(samples / "ipython"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(samples / "jupyter"))
    notebook = nbformat.read(HERE / "examples" / "first.ipynb", as_version=4)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code"), "outputs do not belong into the repository"
    # A machine under load takes more than a minute to start a kernel.
    patience = {"timeout": 600, "startup_timeout": 600}
    client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(samples)}}, **patience)
    client.km = client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any("<iframe" in page for page in pages), "a result is shown with its report"
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs), "a plot is shown"
    assert any("KeyboardInterrupt" in output.get("text", "") for output in outputs), "an interrupt of the kernel ends a run"
    if place := os.environ.get("OUTSET_NOTEBOOK"):
        nbformat.write(notebook, place)
