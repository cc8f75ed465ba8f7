"""The rows of `/markets` as this program makes them from a venue's own REST answers. Nothing here asks anything."""

import decimal

QUOTES = ("USDT", "USDC", "USD1", "FDUSD", "BUSD", "USD")
"""The quote currencies, the preferred one first."""
FRESHNESS = {"venue", "state", "ageMs", "unverifiedMs"}
"""Members of a row that are not the venue's."""
DECIMALS = decimal.Context(prec=60, rounding=decimal.ROUND_DOWN)


def per_hour(rate, hours):
    """The funding rate for an hour, cut off after 18 decimals and without zeros at the end."""
    share = DECIMALS.quantize(DECIMALS.divide(decimal.Decimal(rate), decimal.Decimal(hours)), decimal.Decimal("1e-18"))
    text = format(share, "f").rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def members(row, names):
    """The members of a row under other names; a member that the venue leaves out is left out."""
    return {name: row[own] for own, name in names.items() if row.get(own) is not None}


def contracts(info):
    """The contract of each asset: (symbol, quote)."""
    best = {}
    for row in info["symbols"]:
        quote = row["quoteAsset"]
        is_open = row["status"] in ("TRADING", "PENDING_TRADING")
        if not is_open or quote not in QUOTES or row["symbol"] != row["baseAsset"] + quote:
            continue
        known = best.get(row["baseAsset"])
        if not known or QUOTES.index(quote) < QUOTES.index(known[1]):
            best[row["baseAsset"]] = row["symbol"], quote
    return best


def futures(info, premium, books, days, intervals, interests=None):
    """The rows of a futures venue by asset, from `exchangeInfo`, `premiumIndex`, `ticker/bookTicker`, `ticker/24hr` and `fundingInfo`.

    `interests` has the answers of `openInterest` by symbol.
    """
    rows = {}
    hours = {row["symbol"]: row["fundingIntervalHours"] for row in intervals}
    premium, books, days = ({row["symbol"]: row for row in answer} for answer in (premium, books, days))
    for asset, (symbol, quote) in contracts(info).items():
        row = rows[asset] = {"asset": asset, "symbol": symbol, "quote": quote}
        price = premium.get(symbol, {})
        row |= members(price, {"markPrice": "markPrice", "indexPrice": "indexPrice"})
        if price.get("nextFundingTime"):
            interval = hours.get(symbol, 8)
            row |= {"fundingRate": price["lastFundingRate"], "fundingIntervalHours": interval, "nextFundingTime": price["nextFundingTime"],
                    "fundingPerHour": per_hour(price["lastFundingRate"], interval)}
        row |= members(books.get(symbol, {}), {"bidPrice": "bidPrice", "bidQty": "bidSize", "askPrice": "askPrice", "askQty": "askSize"})
        row |= members(days.get(symbol, {}), {"quoteVolume": "quoteVolume"})
        row |= members((interests or {}).get(symbol, {}), {"openInterest": "openInterest"})
    return rows


def coin(name, universe, contexts, book=None):
    """The row of a coin of Hyperliquid, from `metaAndAssetCtxs`, and `l2Book` if it is asked for alone."""
    context = contexts[[coin["name"] for coin in universe["universe"]].index(name)]
    row = {"asset": name, "symbol": name, "quote": "USD"}
    row |= members(context, {"markPx": "markPrice", "oraclePx": "indexPrice", "midPx": "midPrice", "funding": "fundingRate",
                             "openInterest": "openInterest", "dayNtlVlm": "quoteVolume"})
    if "fundingRate" in row:
        row |= {"fundingIntervalHours": 1, "fundingPerHour": per_hour(row["fundingRate"], 1)}
    for side, levels in zip(("bid", "ask"), book["levels"] if book else ()):
        row |= members(levels[0] if levels else {}, {"px": side + "Price", "sz": side + "Size"})
    return row


def differences(ours, theirs):
    """(member, the venue's value, the gateway's value) of each member that is not the same in both rows; of a row that is missing, the asset."""
    if ours is None or theirs is None:
        return [("row", ours and ours["asset"], theirs and theirs["asset"])]
    theirs = {name: value for name, value in theirs.items() if name not in FRESHNESS}
    return [(name, ours.get(name), theirs.get(name)) for name in sorted(ours.keys() | theirs.keys()) if ours.get(name) != theirs.get(name)]


def spoiled(row, dice):
    """The row with another digit in one of its decimals."""
    name = dice.choice(sorted(name for name, value in row.items() if isinstance(value, str) and name not in ("asset", "symbol", "quote")))
    value = row[name]
    place = dice.choice([place for place, digit in enumerate(value) if digit.isdigit()])
    return row | {name: value[:place] + str((int(value[place]) + dice.randint(1, 9)) % 10) + value[place + 1:]}
