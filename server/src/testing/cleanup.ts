const undo: (() => unknown)[] = []
let willEnd = false

/**
 * Runs `work` when the test file has ended, the latest first. May be called from a test or a hook. Throws where the
 * tests are run without `setup-file.ts`, since nothing would ever run it.
 */
export function whenFileEnds(work: () => unknown) {
  if (!willEnd) throw new Error('setup-file.ts is missing from the setupFiles of this vitest configuration')
  undo.push(work)
}

/** Says that `endFile` will be called; for `setup-file.ts`. */
export function promiseEnd() {
  willEnd = true
}

/** Called once after each test file, by `setup-file.ts`. */
export async function endFile() {
  for (const work of undo.splice(0).toReversed()) await work()
}
