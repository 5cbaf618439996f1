/** How many bytes of uploads a process holds in memory at once, besides the few MB that each streamed upload takes. */
const TOTAL_BYTES = 64 * 1024 * 1024
let free = TOTAL_BYTES

/** Takes room in memory for an upload of so many bytes, until it is disposed; undefined when there is not enough left. */
export function takeRoom(bytes: number): Disposable | undefined {
  if (bytes > free) return undefined
  free -= bytes
  let isTaken = true
  return {
    [Symbol.dispose]() {
      if (isTaken) free += bytes
      isTaken = false
    },
  }
}
