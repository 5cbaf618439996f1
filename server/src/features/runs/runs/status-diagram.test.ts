import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isEnded, NEXT, RUN_STATUSES } from './status.ts'

test('the diagram in docs/RUNS.md shows every transition and no other', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../../../docs/RUNS.md'), 'utf8')
  const [, diagram = ''] = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(page) ?? []
  const shown = diagram
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

  expect(shown.toSorted()).toEqual(transitions().toSorted())
})

/** The lines of a state diagram: `[*]` is the beginning and the end. */
function transitions() {
  const moves = RUN_STATUSES.flatMap((from) => NEXT[from].map((to) => `${from} --> ${to}`))
  const ends = RUN_STATUSES.filter(isEnded).map((status) => `${status} --> [*]`)
  return ['[*] --> pending', ...moves, ...ends]
}
