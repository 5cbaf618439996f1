import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ArchiveEntry, entryProblem, newSeenEntries } from './archive-entry.ts'

const file = (path: string): ArchiveEntry => ({ path, type: 'File' })
const directory = (path: string): ArchiveEntry => ({ path, type: 'Directory' })
const symlink = (path: string, linkpath: string): ArchiveEntry => ({ path, type: 'SymbolicLink', linkpath })
const hardLink = (path: string, linkpath: string): ArchiveEntry => ({ path, type: 'Link', linkpath })

/** The first problem of the entries. */
function firstProblem(...entries: ArchiveEntry[]) {
  const seen = newSeenEntries()
  return entries.map((entry) => entryProblem(entry, seen)).find((problem) => problem !== undefined)
}

describe('accepted', () => {
  test.each<[string, ArchiveEntry[]]>([
    [
      'plain files and directories',
      [directory('modules/'), file('modules/a/main.tf'), file('./main.tf'), directory('./')],
    ],
    ['names that only contain dots', [file('..a/b..'), file('...'), file('.terraform/modules/modules.json')]],
    ['a link to a sibling', [symlink('a/current', 'v1'), symlink('a/v1', './real')]],
    ['a link up and down within the root', [symlink('a/b/shared', '../../modules/shared')]],
    ['a link to the root itself', [symlink('a/root', '..'), symlink('here', '.')]],
    ['a link through another', [symlink('a', 'b/c'), symlink('x', 'a/../d')]],
    ['a link that goes down and up again', [symlink('x', 'a/b/../c')]],
    ['a loop, which leads nowhere', [symlink('a', 'b'), symlink('b', 'a')]],
    ['a hard link to a file', [file('a/b'), hardLink('c', 'a/b')]],
    ['a file in the archive twice', [file('a'), file('a')]],
    ['a directory in place of a file', [file('a'), directory('a/'), file('a/b')]],
    ['a file and a directory that differ in case', [file('LICENSE'), file('license/mit')]],
  ])('%s', (_label, entries) => {
    expect(firstProblem(...entries)).toBeUndefined()
  })
})

describe('refused', () => {
  test.each<[string, string, ArchiveEntry[]]>([
    ['an absolute path', 'has an absolute path', [file('/etc/passwd')]],
    ['a path with a drive letter', 'has an absolute path', [file('C:\\Windows\\x')]],
    ['a path upwards', 'has a path with ..', [file('a/../../b')]],
    ['a path upwards with backslashes', 'has a path with ..', [file('a\\..\\..\\b')]],
    ['a null character', 'has a null character in its path', [file('a\0b')]],
    ['a too long path', 'has a path of more than 1024 characters', [file('a'.repeat(1025))]],
    ['a deep path', 'lies more than 100 directories deep', [file('a/'.repeat(100) + 'b')]],
    ['a file in place of the root', 'is the root of the archive, but not a directory', [file('./.')]],
    ['a device', 'has the type CharacterDevice, only', [{ path: 'a', type: 'CharacterDevice' }]],
    ['a FIFO', 'has the type FIFO, only', [{ path: 'a', type: 'FIFO' }]],
    ['an absolute link', 'links to the absolute path /etc', [symlink('a', '/etc')]],
    ['a link out of the root', 'links out of the archive to ../x', [symlink('a', '../x')]],
    ['a link out from a directory', 'links out of the archive to ../../../x', [symlink('a/b/c', '../../../x')]],
    ['a link out, written with backslashes', 'links out of the archive to ..\\x', [symlink('a', '..\\x')]],
    ['a link out by way of a directory', 'links out of the archive to b/../..', [symlink('a', 'b/../..')]],
    ['an empty link', 'has an invalid link target', [symlink('a', '')]],
    [
      'a link out through an earlier link',
      'links out of the archive to d/../..',
      [symlink('a/b/d', '..'), symlink('a/b/e', 'd/../..')],
    ],
    [
      'an earlier link redirected out by a later one',
      'would redirect an earlier link',
      [symlink('a', 'b/..'), symlink('b', '.')],
    ],
    [
      'a link in place of a directory that holds something',
      'replaces an earlier directory',
      [symlink('d/l', '../x'), symlink('d', '.')],
    ],
    ['a link that climbs through itself', 'links through itself to a/..', [symlink('a', 'a/..')]],
    ['an endless chain', 'through more than 16 links', [symlink('a', 'a/a'), symlink('b', 'a/x')]],
    ['a file through a link', 'passes through an earlier link', [symlink('a', 'b'), file('a/x')]],
    ['a link in place of a link', 'replaces an earlier link', [symlink('a', 'b'), symlink('a', 'c')]],
    ['a directory in place of a link', 'replaces an earlier link', [symlink('a', 'b'), directory('a/')]],
    ['a file through a link in another case', 'passes through an earlier link', [symlink('Link', 'b'), file('link/x')]],
    [
      'a link past a link in another case',
      'a link of another spelling',
      [symlink('A', 'b/c'), symlink('x', 'a/../../x')],
    ],
    ['a hard link out of the root', 'links to ../x, which has a path with ..', [hardLink('a', '../x')]],
    ['an absolute hard link', 'links to /etc/passwd, which has an absolute path', [hardLink('a', '/etc/passwd')]],
    ['a hard link to a missing file', 'links to b, which is not an earlier file', [hardLink('a', 'b')]],
    ['a hard link to a later file', 'links to b, which is not an earlier file', [hardLink('a', 'b'), file('b')]],
    ['a hard link to a directory', 'links to d, which is not an earlier file', [directory('d/'), hardLink('a', 'd')]],
    ['a hard link to itself', 'which is not an earlier file', [file('a'), hardLink('a', './a')]],
    ['a file in a file', 'is in a, which is an earlier file', [file('a'), file('a/b/c')]],
    ['a file in place of a directory', 'replaces an earlier directory', [file('d/a'), file('d')]],
    ['a long name', 'has a name of more than 255 bytes', [file(`a/${'é'.repeat(128)}`)]],
    [
      'a hard link to a symlink',
      'links to d/l, which is or passes through a link',
      [symlink('d/l', '..'), hardLink('a', 'd/l')],
    ],
  ])('%s', (_label, problem, entries) => {
    expect(firstProblem(...entries)).toContain(problem)
  })

  test('at most ten thousand links are accepted', () => {
    const seen = newSeenEntries()
    for (let n = 0; n < 10_000; n++) expect(entryProblem(symlink(`l${n}`, 'x'), seen)).toBeUndefined()

    expect(entryProblem(symlink('one', 'x'), seen)).toBe('is one link too many, 10000 are allowed')
  })
})

/** `ab…` with a capital for each bit of a number. */
const spelling = (n: number) =>
  Array.from('abcdefghijk')
    .map((letter, bit) => ((n >> bit) & 1 ? letter.toUpperCase() : letter))
    .join('')

test.each([
  ['names', (n: number) => `d${n}`],
  ['spellings of a name', spelling],
])('archives of more than a hundred thousand directories are rejected: %s', (_label, name) => {
  const seen = newSeenEntries()
  for (let n = 0; n < 1100; n++) entryProblem(file(`${name(n)}/${'a/'.repeat(90)}b`), seen)

  expect(entryProblem(file('c'), seen)).toBe('comes after more than 100000 directories')
})

test('accepted links in any order never lead out of the root', () => {
  const name = fc.constantFrom('a', 'b', 'c')
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'))
  const target = fc.array(fc.oneof(name, fc.constant('..'), fc.constant('.')), { minLength: 1, maxLength: 5 })
  const link = fc.tuple(
    path,
    target.map((names) => names.join('/')),
  )

  fc.assert(
    fc.property(fc.array(link, { maxLength: 8 }), path, (links, probe) => {
      const seen = newSeenEntries()
      const made = new Map<string, string>()
      for (const [at, to] of links) {
        if (entryProblem(symlink(at, to), seen) === undefined) made.set(at, to)
      }

      for (const start of [probe, ...made.keys()]) expect(leavesRoot(start, made)).toBe(false)
    }),
    { numRuns: 5000 },
  )
})

/** Resolves a path as a kernel would; every name except links is a directory. */
function leavesRoot(path: string, links: Map<string, string>) {
  let names = path.split('/')
  let place: string[] = []
  for (let followed = 0; names.length > 0;) {
    const [name = '', ...rest] = names
    names = rest
    if (name === '.') continue
    if (name === '..' && place.length === 0) return true
    place = name === '..' ? place.slice(0, -1) : [...place, name]
    const target = name === '..' ? undefined : links.get(place.join('/'))
    if (target === undefined) continue
    if (++followed > 40) return false
    place = place.slice(0, -1)
    names = [...target.split('/'), ...names]
  }
  return false
}
