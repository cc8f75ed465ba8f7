// Indicators of bars, as numbers to draw. Each result has one element per bar; it is undefined while too few bars are known.

const day = 86_400_000;

/** Exponential moving average, which begins with the simple average of its first values. @param {number[]} values @param {number} length */
export function ema(values, length) {
  let average;
  return values.map((value, place) => {
    if (place < length - 1) return undefined;
    average = average === undefined ? mean(values.slice(0, length)) : average + (value - average) * 2 / (length + 1);
    return average;
  });
}

/** Moving average, and the bands at `width` standard deviations. @param {number[]} values */
export function bollinger(values, length = 20, width = 2) {
  return values.map((_, place) => {
    if (place < length - 1) return undefined;
    const window = values.slice(place - length + 1, place + 1);
    const middle = mean(window);
    const reach = width * Math.sqrt(mean(window.map((value) => (value - middle) ** 2)));
    return { upper: middle + reach, middle, lower: middle - reach };
  });
}

/** Average price by volume since 00:00 UTC. The day of the first bar is left out unless the bar begins it, because its volume is not known.
 * @param {object[]} bars */
export function vwap(bars) {
  let [price, volume, today, isWhole] = [0, 0, undefined, false];
  return bars.map((bar) => {
    const begun = Math.floor(bar.openTime / day);
    if (begun !== today) {
      isWhole = today !== undefined || bar.openTime % day === 0;
      price = 0;
      volume = 0;
      today = begun;
    }
    price += (Number(bar.high) + Number(bar.low) + Number(bar.close)) / 3 * Number(bar.volume);
    volume += Number(bar.volume);
    return isWhole && volume > 0 ? price / volume : undefined;
  });
}

/** Bought minus sold volume, added up from the first bar on. @param {object[]} bars */
export function delta(bars) {
  let sum = 0;
  return bars.map(({ volume, takerBuyVolume }) => (takerBuyVolume === undefined ? undefined : (sum += 2 * Number(takerBuyVolume) - Number(volume))));
}

/** Relative strength index by Wilder's averages, 0 to 100. @param {number[]} values */
export function rsi(values, length = 14) {
  let [gain, loss] = [0, 0];
  return values.map((value, place) => {
    if (place === 0) return undefined;
    const change = value - values[place - 1];
    const [up, down] = [Math.max(change, 0), Math.max(-change, 0)];
    const weight = Math.min(place, length);
    gain += (up - gain) / weight;
    loss += (down - loss) / weight;
    if (place < length) return undefined;
    return loss === 0 ? (gain === 0 ? 50 : 100) : 100 - 100 / (1 + gain / loss);
  });
}

/** Heikin-Ashi bars: averages that show the trend. Their prices are not prices of trades. @param {{open: number, high: number, low: number, close: number}[]} bars */
export function heikinAshi(bars) {
  let before;
  return bars.map((bar) => {
    const close = (bar.open + bar.high + bar.low + bar.close) / 4;
    const open = before ? (before.open + before.close) / 2 : (bar.open + bar.close) / 2;
    before = { ...bar, open, close, high: Math.max(bar.high, open, close), low: Math.min(bar.low, open, close) };
    return before;
  });
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
