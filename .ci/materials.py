#!/usr/bin/env python3
"""What the program is made of, for `.ci/release`: a bill of materials (CycloneDX 1.6), or the licences to pass on.

It asks `cargo` about the crates of a plain build for one target, in the current directory. The same sources give the
same bytes: times and identifiers follow from the sources.

    materials.py bom TARGET       JSON on standard output; SOURCE_DATE_EPOCH is its time
    materials.py licences TARGET  the text of every licence, once, after the names of the crates that have it
"""

import datetime
import json
import os
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

# Names of files with the text of a licence.
LICENCES = ("license", "licence", "copying", "copyright", "notice", "unlicense")


def output(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def crates(target: str) -> list[dict]:
    """The package and the crates that its build for this target has inside, by name; the package itself comes first."""
    metadata = json.loads(output("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target))
    # Features of the tests' crates make `metadata` list more than is built: `tree` resolves for the package alone.
    tree = output(
        "cargo", "tree", "--locked", "--package", "outset", "--edges", "normal", "--target", target,
        "--prefix", "none", "--no-dedupe", "--format", "{p}",
    )  # fmt: skip
    inside = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    found = [package for package in metadata["packages"] if (package["name"], "v" + package["version"]) in inside]
    edges = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    for package in found:
        used = (edge["pkg"] for edge in edges[package["id"]] if any(kind["kind"] is None for kind in edge["dep_kinds"]))
        package["uses"] = sorted(set(used))
    return sorted(found, key=lambda package: (package["name"] != "outset", package["name"], package["version"]))


def reference(package: dict) -> str:
    """The package URL of a crate."""
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package: dict, checksums: dict) -> dict:
    """A crate as the bill lists it."""
    entry = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "scope": "required",
        "purl": reference(package),
        # An old way to write `OR`.
        "licenses": [{"expression": (package["license"] or "NOASSERTION").replace("/", " OR ")}],
    }
    if package["description"]:
        entry["description"] = " ".join(package["description"].split())
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def system_libraries() -> list[dict]:
    """What no crate brings and a static program has inside: the libraries of Rust and of C."""
    rust = output("rustc", "--version").split()[1]
    c_name, c_version = output("getconf", "GNU_LIBC_VERSION").split()
    parts = [("rust-std", rust, "MIT OR Apache-2.0"), (c_name, c_version, "LGPL-2.1-or-later")]
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:generic/{name}@{version}",
            "name": name,
            "version": version,
            "scope": "required",
            "purl": f"pkg:generic/{name}@{version}",
            "licenses": [{"expression": licence}],
        }
        for name, version, licence in parts
    ]


def bill(target: str) -> dict:
    """The bill of materials."""
    packages = crates(target)
    lock = tomllib.loads(Path("Cargo.lock").read_text())
    checksums = {(entry["name"], entry["version"]): entry.get("checksum") for entry in lock["package"]}
    system = system_libraries()
    program = component(packages[0], checksums)
    program["type"] = "application"
    del program["scope"]
    by_id = {package["id"]: reference(package) for package in packages}
    uses = {
        reference(package): sorted(by_id[other] for other in package["uses"] if other in by_id) for package in packages
    }
    uses[program["bom-ref"]] += [entry["bom-ref"] for entry in system]
    moment = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    components = [component(package, checksums) for package in packages[1:]] + system
    name = json.dumps([program, components, moment.isoformat()])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, name)}",
        "version": 1,
        "metadata": {"timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": program},
        "components": components,
        "dependencies": [{"ref": crate, "dependsOn": others} for crate, others in uses.items()],
    }


def licences(target: str) -> str:
    """The texts of the licences of all crates; crates with the same text share it."""
    packages = crates(target)[1:]
    of_text: dict[str, list[str]] = {}
    without = []
    for package in packages:
        name = f"{package['name']} {package['version']} ({package['license']})"
        folder = Path(package["manifest_path"]).parent
        files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name.lower().startswith(LICENCES))
        texts = [file.read_text(errors="replace").strip() for file in files]
        # Some have a file that says no more than the path of the text; one is also under a licence that is not taken.
        texts = [text for text in texts if len(text) > 100 and not text.startswith("GNU GENERAL PUBLIC LICENSE")]
        if not texts:
            without.append(name)
        for text in dict.fromkeys(texts):
            of_text.setdefault(text, []).append(name)
    parts = [
        "outset is made with the crates below, each under its own licence. A static program also has inside the\n"
        "standard library of Rust (MIT OR Apache-2.0) and the GNU C library (LGPL-2.1-or-later): the source of outset\n"
        "and `cargo build` are all that is needed to link it with another version of that library.\n"
    ]
    if without:
        parts.append("These name their licence and bring no text of it:\n\n  " + "\n  ".join(without) + "\n")
    parts += ["  " + "\n  ".join(names) + "\n\n" + text + "\n" for text, names in of_text.items()]
    return ("\n" + "-" * 80 + "\n\n").join(parts)


def main() -> None:
    """Prints what is asked for."""
    what, target = sys.argv[1:]
    print(json.dumps(bill(target), indent=2) if what == "bom" else licences(target))


main()
