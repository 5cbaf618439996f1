import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { claimWorkDir } from '@groundstate/agent/isolation/work-dir'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openAgentDirectory } from './agent-directory.ts'

const asRoot = process.geteuid?.() === 0

async function temporaryDirectory() {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-agents-'))
  onTestFinished(async () => rm(directory, { recursive: true, force: true }))
  return directory
}

test.each(['off', 'auto'] as const)(
  'a missing data directory is created for this user only (isolation: %s)',
  async (isolation) => {
    const agents = join(await temporaryDirectory(), 'agents')
    const dataDir = join(await temporaryDirectory(), 'missing')

    const directory = await openAgentDirectory({ dataDir, isolation }, agents)

    expect((await stat(dataDir)).mode & 0o777).toBe(0o700)
    expect(existsSync(directory)).toBe(true)
  },
)

test('without isolation, the working directory of the agent is in the data directory', async () => {
  const dataDir = await temporaryDirectory()

  expect(await openAgentDirectory({ dataDir, isolation: 'off' })).toBe(join(dataDir, 'agent'))
  expect(existsSync(join(dataDir, 'agent'))).toBe(true)
})

describe.skipIf(!asRoot)('as root the directory of the agent', () => {
  test('is outside of the data directory, the same at each start, and can be entered but not listed', async () => {
    const dataDir = await temporaryDirectory()
    const agents = join(await temporaryDirectory(), 'agents')

    const directory = await openAgentDirectory({ dataDir, isolation: 'auto' }, agents)

    expect(directory.startsWith(agents)).toBe(true)
    expect((await stat(agents)).mode & 0o777).toBe(0o711)
    expect(await openAgentDirectory({ dataDir, isolation: 'auto' }, agents)).toBe(directory)
  })

  test('is removed with its data directory, unless it is in use or contains a state', async () => {
    const agents = join(await temporaryDirectory(), 'agents')
    const made = async () => {
      const dataDir = await temporaryDirectory()
      const directory = await openAgentDirectory({ dataDir, isolation: 'auto' }, agents)
      await rm(dataDir, { recursive: true })
      return directory
    }
    const dataDir = await temporaryDirectory()
    const mine = await openAgentDirectory({ dataDir, isolation: 'auto' }, agents)
    const inUse = await made()
    using claims = new DisposableStack()
    claims.use(await claimWorkDir(inUse, new AbortController().signal))
    const withState = await made()
    await mkdir(join(withState, 'errored-states'))
    await made()
    await writeFile(join(agents, 'stray'), '')

    await openAgentDirectory({ dataDir, isolation: 'auto' }, agents)

    expect((await readdir(agents)).map((name) => join(agents, name)).toSorted()).toEqual(
      [mine, inUse, withState, join(agents, 'stray')].toSorted(),
    )
  })
})
