"""The union of a bundle's records with those on disk: all of it, or nothing.

An import unpacks into a staging folder beside the records, looks for conflicts, and only then moves new
files into place; any failure moves them back. An import killed while moving files is undone by the next
one, from the journal in its staging folder.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from mst.atomic import locked, write_text
from mst.bench.records.bundle import Summary, difference, kind_of, shareable, summary_of, unpack_bundle
from mst.bench.records.schema import read_json
from mst.bench.records.store import measurement_files, read_measurement
from mst.bench.records.verify import prove_again
from mst.errors import InputError, MSTError, writing
from mst.units import counted

# Entries that differ between conversions of the same graph, or between versions that made it.
_VOLATILE = frozenset(("seconds", "raw", "tried", "checks", "bytes", "generator"))

Move = tuple[Path, Path]


def import_bundle(bundle: Path, *, results: Path, rename: str | None = None, replace: bool = False) -> Summary:
    """Merge a bundle into `results`, which may be absent: all of it, or nothing.

    The bundle is not trusted: nothing is written outside `results`. With `rename` the machine is imported under that
    name; with `replace` records of the bundle take the place of those that differ. A file that is not a bundle, or a
    damaged one, raises `FormatError`; another machine of that name, or the same run with other content, `InputError`.
    """
    fresh = not results.exists()
    with writing(results):
        results.mkdir(parents=True, exist_ok=True)
    try:
        with locked(results):
            _undo_interrupted(results)
            with writing(results):
                staging = tempfile.TemporaryDirectory(
                    prefix=".import-", dir=results, ignore_cleanup_errors=True
                )
            with staging as name:
                stage, tree = Path(name), Path(name, "tree")
                machine = unpack_bundle(bundle, tree, rename=rename)
                _refuse_other_hardware(bundle, machine, tree, results)
                prove_again(tree, results)
                moves, unchanged = _union(bundle, tree, results, stage / "replaced", replace=replace)
                replaced = sum(kind_of(name) == "record" for name in _files_of(results, moves))
                new = list(_files_of(tree, moves))
                proofs = [path.relative_to(tree) for path in tree.rglob("*.proof.json")]
                _move_all(moves, stage)
                # A proof that was made here stays, even if it cannot be repeated without edge ids.
                claimed = [proof.parts[2] for proof in proofs if read_json(results / proof).get("claimed")]
                summary = summary_of(machine, new, unchanged, claimed, replaced)
    finally:
        if fresh:
            with contextlib.suppress(OSError):
                results.rmdir()
    return summary


def _undo_interrupted(results: Path) -> None:
    """Undo killed imports; under the lock, no staging folder belongs to a running import."""
    for stage in results.glob(".import-*"):
        journal = stage / "journal.json"
        if journal.is_file():
            moves = json.loads(journal.read_text())
            _move_back([(results / source, results / target) for source, target in moves])
        shutil.rmtree(stage, ignore_errors=True)


def _refuse_other_hardware(bundle: Path, machine: str, tree: Path, results: Path) -> None:
    facts = results / "machines" / f"{machine}.json"
    known = [read_json(facts)] if facts.is_file() else []
    for path in measurement_files(str(results / "records" / machine), depth=4):
        with contextlib.suppress(MSTError):
            known.append(read_measurement(Path(path))["machine"])
            break  # the records of one machine agree: neither a run nor an import adds another's
    brought = read_json(tree / "machines" / f"{machine}.json")
    for here in known:
        if here.get("fingerprint") != brought["fingerprint"]:
            raise InputError(
                f"{bundle}: machine {machine!r} is known here with different hardware "
                f"({difference(here, brought)}); import it under another name: mst import --as NAME"
            )


def _union(bundle: Path, tree: Path, results: Path, replaced: Path, *, replace: bool) -> tuple[list[Move], int]:
    """Return the moves that make `results` the union of both, and how many records they agree on."""
    moves: list[Move] = []
    conflicts, unchanged = [], 0
    for source, target in _pairs(tree, results):
        member = target.relative_to(results).as_posix()
        different = _difference(kind_of(member), target, source) if target.exists() else ""
        if different is None:
            unchanged += kind_of(member) == "record"
        elif different and not replace:
            conflicts.append(f"{member}: {different}")
        else:
            if target.exists():
                moves.append((target, replaced / member))
            moves.append((source, target))
    if conflicts:
        differ = counted(len(conflicts), "file differs from that", "files differ from those")
        found = f"{bundle}: {differ} here, so nothing was imported"
        remedy = "--replace takes the bundle's, --as NAME imports it as another machine"
        more = [f"… and {len(conflicts) - 5} more"] if len(conflicts) > 5 else []
        raise InputError("\n  ".join([f"{found}; {remedy}", *conflicts[:5], *more]))
    return moves, unchanged


def _pairs(source: Path, target: Path) -> Iterator[Move]:
    """Yield the files of `source` with their places in `target`; for a new folder, only the folder."""
    if source.is_dir() and target.is_dir():
        for child in sorted(source.iterdir()):
            yield from _pairs(child, target / child.name)
    else:
        yield source, target


def _difference(kind: str, old: Path, new: Path) -> str | None:
    """Return None if both agree, an empty string if only the new one has a proof, else the difference."""
    if old.read_bytes() == new.read_bytes():
        return None
    here, there = read_json(old), read_json(new)
    if kind == "proof":
        if there.get("status") == "unproved":
            return None
        if here.get("status") == "unproved":
            return ""
        if here.get("status") == there.get("status") == "ok":
            return "" if here.get("claimed") and not there.get("claimed") else None
        verdict = ("status", "grade", "reason")
        here, there = ({key: value.get(key) for key in verdict} for value in (here, there))
    if kind == "manifest":
        here, there = ({k: v for k, v in value.items() if k not in _VOLATILE} for value in (here, there))
    return difference(shareable(here), shareable(there))


def _move_all(moves: list[Move], stage: Path) -> None:
    """Make all moves, or none of them."""
    journal = stage / "journal.json"
    results = stage.parent
    write_text(journal, json.dumps([[str(path.relative_to(results)) for path in move] for move in moves]))
    done: list[Move] = []
    try:
        for source, target in moves:
            target.parent.mkdir(parents=True, exist_ok=True)
            done.append((source, target))
            source.rename(target)
    except BaseException:
        _move_back(done)
        raise
    journal.unlink()


def _move_back(moves: list[Move]) -> None:
    for source, target in reversed(moves):
        if target.exists() and not source.exists():
            source.parent.mkdir(parents=True, exist_ok=True)
            target.rename(source)


def _files_of(tree: Path, moves: Iterable[Move]) -> Iterator[str]:
    """Yield the names of the files that move out of `tree`, relative to it."""
    files = (file for source, _ in moves for file in (source, *source.rglob("*")) if file.is_file())
    yield from (file.relative_to(tree).as_posix() for file in files if file.is_relative_to(tree))
