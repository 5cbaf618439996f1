import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { parentOf } from '../testing/processes.ts'
import { createLauncher } from './launcher.ts'

const launcher = createLauncher()
afterAll(() => launcher[Symbol.dispose]())

const shell = (script: string) => ({ file: '/bin/sh', args: ['-c', script], cwd: '/', env: { PATH: '/usr/bin:/bin' } })

test('a process has only the given environment, its own group, and two streams', async () => {
  const launched = await launcher.launch(shell('env | grep -v -e ^PWD -e ^OLDPWD -e ^_=; echo error >&2; exit 3'))

  const [stdout, stderr] = await Promise.all([buffer(launched.stdout), buffer(launched.stderr)])

  expect(stdout.toString()).toBe('PATH=/usr/bin:/bin\n')
  expect(stderr.toString()).toBe('error\n')
  expect(await launched.exited).toEqual({ code: 3, signal: null })
  await launched.closed
})

test('a missing program is an error', async () => {
  await expect(launcher.launch({ ...shell(''), file: '/nowhere/engine' })).rejects.toThrow('ENOENT')
})

test('unread output blocks the process without loss', async () => {
  const bytes = 20_000_000
  const launched = await launcher.launch(shell(`head -c ${bytes} /dev/zero; echo done >&2`))
  await once(launched.stdout, 'readable')
  const first = launched.stdout.read() as Buffer

  const rest = await buffer(launched.stdout)

  expect(first.length + rest.length).toBe(bytes)
  expect((await buffer(launched.stderr)).toString()).toBe('done\n')
  expect(await launched.exited).toEqual({ code: 0, signal: null })
})

test('processes fail when the launcher dies, and the next one starts in a new launcher', async () => {
  const launched = await launcher.launch(shell('exec tail -f /dev/null'))
  const parent = parentOf(launched.pid)

  process.kill(parent, 'SIGKILL')

  await expect(launched.exited).rejects.toThrow('has died')
  process.kill(-launched.pid, 'SIGKILL')
  const next = await launcher.launch(shell('echo again'))
  expect((await buffer(next.stdout)).toString()).toBe('again\n')
})

test('processes are killed when the launcher is disposed', async () => {
  const other = createLauncher()
  const launched = await other.launch(shell('echo up; exec tail -f /dev/null'))
  await once(launched.stdout, 'readable')
  const parent = parentOf(launched.pid)
  expect(parent).not.toBe(process.pid)

  other[Symbol.dispose]()

  await expect(launched.exited).rejects.toThrow('has died')
  // Its new parent may not have reaped it yet.
  const state = async () => readFile(`/proc/${launched.pid}/status`, 'utf8').catch(() => 'State: X')
  await expect.poll(state).toMatch(/State:\s+[ZX]/)
})

test('the launcher keeps its parent alive only while processes run', async () => {
  const launcher = JSON.stringify(new URL('./launcher.ts', import.meta.url).href)
  const script = `
    const { createLauncher } = await import(${launcher})
    const { exited, closed } = await createLauncher().launch({ file: 'sh', args: ['-c', 'exit 7'], cwd: '/', env: {} })
    await closed
    console.log(await exited)`

  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 20_000,
  })

  expect(stderr).toBe('')
  expect(stdout).toContain('code: 7')
})
