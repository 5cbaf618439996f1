/**
 * Makes a function that does one work after the other, in the order of the calls: large contents, of which only one may be in
 * memory at a time.
 */
export function inTurn() {
  let last: Promise<unknown> = Promise.resolve()
  return async <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
}
