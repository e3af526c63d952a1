"""What needs no server: requests, names, streams, errors."""

import asyncio
import re
import tempfile
import unittest
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pandas
from rdkit import Chem

from molfabric import Box, View, _docking, _jobs, _transport, errors

ROOT = Path(__file__).resolve().parents[4]


def smiles(ligands: Any) -> list[tuple[str, str]]:
    return [(one.label, one.smiles) for one in _docking.read_ligands(ligands)]


class Ligands(unittest.TestCase):
    def test_forms(self) -> None:
        ethanol = Chem.MolFromSmiles("OCC")
        ethanol.SetProp("_Name", "ethanol")
        for given, want in [
            ("CCO", [("ligand-1", "CCO")]),
            (["CCO", "CCN"], [("ligand-1", "CCO"), ("ligand-2", "CCN")]),
            ({"a b": "CCO"}, [("a b", "CCO")]),
            (pandas.Series(["CCO"]), [("ligand-1", "CCO")]),
            (pandas.Series(["CCO"], index=["ethanol"]), [("ethanol", "CCO")]),
            (ethanol, [("ethanol", "CCO")]),
            ([Chem.AddHs(ethanol)], [("ethanol", "CCO")]),
        ]:
            with self.subTest(given=given):
                self.assertEqual(smiles(given), want)

    def test_refused(self) -> None:
        for given in ([], ["CCO", float("nan")], [""], {"a": None}):
            with self.subTest(given=given), self.assertRaises(ValueError):
                _docking.read_ligands(given)

    def test_sdf(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "two.sdf"
            with Chem.SDWriter(str(path)) as writer:
                for name in ("one", "two"):
                    molecule = Chem.MolFromSmiles("CCO")
                    molecule.SetProp("_Name", name)
                    writer.write(molecule)
            found = _docking.read_ligands(path)
        self.assertEqual([one.label for one in found], ["one", "two"])
        self.assertEqual([len(_docking.molecules(one.record)) for one in found], [1, 1])

    def test_ids(self) -> None:
        got = _docking.ligand_ids(["a b", "a-b", "(+)", "x"])
        self.assertEqual(got, ["a-b", "a-b-2", "ligand-3", "x"])


class Boxes(unittest.TestCase):
    def test_forms(self) -> None:
        numbers = {"boxCenterAngstrom": [1, 2, 3], "boxSizeAngstrom": 22}
        for given, want in [
            (None, {}), ("STI", {"pocketLigand": "STI"}), ("bound", {"boxSource": "boundLigand"}), ((1, 2, 3, 22), numbers),
            ("STI:A:201", {"pocketLigand": "STI", "pocketLigandChain": "A", "pocketLigandResidue": 201}),
            (Box((1, 2, 3), 22), numbers), ((1, 2, 3, 4, 5, 6), {"boxCenterAngstrom": [1, 2, 3], "boxSizeAngstrom": [4, 5, 6]}),
        ]:
            with self.subTest(given=given):
                self.assertEqual(_docking.box_params(given), want)

    def test_refused(self) -> None:
        for given in ("no such thing", (1, 2, 3)):
            with self.subTest(given=given), self.assertRaises(ValueError):
                _docking.box_params(given)


class Streams(unittest.TestCase):
    def test_cut_anywhere(self) -> None:
        text = (b': hello\n\nid: 1\nevent: progress\ndata: {"percent": 5,\r\ndata: "message": "\xc2\x85"}\n\n'
                b'id: 2\ndata: {}\n\nid: 3\n')

        async def read(size: int) -> list[_transport.Event]:
            async def pieces() -> AsyncIterator[bytes]:
                for start in range(0, len(text), size):
                    yield text[start:start + size]
            return [event async for event in _transport.messages(pieces())]

        want = [_transport.Event("1", "progress", {"percent": 5, "message": "\x85"}), _transport.Event("2", "message", {})]
        for size in (1, 7, len(text)):
            with self.subTest(size=size):
                self.assertEqual(asyncio.run(read(size)), want)


class Errors(unittest.TestCase):
    def test_every_code_has_a_class(self) -> None:
        rows = re.findall(r"^\| (\d{3}) \| `([A-Z_]+)`", (ROOT / "doc" / "errors.md").read_text(), re.MULTILINE)
        self.assertGreater(len(rows), 30)
        for status, code in rows:
            error = errors.of_answer(int(status), b'{"error": "what", "code": "%s"}' % code.encode(), "req_1", "7")
            self.assertIsNot(type(error), errors.APIError, code)
            self.assertEqual((error.code, error.message, error.retry_after_s), (code, "what", 7))

    def test_retries(self) -> None:
        for error, idempotent, want in [
            (errors.of_answer(429, b""), False, True), (errors.of_answer(503, b""), False, True),
            (errors.of_answer(502, b""), False, False), (errors.of_answer(502, b"<html>"), True, True),
            (errors.of_answer(400, b""), True, False), (errors.NetworkError(), False, False), (errors.NetworkError(), True, True),
        ]:
            with self.subTest(error=error, idempotent=idempotent):
                self.assertEqual(_transport.retryable(error, idempotent), want)
        self.assertIsNone(_transport.pause(errors.of_answer(429, b"", "", "3600"), 1))


class Files(unittest.TestCase):
    def test_names_stay_within(self) -> None:
        self.assertEqual(_jobs.safe("poses/00001.sdf"), "poses/00001.sdf")
        for name in ("../a", "a/../../b", "", "c:\\a"):
            with self.subTest(name=name), self.assertRaises(ValueError):
                _jobs.safe(name)
        self.assertEqual(_jobs.safe("/etc/x"), "etc/x")

    def test_a_name_runs_no_script(self) -> None:
        page = View("REMARK </script><script>alert(1)</script>", "", 100).page
        self.assertEqual(page.count("</script>"), 3)


if __name__ == "__main__":
    unittest.main()
