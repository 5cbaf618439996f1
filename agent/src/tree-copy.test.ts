import { execFileSync } from 'node:child_process'
import { lstatSync, readlinkSync, statSync } from 'node:fs'
import { chmod, chown, lchown, mkdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from './testing/agent-fixture.ts'
import { copyTree, restoreTree } from './tree-copy.ts'

const USER = { uid: 1_999_999_001, gid: 1_999_999_002 }
const asRoot = process.geteuid?.() === 0

/** A run's folder with a tree, and folders for the copy and for what is made of it. */
async function folders() {
  const runs = await temporaryFolder()
  const root = join(runs, 'run-1')
  const [tree, copy, anew] = [join(root, 'tree'), join(runs, 'copy'), join(runs, 'anew')]
  for (const folder of [root, tree, copy, anew]) await mkdir(folder)
  return { root, tree, copy, anew, bounds: { root, user: undefined } }
}

test('a tree comes out of its copy as it was, with modes, times and links', async () => {
  const { tree, copy, anew, bounds } = await folders()
  await mkdir(join(tree, 'deep/er'), { recursive: true })
  await writeFile(join(tree, 'deep/er/run.sh'), 'run', { mode: 0o755 })
  await utimes(join(tree, 'deep/er/run.sh'), 1_000, 2_000)
  await writeFile(join(tree, 'large'), Buffer.alloc(300_000, 'x'))
  await symlink('deep/er', join(tree, 'link'))
  await mkdir(join(tree, 'empty'), { mode: 0o700 })

  const { bytes } = await copyTree(tree, copy, bounds)
  await restoreTree(copy, anew, bounds)

  expect(bytes).toBe(300_003)
  expect(await readFile(join(anew, 'link/run.sh'), 'utf8')).toBe('run')
  expect(readlinkSync(join(anew, 'link'))).toBe('deep/er')
  expect(statSync(join(anew, 'deep/er/run.sh'))).toMatchObject({ mtimeMs: 2_000_000, mode: 0o100755 })
  expect(statSync(join(anew, 'empty')).mode & 0o777).toBe(0o700)
  expect(statSync(join(anew, 'large')).size).toBe(300_000)
})

test('what is made of a copy is no file of the copy', async () => {
  const { tree, copy, anew, bounds } = await folders()
  await writeFile(join(tree, 'file'), 'one')
  await copyTree(tree, copy, bounds)
  await restoreTree(copy, anew, bounds)

  await writeFile(join(anew, 'file'), 'two')
  await writeFile(join(tree, 'file'), 'three')

  expect(await readFile(join(copy, '0'), 'utf8')).toBe('one')
})

test('a link is copied as a link, wherever it leads', async () => {
  const { tree, copy, bounds } = await folders()
  await symlink('/etc', join(tree, 'link'))

  const { entries } = await copyTree(tree, copy, bounds)

  expect(entries).toMatchObject([{ path: 'link', kind: 'link', target: '/etc' }])
})

test.each([
  ['a pipe', (tree: string) => void execFileSync('mkfifo', [join(tree, 'pipe')]), 'is neither a file'],
  ['a program that runs as its owner', (tree: string) => setUserId(join(tree, 'x')), 'is no plain file'],
  ['a link that leads nowhere', (tree: string) => symlink('/nowhere', join(tree, 'x')), 'ENOENT'],
  ['a link into the folder of a run', (tree: string) => symlink(tree, join(tree, 'x')), 'is in the folder of a run'],
])('a tree with %s is not copied', async (_, make, message) => {
  const { tree, copy, bounds } = await folders()
  await make(tree)

  await expect(copyTree(tree, copy, bounds)).rejects.toThrow(message)
})

test('a link in the place of the tree is not followed', async () => {
  const { root, tree, copy, bounds } = await folders()
  await symlink(tree, join(root, 'link'))

  await expect(copyTree(join(root, 'link'), copy, bounds)).rejects.toThrow('ENOTDIR')
})

test('a copy whose link leads nowhere by now is of no use', async () => {
  const { tree, copy, anew, bounds } = await folders()
  const target = join(await temporaryFolder(), 'provider')
  await writeFile(target, '')
  await symlink(target, join(tree, 'link'))
  await copyTree(tree, copy, bounds)

  await rm(target)

  await expect(restoreTree(copy, anew, bounds)).rejects.toThrow('ENOENT')
})

test.skipIf(!asRoot)(
  "what is not a run's own is not copied, and all that is made belongs to the next run",
  async () => {
    const { root, tree, copy, anew } = await folders()
    await mkdir(join(tree, 'folder'))
    await writeFile(join(tree, 'folder/file'), 'x')
    await symlink('folder', join(tree, 'link'))
    const bounds = { root, user: USER }
    for (const path of [tree, join(tree, 'folder')]) await chown(path, USER.uid, USER.gid)
    await expect(copyTree(tree, copy, bounds)).rejects.toThrow("is not the run's own")
    await chown(join(tree, 'folder/file'), USER.uid, USER.gid)
    await lchown(join(tree, 'link'), USER.uid, USER.gid)

    await copyTree(tree, copy, bounds)
    const next = { uid: USER.uid + 1, gid: USER.gid }
    await restoreTree(copy, anew, { root, user: next })

    for (const path of ['folder', 'folder/file', 'link']) expect(lstatSync(join(anew, path))).toMatchObject(next)
    expect(lstatSync(join(copy, '1'))).toMatchObject({ uid: 0, gid: 0 })
  },
)

async function setUserId(path: string) {
  await writeFile(path, '')
  await chmod(path, 0o4755)
}
