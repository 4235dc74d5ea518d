"""A floor: FastAPI that answers a POST with its body, served as the edge is. Above: `floors`."""

import sys

import uvicorn
from fastapi import FastAPI, Request, Response

app = FastAPI()


@app.get("/healthz")
async def health() -> Response:
    """Say that the floor is there."""
    return Response(b"")


@app.post("/")
async def echo(request: Request) -> Response:
    """Answer with the body."""
    return Response(await request.body(), media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), http="httptools", access_log=False, log_level="error")
