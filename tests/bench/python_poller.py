"""Polls the API once as a quick Python script would: aiohttp, so many requests at once. Prints its figures as JSON."""

import asyncio
import json
import sys
import time

import aiohttp


async def poll(root, concurrency):
    """Returns [(repository, [language])], in the order of the listing."""
    slots = asyncio.Semaphore(concurrency)
    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector, headers={"Authorization": "Bearer bench"}) as session:
        repositories = []
        while True:
            parameters = {"limit": "1000"}
            if repositories:
                parameters["after"] = str(repositories[-1]["id"])
            async with session.get(f"{root}/v1/repositories", params=parameters) as response:
                page = await response.json()
            if not page:
                break
            repositories += page

        async def read(repository):
            async with slots, session.get(f"{root}/v1/repositories/{repository['id']}/languages") as response:
                return repository, await response.json()

        return await asyncio.gather(*map(read, repositories))


if __name__ == "__main__":
    started = time.monotonic()
    answers = asyncio.run(poll(sys.argv[1], int(sys.argv[2])))
    figures = {
        "repositories": len(answers),
        "languages": sum(len(languages) for _, languages in answers),
        "seconds": time.monotonic() - started,
    }
    print(json.dumps(figures))
