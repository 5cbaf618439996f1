import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const COMMAND = join(import.meta.dirname, 'groundstate')

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), `groundstate command's "ü"-`))
})
afterAll(() => rm(directory, { recursive: true }))

test('the process becomes the server, with unchanged arguments', async () => {
  const tricky = ['a b', `it's "quoted"`, '', '$HOME', '*']
  const show = ['sh', '-c', 'printf "%s|" "$PPID" "$@"', 'sh', ...tricky]
  const child = spawn(COMMAND, ['exec', '--token', 'x', '--', ...show], { stdio: ['ignore', 'pipe', 'inherit'] })

  const shown = await text(child.stdout)

  expect(shown.split('|')).toEqual([`${child.pid}`, ...tricky, ''])
})

test.runIf(process.platform === 'linux')(
  'the installed Node takes precedence over an older one on the PATH',
  async () => {
    const programs = join(directory, 'older node')
    await mkdir(programs)
    await writeFile(join(programs, 'node'), '#!/bin/sh\nexit 9\n')
    await chmod(join(programs, 'node'), 0o755)
    await symlink(COMMAND, join(directory, 'first link'))
    await symlink('../first link', join(programs, 'groundstate'))
    const env = { PATH: [programs, '/usr/bin', '/bin'].join(delimiter) }

    const { stdout } = await promisify(execFile)('groundstate', ['--version'], { env })

    expect(stdout).toMatch(/^groundstate \d+\.\d+\.\d+ \((?:commit [0-9a-f]{12}, )?from source, node 24\.\d+\.\d+\)\n$/)
  },
)

/** The output of a copy of the command that runs a program in place of the server. */
async function outputOf(name: string, program: string) {
  const alone = join(directory, name)
  await mkdir(alone)
  await copyFile(COMMAND, join(alone, 'groundstate'))
  await writeFile(join(alone, 'groundstate.mjs'), program)
  const child = spawn(join(alone, 'groundstate'), {
    env: { PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [shown] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return shown.trim()
}

test('without an installed Node, the one on the PATH is used', async () => {
  expect(await outputOf('alone', 'console.log(process.execPath)')).toBe(process.execPath)
})

test('without a command, it is serve', async () => {
  expect(await outputOf('bare', 'console.log(...process.argv.slice(2))')).toBe('serve')
})
