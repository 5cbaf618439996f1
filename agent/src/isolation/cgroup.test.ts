import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createLauncher } from '../process/launcher.ts'
import { cpuLimit, memoryLimit } from '../settings/schemas.ts'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { processIsAlive } from '../testing/processes.ts'
import { type Cgroups, openCgroups } from './cgroup.ts'
import { openConfinement } from './confinement.ts'

const mount = readFileSync('/proc/self/mountinfo', 'utf8')
  .split('\n')
  .find((line) => line.includes(' - cgroup2 '))
const kernel = mount?.split(' ')[4]
const writable = kernel !== undefined && process.geteuid?.() === 0
if (!writable) process.stderr.write("\nNO WRITABLE CGROUP V2: the tests on the kernel's own are SKIPPED.\n\n")

/** A directory with the files of a cgroup, for kernels whose controllers belong to version 1. */
async function standIn(controllers: string) {
  const directory = await temporaryDirectory()
  await writeFile(join(directory, 'cgroup.controllers'), controllers)
  await writeFile(join(directory, 'cgroup.subtree_control'), '')
  await writeFile(join(directory, 'cgroup.procs'), '')
  return directory
}

test('limits become settings of a cgroup for each program', async () => {
  const parent = await standIn('cpu memory pids\n')

  const cgroups = (await openCgroups({ memory: 2 * 1024 ** 3, pids: 100, cpu: 1.5 }, parent)) as Cgroups

  expect(await readFile(join(parent, 'cgroup.subtree_control'), 'utf8')).toBe('+memory +pids +cpu')
  const { directory, home, settings } = cgroups.next()
  expect(directory).not.toBe(cgroups.next().directory)
  expect(home).toBe(join(parent, 'cgroup.procs'))
  expect(settings).toEqual({
    'memory.max': '2147483648',
    'memory.oom.group': '1',
    'pids.max': '100',
    'cpu.max': '150000 100000',
  })
})

test('a missing controller is named', async () => {
  const parent = await standIn('pids\n')

  expect(await openCgroups({ memory: 1024 ** 3, cpu: 1 }, parent)).toBe(`${parent} has no controller for memory, cpu`)
})

test('an exit reports that the kernel killed the program for lack of memory', async () => {
  const parent = await standIn('memory\n')
  const cgroups = (await openCgroups({ memory: 64 * 1024 ** 2 }, parent)) as Cgroups
  using launcher = createLauncher()
  const cgroup = cgroups.next()
  const script = `echo oom_kill 1 > ${cgroup.directory}/memory.events; kill -KILL $$`

  const program = await launcher.launch({ file: '/bin/sh', args: ['-c', script], cwd: '/', env: {}, cgroup })

  expect(await program.exited).toEqual({ code: null, signal: 'SIGKILL', outOfMemory: true })
})

test('a run reports its memory limit', async () => {
  const site = {
    workDir: await temporaryDirectory(),
    enginePath: undefined,
    certificates: undefined,
    sparedUsers: new Set<number>(),
  }
  const warn = (_: object, message: string) => void warned.push(message)
  const warned: string[] = []
  const log = { debug: () => {}, info: () => {}, warn, error: warn }

  using confinement = await openConfinement({ limits: { memory: 1.5 * 1024 ** 3 } }, { ...site, log })

  expect(confinement.memoryMessage('/usr/bin/terraform')).toBe(
    'terraform exceeded the memory limit of runs, which is 1.5 GiB',
  )
})

describe.skipIf(!writable)('a program in a cgroup', () => {
  async function launched(script: string) {
    const base = join(kernel ?? '', `groundstate-test-${randomUUID()}`)
    await mkdir(base, { recursive: true })
    const cgroups = (await openCgroups({}, base)) as Cgroups
    const launcher = createLauncher()
    onTestFinished(async () => {
      await expect.poll(() => readdirSync(base).filter((name) => name.startsWith('groundstate-run-'))).toEqual([])
      launcher[Symbol.dispose]()
      await rmdir(base)
    })
    const cgroup = { ...cgroups.next(), home: join(kernel ?? '', 'cgroup.procs') }
    const spec = { file: '/bin/sh', args: ['-c', script], cwd: '/', env: { PATH: '/usr/bin:/bin' }, cgroup }
    const program = await launcher.launch(spec)
    return { program, cgroup, base }
  }

  test('runs there without the launcher', async () => {
    const back = "until grep -q '^0::/$' /proc/$PPID/cgroup; do sleep 0.01; done"
    const { program, cgroup } = await launched(`cat /proc/self/cgroup; ${back}; echo launcher is back`)

    const output = (await buffer(program.stdout)).toString()

    expect(output).toContain(`0::${cgroup.directory.slice((kernel ?? '').length)}\n`)
    expect(output).toContain('launcher is back')
  })

  test('is killed with processes outside its session, and its cgroup is removed', async () => {
    const { program, cgroup } = await launched('setsid sleep 1000 >/dev/null 2>&1 & echo $!; sleep 0.1')

    const pid = Number((await buffer(program.stdout)).toString())
    await program.closed

    await expect.poll(() => processIsAlive(pid)).toBe(false)
    await expect.poll(() => existsSync(cgroup.directory)).toBe(false)
  })
})

describe('the text of a limit', () => {
  test.each([
    ['512m', 512 * 1024 ** 2],
    ['2g', 2 * 1024 ** 3],
    ['1.5G', 1.5 * 1024 ** 3],
    ['134217728', 134_217_728],
  ])('of memory: %s', (text, bytes) => {
    expect(memoryLimit.parse(text)).toBe(bytes)
  })

  test.each(['', '2 g', 'many', '-1', '1k', '0', '2gb', '1e9'])('of memory is rejected: %s', (text) => {
    expect(memoryLimit.safeParse(text).error?.issues[0]?.message).toContain('such as 512m or 2g')
  })

  test.each(['0', '-1', 'all', '1e3', '5000'])('of processors is rejected: %s', (text) => {
    expect(cpuLimit.safeParse(text).error?.issues[0]?.message).toContain('such as 0.5 or 2')
  })
})
