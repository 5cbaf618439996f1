type Pair = { before?: number; after?: number }

/** Longer sequences are compared only from both ends, since the comparison takes quadratic time. */
const MAX_LENGTH = 1500

/** Aligns two sequences by index: equal items are paired, others have one side only. */
export function alignedPairs(before: readonly string[], after: readonly string[]): Pair[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1
  let end = 0
  const shorter = Math.min(before.length, after.length) - start
  while (end < shorter && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1
  const one = before.slice(start, before.length - end)
  const other = after.slice(start, after.length - end)
  const middle =
    one.length > MAX_LENGTH || other.length > MAX_LENGTH ? unpaired(one.length, other.length) : pairCommon(one, other)
  const both = (offset: number, length: number, shift: number) =>
    Array.from({ length }, (_, index) => ({ before: offset + index, after: offset + index + shift }))
  return [
    ...both(0, start, 0),
    ...middle.map((pair) => ({
      ...(pair.before !== undefined && { before: pair.before + start }),
      ...(pair.after !== undefined && { after: pair.after + start }),
    })),
    ...both(before.length - end, end, after.length - before.length),
  ]
}

function unpaired(before: number, after: number): Pair[] {
  return [
    ...Array.from({ length: before }, (_, index) => ({ before: index })),
    ...Array.from({ length: after }, (_, index) => ({ after: index })),
  ]
}

/** Pairs the longest common subsequence. */
function pairCommon(before: readonly string[], after: readonly string[]): Pair[] {
  const width = after.length + 1
  const lengths = new Uint16Array((before.length + 1) * width)
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        before[i] === after[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0)
    }
  }
  const pairs: Pair[] = []
  let i = 0
  let j = 0
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) pairs.push({ before: i++, after: j++ })
    else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) pairs.push({ before: i++ })
    else pairs.push({ after: j++ })
  }
  while (i < before.length) pairs.push({ before: i++ })
  while (j < after.length) pairs.push({ after: j++ })
  return pairs
}
