import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { hasEnded, pidScope } from './process-id.ts'

test.runIf(process.platform === 'linux')('a killed process whose parent does not wait for it has ended', async () => {
  // The shell becomes a program that never waits for the child it has.
  const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [output] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(output.toString())
  expect(await hasEnded(await pidScope(), pid)).toBe(false)
  await expect.poll(async () => readFile(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n')

  process.kill(pid, 'SIGKILL')
  await expect.poll(async () => readFile(`/proc/${pid}/stat`, 'utf8')).toContain(') Z ')

  expect(await hasEnded(await pidScope(), pid)).toBe(true)
})
