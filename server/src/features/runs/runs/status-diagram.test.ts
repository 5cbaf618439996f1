import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isEnded, RUN_STATUS, RUN_STATUS_TABLE, statusesWhere } from '@groundstate/contract/run-status'
import { expect, test } from 'vitest'

const page = await readFile(join(import.meta.dirname, '../../../../../docs/RUNS.md'), 'utf8')

test('the diagram in docs/RUNS.md shows every transition and no other', () => {
  const [, diagram = ''] = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(page) ?? []
  const shown = diagram
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

  expect(shown.toSorted()).toEqual(transitions().toSorted())
})

test('the table in docs/RUNS.md has every status in which a run stays, and no other', () => {
  const [, rows = ''] = /\n\| Status[^\n]*\n([\s\S]*?)\n\n/.exec(page) ?? []
  const shown = rows.split('\n').flatMap((row) => (row.split('|')[1] ?? '').match(/\w+/g) ?? [])

  const stays = statusesWhere(
    ({ awaits, stage, next }) => awaits !== undefined || stage !== undefined || next.length === 0,
  )

  expect(shown.toSorted()).toEqual(stays.toSorted())
})

/** The lines of a state diagram; `[*]` is the start and the end. */
function transitions() {
  const moves = RUN_STATUS.flatMap((from) => RUN_STATUS_TABLE[from].next.map((to) => `${from} --> ${to}`))
  const ends = RUN_STATUS.filter(isEnded).map((status) => `${status} --> [*]`)
  return ['[*] --> pending', ...moves, ...ends]
}
