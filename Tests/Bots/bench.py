WAYS = ("blackhole",)


def main(options):
    raise NotImplementedError
