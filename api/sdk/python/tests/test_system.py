"""Against a running system, which MOLFABRIC_SERVER and MOLFABRIC_API_KEY name. What breaks is the real connection."""

import asyncio
import os
import tempfile
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import httpx

from molfabric import AsyncClient, Client, _files, errors

POCKET = Path(__file__).resolve().parents[4] / "engines" / "fpocket" / "testdata" / "pocket-of-1uyd.pdb"
ASPIRIN, CAFFEINE = "CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C"

Send = Callable[[httpx.Request], Any]


@contextmanager
def line(breaks: Callable[[httpx.Request, int], bool], after: bool = False) -> Iterator[list[httpx.Request]]:
    """The network, which loses a request, or its answer (after), where breaks says so of a request and its number."""
    real, seen = httpx.AsyncHTTPTransport.handle_async_request, list[httpx.Request]()

    async def handle(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        seen.append(request)
        lost = breaks(request, len(seen))
        if lost and not after:
            raise httpx.ReadError("the line was cut")
        answer = await real(self, request)
        if lost:
            await answer.aread()
            raise httpx.ReadError("the line was cut")
        return answer

    with mock.patch.object(httpx.AsyncHTTPTransport, "handle_async_request", handle):
        yield seen


class System(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.folder / "cache")}))
        self.client = self.enterContext(Client())

    def test_typed_errors(self) -> None:
        with self.assertRaises(errors.Unauthorized), Client(api_key="mf_live_nobody") as nobody:
            nobody.job("job_none").status()
        with self.assertRaises(errors.NotFound) as failed:
            self.client.job("job_none").status()
        self.assertEqual(failed.exception.code, "NOT_FOUND")
        for smiles, exhaustiveness, named in ((ASPIRIN, 1000, "exhaustiveness"), ("C1CC", 1, "ring 1 is not closed")):
            with self.assertRaises(errors.InvalidRequest) as refused:
                self.client.dock(POCKET, smiles, "PU8", exhaustiveness=exhaustiveness)
            self.assertIn(named, str(refused.exception))

    def test_docking_whose_answer_is_lost(self) -> None:
        """There is one job although the answer of its submission is lost: every try carries the same key."""
        def first(request: httpx.Request, _: int) -> bool:
            submits = [one for one in seen if one.url.path.endswith("/jobs/submit")]
            return request.url.path.endswith("/jobs/submit") and len(submits) == 1

        with line(first, after=True) as seen:
            job = self.client.dock(POCKET, {"aspirin": ASPIRIN, "nothing": "C1CC", "caffeine": CAFFEINE}, "PU8", exhaustiveness=1,
                                   num_modes=2, seed=7, picture="none")
        tries = [one for one in seen if one.url.path.endswith("/jobs/submit")]
        self.assertEqual(len(tries), 2)
        self.assertEqual(len({one.headers["Idempotency-Key"] for one in tries}), 1)

        cut = [False]

        def once(request: httpx.Request, _: int) -> bool:
            lost = request.url.path.endswith("/events") and not cut[0]
            cut[0] = cut[0] or lost
            return lost

        with line(once):
            table = job.wait().to_dataframe()
        self.assertEqual(set(table["ligand"][:2]), {"aspirin", "caffeine"})
        self.assertEqual(list(table["rank"][:2]), [1, 2])
        self.assertLess(table["score_kcal_mol"][0], 0)
        self.assertEqual((table["ligand"][2], table["status"][2].upper()), ("nothing", "FAILED"))
        self.assertTrue(table["error"][2])

        prices = [self.client.price(POCKET, {"coffee": CAFFEINE}, "PU8", exhaustiveness=1, num_modes=2, seed=7, picture="none",
                                    reuse=reuse) for reuse in (True, False)]
        self.assertGreater(prices[0]["knownTasks"], 0)
        self.assertNotIn("knownTasks", prices[1])

        self.assertEqual(len(job.poses()), 2)
        aspirin = job.poses("aspirin")
        self.assertEqual(aspirin[0].GetNumHeavyAtoms(), 13)
        with self.assertRaises(KeyError):
            job.poses("ibuprofen")
        self.assertIn("<iframe", job.show()._repr_html_())
        self.assertEqual(job.receipt()["payloadType"], "application/vnd.in-toto+json")
        self.assertEqual(self.client.docking(job.id).run()["jobId"], job.id)
        self.resumed_download(job)

    def resumed_download(self, job: Any) -> None:
        """A download that broke off goes on with the rest, and what is there and right is left alone."""
        (path,) = job.download(self.folder / "out", "best.sdf")
        whole = path.read_bytes()
        path.with_name("best.sdf.part").write_bytes(whole[:100])
        path.unlink()
        with line(lambda *_: False) as seen:
            job.download(self.folder / "out", "best.sdf")
        self.assertEqual([one.headers.get("Range") for one in seen if "outputs" not in one.url.path], ["bytes=100-"])
        self.assertEqual(path.read_bytes(), whole)
        with line(lambda *_: False) as seen:
            job.download(self.folder / "out", "best.sdf")
        self.assertEqual([one for one in seen if "outputs" not in one.url.path], [])
        path.with_name("best.sdf.part").write_bytes(b"x" * 100)  # of another file
        path.unlink()
        job.download(self.folder / "out", "best.sdf")
        self.assertEqual(path.read_bytes(), whole)

    def test_upload_in_parts_goes_on(self) -> None:
        """What had arrived of an upload that broke off is not sent again by the next one."""
        path = self.folder / "large.bin"
        path.write_bytes(os.urandom(12 << 20))
        self.enterContext(mock.patch.object(_files, "PARTS_FROM_BYTES", 1 << 20))
        self.enterContext(mock.patch.object(_files, "PART_TRANSFERS", 1))
        self.enterContext(mock.patch.object(_files, "PART_BYTES", 5 << 20))

        def puts(requests: list[httpx.Request]) -> int:
            return len([one for one in requests if one.method == "PUT"])

        with line(lambda request, _: request.method == "PUT" and puts(seen) > 1) as seen:
            with self.assertRaises(errors.NetworkError):
                self.client.upload(path)
        with line(lambda *_: False) as seen:
            stored = self.client.upload(path)
        self.assertEqual(puts(seen), 2)
        self.assertEqual(stored["byteSize"], 12 << 20)
        self.assertEqual(list((self.folder / "cache" / "molfabric" / "uploads").iterdir()), [])

    def test_a_job_without_results(self) -> None:
        job = self.client.dock(POCKET, ASPIRIN, "PU8", exhaustiveness=128, picture="none", reuse=False)
        job.cancel("it is not needed")
        with self.assertRaises(errors.JobFailed) as failed:
            job.wait(progress=False)
        self.assertEqual((failed.exception.job_id, failed.exception.status), (job.id, "CANCELLED"))

    def test_async(self) -> None:
        async def screen() -> list[int]:
            async with AsyncClient() as client:
                jobs = [await client.dock(POCKET, one, "PU8", exhaustiveness=1, num_modes=1, picture="none")
                        for one in (ASPIRIN, CAFFEINE)]
                await asyncio.gather(*(job.wait(progress=False) for job in jobs))
                return [len(await job.poses()) for job in jobs]

        self.assertEqual(asyncio.run(screen()), [1, 1])


if __name__ == "__main__":
    unittest.main()
