"""The page at /: files of the package, which ask the routes under /v1 as any client does."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

FILES = Path(__file__).parent / "static"


def add_page(app: FastAPI) -> None:
    """Offer the page, and its files at /static."""

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(FILES / "index.html")

    app.mount("/static", StaticFiles(directory=FILES))
