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

    async def append(message):
        """Appends as many records as asked for behind the log's end, each on condition that it is the next."""
        first = (await client.jetstream().stream_info("FG_t")).state.last_seq
        for number in range(first, first + int(message.data)):
            await client.jetstream().publish("fg.t.log", b"peer %d" % number, headers={"Nats-Expected-Last-Sequence": str(number)})
        await message.respond(b"done")

    async def read(message):
        """Reads as many records as asked for from the log's start, and answers with the digest of them all."""
        records = await client.jetstream().subscribe("fg.t.log", stream="FG_t", ordered_consumer=True)
        digest = hashlib.sha256()
        for _ in range(int(message.data)):
            digest.update((await records.next_msg(timeout=10)).data)
        await message.respond(digest.hexdigest().encode())

    await client.subscribe("peer.append", cb=append)
    await client.subscribe("peer.read", cb=read)
    await client.subscribe("peer.echo", cb=echo)
    await client.subscribe("peer.go", cb=flood)
    await client.flush()
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
