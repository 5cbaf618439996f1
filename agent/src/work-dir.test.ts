import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { claimWorkDir } from './work-dir.ts'

async function startTimeOf(pid: number) {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8')
  return status.slice(status.lastIndexOf(')') + 2).split(' ')[19]
}

async function folderOf(pid: number) {
  const folder = await mkdtemp(join(tmpdir(), 'groundstate-work-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'agent.pid'), `${pid} ${await startTimeOf(pid)}\n`)
  return folder
}

test.runIf(process.platform === 'linux')('the folder of a process that is just ending is waited for', async () => {
  const former = spawn('sleep', ['0.3'])
  const folder = await folderOf(former.pid ?? 0)

  using _ = await claimWorkDir(folder)

  expect(await readFile(join(folder, 'agent.pid'), 'utf8')).toMatch(new RegExp(`^${process.pid} `))
})

test.runIf(process.platform === 'linux')(
  'a process that has ended holds nothing, though nobody has asked how',
  async () => {
    // The shell becomes a program that never waits for the child that it started before.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'])
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [line] = await once(parent.stdout, 'data')
    const former = Number(String(line))
    const folder = await folderOf(former)
    process.kill(former, 'SIGKILL')

    using _ = await claimWorkDir(folder)

    expect(await readFile(join(folder, 'agent.pid'), 'utf8')).toMatch(new RegExp(`^${process.pid} `))
  },
)
