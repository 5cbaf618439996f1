import { expect, test } from 'vitest'
import { archiveEntryProblem } from './archive-entry.ts'

test.for([
  { path: 'main.tf', type: 'File' },
  { path: './modules/a/', type: 'Directory' },
  { path: 'a/../b.tf', type: 'File' },
  { path: 'a/..b', type: 'File' },
  { path: 'a/link', type: 'SymbolicLink', linkpath: '../b' },
  { path: 'a/hard', type: 'Link', linkpath: 'b/c' },
])('$path ($type) stays in the folder', (entry) => {
  expect(archiveEntryProblem(entry)).toBeUndefined()
})

test.for([
  { path: '../main.tf', type: 'File' },
  { path: '/main.tf', type: 'File' },
  { path: 'a/../../b', type: 'Directory' },
  { path: 'link', type: 'SymbolicLink', linkpath: '/etc/passwd' },
  { path: 'a/link', type: 'SymbolicLink', linkpath: '../../b' },
  { path: 'hard', type: 'Link', linkpath: '../b' },
  { path: 'pipe', type: 'FIFO' },
  { path: 'disk', type: 'BlockDevice' },
])('$path ($type) is refused', (entry) => {
  expect(archiveEntryProblem(entry)).toContain(`"${entry.path}"`)
})
