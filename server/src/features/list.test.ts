import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { DomainEvent } from '../events/events.ts'
import { REACTIONS } from './list.ts'

test('every domain event has a reaction, and every reaction an event', async () => {
  const files = globSync('*/*/events.ts', { cwd: import.meta.dirname })
  const modules = await Promise.all(files.map(async (file) => import(join(import.meta.dirname, file))))
  const names = modules.flatMap((exported: Record<string, DomainEvent<unknown>>) =>
    Object.values(exported).map(({ name }) => name),
  )

  const reactions = new Set(REACTIONS.map(({ event }) => event))

  expect(names.toSorted()).toEqual([...reactions].toSorted())
})
