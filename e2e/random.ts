export type Random = {
  /** A number from `low` up to, but not including, `high`. */
  between: (low: number, high: number) => number
  pick: <T>(values: readonly [T, ...T[]]) => T
}

/** The same numbers for the same seed, so that a failure can be looked at again (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    between: (low, high) => low + next() * (high - low),
    pick: (values) => values[Math.floor(next() * values.length)] ?? values[0],
  }
}
