"""An independent client (nats-py) that answers: peer.py FOLDER-OF-NATS-PY SERVER. It says `ready` when it listens, and ends with its standard input."""
import asyncio
import hashlib
import random
import sys

sys.path.insert(0, sys.argv[1])
import nats  # noqa: E402


async def main():
    client = await nats.connect(sys.argv[2])

    async def echo(message):
        """Answers with the payload backwards and the header `Sent` as `Received`."""
        await client.publish(message.reply, message.data[::-1], headers={"Received": message.headers["Sent"]} if message.headers else None)

    async def flood(message):
        """Publishes as many messages as asked for, each with its digest."""
        for number in range(int(message.data)):
            body = random.randbytes(random.choice([0, 1, 100, 5000, 70000]))
            await client.publish("peer.flood", body, headers={"Number": str(number), "Digest": hashlib.sha256(body).hexdigest()})
        await client.flush()
        await message.respond(b"done")

    await client.subscribe("peer.echo", cb=echo)
    await client.subscribe("peer.go", cb=flood)
    await client.flush()
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
