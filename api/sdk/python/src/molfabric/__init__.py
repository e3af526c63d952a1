"""Docking and other molecular work on a molfabric deployment.

    from molfabric import Client

    client = Client()
    client.dock(receptor="1IEP", ligands=df["smiles"], box="STI").wait().to_dataframe()

AsyncClient is the same for asyncio. Failures are those of molfabric.errors; types of answers those of molfabric.schema.
"""

from . import errors, schema
from ._client import AsyncClient
from ._docking import AsyncDocking, Box, DockingOptions
from ._jobs import AsyncJob
from ._sync import Client, Docking, Job
from ._transport import Event
from ._view import View

__all__ = [
    "AsyncClient", "AsyncDocking", "AsyncJob", "Box", "Client", "Docking", "DockingOptions", "Event", "Job", "View", "errors", "schema",
]
