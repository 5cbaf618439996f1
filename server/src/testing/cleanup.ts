const undo: (() => unknown)[] = []

/** Runs `work` when the test file has ended, the latest first. May be called from a test or a hook. */
export function whenFileEnds(work: () => unknown) {
  undo.push(work)
}

/** Called once after each test file, by `setup-file.ts`. */
export async function endFile() {
  for (const work of undo.splice(0).toReversed()) await work()
}
