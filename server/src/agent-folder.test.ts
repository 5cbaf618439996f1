import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { claimWorkDir } from '@groundstate/agent/work-dir'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openAgentFolder } from './agent-folder.ts'

const asRoot = process.geteuid?.() === 0

async function temporaryFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'groundstate-agents-'))
  onTestFinished(async () => rm(folder, { recursive: true, force: true }))
  return folder
}

test('without isolation the agent works in the data folder', async () => {
  const dataDir = await temporaryFolder()

  expect(await openAgentFolder({ dataDir, isolation: 'off' })).toBe(join(dataDir, 'agent'))
  expect(existsSync(join(dataDir, 'agent'))).toBe(true)
})

describe.skipIf(!asRoot)('as root the folder of the agent', () => {
  test('is outside of the data folder, the same at each start, and can be entered but not listed', async () => {
    const dataDir = await temporaryFolder()
    const agents = join(await temporaryFolder(), 'agents')

    const folder = await openAgentFolder({ dataDir, isolation: 'auto' }, agents)

    expect(folder.startsWith(agents)).toBe(true)
    expect((await stat(agents)).mode & 0o777).toBe(0o711)
    expect(await openAgentFolder({ dataDir, isolation: 'auto' }, agents)).toBe(folder)
  })

  test('goes when its data folder is gone, unless a process has it or a state is left in it', async () => {
    const agents = join(await temporaryFolder(), 'agents')
    const made = async () => {
      const dataDir = await temporaryFolder()
      const folder = await openAgentFolder({ dataDir, isolation: 'auto' }, agents)
      await rm(dataDir, { recursive: true })
      return folder
    }
    const dataDir = await temporaryFolder()
    const mine = await openAgentFolder({ dataDir, isolation: 'auto' }, agents)
    const inUse = await made()
    using claims = new DisposableStack()
    claims.use(await claimWorkDir(inUse, new AbortController().signal))
    const withState = await made()
    await mkdir(join(withState, 'errored-states'))
    await made()
    await writeFile(join(agents, 'stray'), '')

    await openAgentFolder({ dataDir, isolation: 'auto' }, agents)

    expect((await readdir(agents)).map((name) => join(agents, name)).toSorted()).toEqual(
      [mine, inUse, withState, join(agents, 'stray')].toSorted(),
    )
  })
})
