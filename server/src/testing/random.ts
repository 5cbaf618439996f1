export type Random = {
  /** A whole number from 0 up to, but not including, `limit`. */
  below: (limit: number) => number
  /** A number from `low` up to, but not including, `high`. */
  between: (low: number, high: number) => number
  pick: <T>(values: readonly [T, ...T[]]) => T
  /** As `pick`, with each value half as often as the one before it. */
  pickSkewed: <T>(values: readonly [T, ...T[]]) => T
  /** True with a probability of 1 in `times`. */
  oneIn: (times: number) => boolean
}

/** The same numbers for the same seed, so that failures can be reproduced (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    between: (low, high) => low + next() * (high - low),
    pick: (values) => values[below(values.length)] ?? values[0],
    pickSkewed: (values) => values[Math.floor(-Math.log2(1 - next())) % values.length] ?? values[0],
    oneIn: (times) => below(times) === 0,
  }
}
