import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'

const toolchain = new URL('./toolchain.mjs', import.meta.url).href

/** Runs a script in the place of another process, as npm start does with the server. */
function become(script: string) {
  const call = `const { become } = await import('${toolchain}')
    become(process.execPath, ['-e', ${JSON.stringify(script)}], { detached: true })`
  return spawn(process.execPath, ['--input-type=module', '-e', call], { stdio: ['ignore', 'pipe', 'inherit'] })
}

test('the exit code is that of the program', async () => {
  const [code] = await once(become('process.exit(7)'), 'exit')

  expect(code).toBe(7)
})

test('a program that a signal ends is reported as a shell does', async () => {
  const [code] = await once(become(`process.kill(process.pid, 'SIGKILL')`), 'exit')

  expect(code).toBe(137)
})

test('an interrupt that comes from the terminal and from npm reaches the program once', async () => {
  const child = become(`let seen = 0
    process.on('SIGINT', () => seen++)
    process.on('SIGTERM', () => process.exit(seen))
    setInterval(() => undefined, 1_000)
    console.log('up')`)
  await once(child.stdout, 'data')

  child.kill('SIGINT')
  child.kill('SIGINT')
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')

  expect(code).toBe(1)
})
