/** Ends a slice of this side's work. Resolves when its next slice may start. */
export type Turn = () => Promise<void>

type Side<T> = (turn: Turn) => Promise<T>

/**
 * Runs two sides alternately. After the first slices their order changes every second time (A B B A A B B …), so
 * that drift of the machine affects both equally. Throws the first error after both have ended.
 */
export async function alternate<T>(sides: readonly [Side<T>, Side<T>]): Promise<[T, T]> {
  const resume: (() => void)[] = []
  const hasEnded = [false, false]

  async function run(side: Side<T>, own: 0 | 1) {
    const other = 1 - own
    const wait = () => new Promise<void>((resolve) => (resume[own] = resolve))
    let slices = 0
    const turn = async () => {
      slices += 1
      if (hasEnded[other] || (slices > 1 && slices % 2 !== own)) return
      const waiting = wait()
      resume[other]?.()
      await waiting
    }
    if (own === 1) await wait()
    try {
      return await side(turn)
    } finally {
      hasEnded[own] = true
      resume[other]?.()
    }
  }

  const second = run(sides[1], 1)
  const [ours, theirs] = await Promise.allSettled([run(sides[0], 0), second])
  if (ours.status === 'rejected') throw ours.reason
  if (theirs.status === 'rejected') throw theirs.reason
  return [ours.value, theirs.value]
}
