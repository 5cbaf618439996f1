import { afterAll } from 'vitest'

const undo: (() => unknown)[] = []

/**
 * Runs `work` when the test file has ended, the latest first. A hook that is registered while a test or another hook runs
 * would be dropped in silence, so there is one, registered when this module loads.
 */
export function whenFileEnds(work: () => unknown) {
  undo.push(work)
}

afterAll(async () => {
  for (const work of undo.toReversed()) await work()
})
