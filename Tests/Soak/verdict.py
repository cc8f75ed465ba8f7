"""How a proof ends."""


def tell(faults):
    """Prints what was wrong; whether nothing was."""
    for fault in faults[:20]:
        print("FAULT", fault)
    print("passed" if not faults else f"FAILED with {len(faults)} faults", flush=True)
    return not faults
