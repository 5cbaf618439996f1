import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { openConfined, readConfined, readWhole } from './confined-file.ts'

/** Holds a lease on a file even when another user opens it. */
const HOLDER = `
  $SIG{IO} = 'IGNORE';
  open(my $file, '+<', $ARGV[0]) or die $!;
  fcntl($file, 1024, 1) or die $!;
  $| = 1;
  print "held";
  sleep 60;
`
const hasPerl = process.platform === 'linux' && spawnSync('perl', ['-v']).status === 0

async function leaseOn(path: string): Promise<Disposable> {
  const holder: ChildProcess = spawn('perl', ['-e', HOLDER, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(holder.stdout ?? holder, 'data')
  return { [Symbol.dispose]: () => void holder.kill('SIGKILL') }
}

test.skipIf(!hasPerl)('a file on which a process of the run holds a lease is rejected without waiting', async () => {
  const root = await temporaryDirectory()
  const path = join(root, 'main.tf')
  await writeFile(path, '')
  using stack = new DisposableStack()
  stack.use(await leaseOn(path))

  const start = performance.now()
  await expect(readConfined(path, { root, user: undefined })).rejects.toThrow('is held by a process of the run')

  // The kernel blocks a normal open for 45 s (lease-break-time).
  expect(performance.now() - start).toBeLessThan(5000)
})

test.each([10, 1024 * 1024])(
  'of a file with %i bytes that grows as it is read no more than these are taken',
  async (size) => {
    const root = await temporaryDirectory()
    const path = join(root, 'main.tf')
    const bounds = { root, user: undefined }
    await writeFile(path, Buffer.alloc(size, 'a'))

    using file = openConfined(path, bounds)
    if (file === undefined) throw new Error('it is not there')
    await truncate(path, 4 * 1024 ** 3)
    const content = await readWhole(file)

    expect(content.equals(Buffer.alloc(size, 'a'))).toBe(true)
  },
)

test('a file that shrinks during the read is read to its end', async () => {
  const root = await temporaryDirectory()
  const path = join(root, 'main.tf')
  await writeFile(path, 'variable')

  using file = openConfined(path, { root, user: undefined })
  if (file === undefined) throw new Error('it is not there')
  await truncate(path, 3)

  expect(String(await readWhole(file))).toBe('var')
})
