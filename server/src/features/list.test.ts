import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { REACTIONS } from './list.ts'

test('every domain event has a reaction, and every reaction an event', () => {
  const sources = globSync('*/*/*.ts', { cwd: import.meta.dirname }).map((file) =>
    readFileSync(join(import.meta.dirname, file), 'utf8'),
  )
  const declared = sources.flatMap((source) =>
    [...source.matchAll(/= domainEvent<[^(]*\(\s*'([^']+)'/g)].map(([, name = '']) => name),
  )

  const reactions = new Set(REACTIONS.map(({ event }) => event))

  expect(declared).not.toEqual([])
  expect(declared.toSorted()).toEqual([...reactions].toSorted())
})
