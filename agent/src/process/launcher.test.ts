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

test('a process has the environment that it was given, its own group, and two streams', async () => {
  const launched = await launcher.launch(shell('env | grep -v -e ^PWD -e ^OLDPWD -e ^_=; echo error >&2; exit 3'))

  const [stdout, stderr] = await Promise.all([buffer(launched.stdout), buffer(launched.stderr)])

  expect(stdout.toString()).toBe('PATH=/usr/bin:/bin\n')
  expect(stderr.toString()).toBe('error\n')
  expect(await launched.exited).toEqual({ code: 3, signal: null })
  await launched.closed
})

test('a program that is not there is refused', async () => {
  await expect(launcher.launch({ ...shell(''), file: '/nowhere/engine' })).rejects.toThrow('ENOENT')
})

test('output that no one reads holds the process back, and nothing of it is lost', async () => {
  const bytes = 20_000_000
  const launched = await launcher.launch(shell(`head -c ${bytes} /dev/zero; echo done >&2`))
  await once(launched.stdout, 'readable')
  const first = launched.stdout.read() as Buffer

  const rest = await buffer(launched.stdout)

  expect(first.length + rest.length).toBe(bytes)
  expect((await buffer(launched.stderr)).toString()).toBe('done\n')
  expect(await launched.exited).toEqual({ code: 0, signal: null })
})

test('what runs when the launcher dies is failed, and the next process starts from another one', async () => {
  const launched = await launcher.launch(shell('exec tail -f /dev/null'))
  const parent = parentOf(launched.pid)

  process.kill(parent, 'SIGKILL')

  await expect(launched.exited).rejects.toThrow('has died')
  process.kill(-launched.pid, 'SIGKILL')
  const next = await launcher.launch(shell('echo again'))
  expect((await buffer(next.stdout)).toString()).toBe('again\n')
})

test('what runs when the launcher is let go is killed', async () => {
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

test('a process that does nothing else waits for what it has launched, and for no longer', async () => {
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
