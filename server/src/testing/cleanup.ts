/** Work at the end of a test or of its file, and checks after each test. */
type Scope = { undo: (() => unknown)[]; checks: (() => void)[] }

const ofFile: Scope = { undo: [], checks: [] }
const ofTest: Scope = { undo: [], checks: [] }
/** Tests of a file may run concurrently. */
let runningTests = 0
let willEnd = false

/**
 * Runs `work` when the current test ends, or the test file if no test runs, in reverse order of the calls. What a test
 * leaves open, such as connections to the database, would otherwise add up to the end of its file. Throws without
 * `setup-file.ts`, since `work` would never run.
 */
export function atEnd(work: () => unknown) {
  if (!willEnd) throw new Error('setup-file.ts is missing from the setupFiles of this vitest configuration')
  scope().undo.push(work)
}

/** Runs `check` after the current test, or after each test of the file if no test runs; the test fails when it throws. */
export function afterEachTest(check: () => void) {
  scope().checks.push(check)
}

function scope() {
  return runningTests > 0 ? ofTest : ofFile
}

/** Called before each test, by `setup-file.ts`. */
export function beginTest() {
  runningTests++
}

/** Called after each test, by `setup-file.ts`. */
export async function endTest() {
  try {
    for (const check of [...ofFile.checks, ...ofTest.checks]) check()
  } finally {
    runningTests--
    if (runningTests === 0) await end(ofTest)
  }
}

/** Declares that `endFile` will be called; for `setup-file.ts`. */
export function expectFileEnd() {
  willEnd = true
}

/** Called once after each test file, by `setup-file.ts`. */
export async function endFile() {
  await end(ofFile)
}

async function end({ undo, checks }: Scope) {
  checks.length = 0
  const failures: unknown[] = []
  for (const work of undo.splice(0).toReversed()) {
    // One failure must not keep the others from being closed, since the process continues with other tests.
    try {
      await work()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'the clean-up of a test failed')
}
