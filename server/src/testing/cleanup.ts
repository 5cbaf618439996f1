type Work = () => unknown

const undo: { file: Work[]; test: Work[] } = { file: [], test: [] }
const checks: (() => void)[] = []
/** Tests of a file may run concurrently. */
let runningTests = 0
let willEnd = false

/**
 * Runs `work` when the current test ends, or the test file if no test runs, in reverse order of the calls. What a test
 * leaves open, such as connections to the database, would otherwise add up to the end of its file. Throws without
 * `setup-file.ts`, since `work` would never run.
 */
export function atEnd(work: Work) {
  if (!willEnd) throw new Error('setup-file.ts is missing from the setupFiles of this vitest configuration')
  undo[runningTests > 0 ? 'test' : 'file'].push(work)
}

/** Runs `check` after each following test of the file; the test fails when it throws. */
export function afterEachTest(check: () => void) {
  checks.push(check)
}

/** Called before each test, by `setup-file.ts`. */
export function beginTest() {
  runningTests++
}

/** Called after each test, by `setup-file.ts`. */
export async function endTest() {
  try {
    for (const check of checks) check()
  } finally {
    runningTests--
    if (runningTests === 0) await clean(undo.test)
  }
}

/** Declares that `endFile` will be called; for `setup-file.ts`. */
export function expectFileEnd() {
  willEnd = true
}

/** Called once after each test file, by `setup-file.ts`. */
export async function endFile() {
  checks.length = 0
  runningTests = 0
  await clean([...undo.file.splice(0), ...undo.test.splice(0)])
}

async function clean(list: Work[]) {
  const failures: unknown[] = []
  for (const work of list.splice(0).toReversed()) {
    // One failure must not keep the others from being closed, since the process continues with other tests.
    try {
      await work()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'the clean-up of a test failed')
}
