const undo: (() => unknown)[] = []
const checks: (() => void)[] = []
let willEnd = false

/**
 * Runs `work` when the test file ends, in reverse order of the calls. It can be called from tests and hooks. Throws
 * without `setup-file.ts`, since `work` would never run.
 */
export function whenFileEnds(work: () => unknown) {
  if (!willEnd) throw new Error('setup-file.ts is missing from the setupFiles of this vitest configuration')
  undo.push(work)
}

/** Runs `check` after each following test of the file; the test fails when it throws. */
export function afterEachTest(check: () => void) {
  checks.push(check)
}

/** Called after each test, by `setup-file.ts`. */
export function endTest() {
  for (const check of checks) check()
}

/** Declares that `endFile` will be called; for `setup-file.ts`. */
export function expectFileEnd() {
  willEnd = true
}

/** Called once after each test file, by `setup-file.ts`. */
export async function endFile() {
  const failures: unknown[] = []
  checks.length = 0
  for (const work of undo.splice(0).toReversed()) {
    // One failure must not keep the others from being closed, since the process continues with the next file.
    try {
      await work()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'the clean-up of a test file failed')
}
