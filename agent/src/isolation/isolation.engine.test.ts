import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createLineLog } from '../log.ts'
import {
  applied,
  configuration,
  describeWithTerraform,
  hooksDirectory,
  scripted,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'
import { processIsAlive } from '../testing/processes.ts'
import { AGENT_TOKEN } from '../testing/protocol-server.ts'
import { openConfinement } from './confinement.ts'
import { openPluginCaches } from './plugin-caches.ts'
import { claimIds, createIdPool } from './run-users.ts'

const asRoot = process.geteuid?.() === 0
if (!asRoot) process.stderr.write('\nNOT ROOT: the tests of users of their own for runs are SKIPPED.\n\n')
const describeAsRoot = asRoot ? describeWithTerraform : describe.skip

describeAsRoot('a run whose agent root has started', () => {
  test('has an unnamed user, only the group of its organization, and cannot gain privileges', async () => {
    const server = await startServer()
    await startAgent(server)
    const script =
      'echo ids: $(id -u) $(id -g) $(id -G); grep -E "^(NoNewPrivs|CapEff|CapPrm|CapBnd):" /proc/self/status; ulimit -c'

    const { apply } = await applied(server, scripted(script))

    const [, uid, gid, groups] = /ids: (\d+) (\d+) ([\d ]+)$/m.exec(apply.log()) ?? []
    expect(Number(uid)).toBeGreaterThanOrEqual(1_000)
    expect(Number(gid)).toBeGreaterThanOrEqual(1_000)
    expect(groups).toBe(gid)
    expect(apply.log()).toMatch(/NoNewPrivs:\t1/)
    expect(apply.log()).toMatch(/CapEff:\t0{16}/)
    expect(apply.log()).toMatch(/CapPrm:\t0{16}/)
  })

  test('of another run has another user; one of another organization has another group', async () => {
    const server = await startServer()
    await startAgent(server)
    const ids = async (organizationId: string, workspaceName: string) => {
      const more = { organizationId, workspaceName, workspaceId: `ws-acme-${workspaceName}` }
      const { apply } = await applied(server, scripted('echo ids: $(id -u)/$(id -g)'), more)
      return /ids: (\d+)\/(\d+)/.exec(apply.log())?.slice(1)
    }

    const [first, second, third] = [await ids('org-a', 'one'), await ids('org-a', 'two'), await ids('org-b', 'three')]

    expect(second?.[0]).not.toBe(first?.[0])
    expect(second?.[1]).toBe(first?.[1])
    expect(third?.[1]).not.toBe(first?.[1])
  })

  test('has a private directory while it waits for its apply, and continues as the same user', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)
    const archive = scripted('echo owner: $(stat -c %u "$PWD") me: $(id -u)')
    const plan = server.submit({ configuration: archive })
    await plan.finished
    await expect
      .poll(async () => {
        const [name = ''] = await readdir(join(workDir, 'runs'))
        return existsSync(join(workDir, 'runs', name, 'kept.json'))
      })
      .toBe(true)

    const [name = ''] = await readdir(join(workDir, 'runs'))
    const root = await stat(join(workDir, 'runs', name))
    const apply = server.submit({ kind: 'apply', runId: plan.runId, configuration: archive })
    await apply.finished

    expect({ uid: root.uid, mode: root.mode & 0o777 }).toEqual({ uid: 0, mode: 0o700 })
    const [, owner, me] = /owner: (\d+) me: (\d+)/.exec(apply.log()) ?? []
    expect(owner).toBe(me)
  })

  test('leaves no processes and no files', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)
    const script = `for n in 1 2 3; do setsid sh -c 'echo left $$; trap "" TERM INT HUP; exec sleep 1000' & done; sleep 0.3`

    const { apply } = await applied(server, scripted(`(${script}) 2>&1 | head -3`))

    const pids = [...apply.log().matchAll(/left (\d+)/g)].map(([, pid]) => Number(pid))
    expect(pids).toHaveLength(3)
    await expect.poll(() => pids.filter(processIsAlive)).toEqual([])
    await expect.poll(() => readdir(join(workDir, 'runs'))).toEqual([])
  })

  test('of a killed agent is killed before another agent uses its ids', async () => {
    const server = await startServer()
    const firstRunUser = 1_800_000_000
    const { stop, ended, workDir } = await startAgent(server, { firstRunUser })
    await expect.poll(() => existsSync(join(workDir, 'run-users'))).toBe(true)
    stop()
    await ended
    const orphan = spawn('sleep', ['1000'], { uid: firstRunUser + 7, gid: firstRunUser, stdio: 'ignore' })
    const exitSignal = new Promise((resolve) => orphan.once('exit', (_, signal) => resolve(signal)))

    await startAgent(server, { firstRunUser, workDir })

    expect(await exitSignal).toBe('SIGKILL')
  })

  test('leaves nothing in shared directories, and its user id to no other run soon', async () => {
    const server = await startServer()
    const firstRunUser = 1_810_000_000
    const { stop, ended, workDir } = await startAgent(server, { firstRunUser })
    const name = `groundstate-left-${randomUUID()}`
    const paths = ['/tmp', '/var/tmp', '/dev/shm'].map((directory) => join(directory, name))
    const leave = paths.map((path) => `mkdir -p ${path}/d && echo secret >${path}/d/f && chmod 000 ${path}/d`)
    const script = `${leave.join(' && ')} && ln -s / ${paths[0]}/l && ipcmk -M 64 && echo uid: $(id -u)`

    const first = await applied(server, scripted(script))
    await expect.poll(() => paths.filter(existsSync)).toEqual([])
    stop()
    await ended
    await startAgent(server, { firstRunUser, workDir })
    const other = { organizationId: 'org-b', workspaceName: 'two', workspaceId: 'ws-acme-two' }
    const second = await applied(server, scripted('echo uid: $(id -u)'), other)

    const [uid, next] = [first, second].map(({ apply }) => /uid: (\d+)/.exec(apply.log())?.[1])
    expect(Number(next)).toBeGreaterThan(Number(uid))
    expect(await readFile('/proc/sysvipc/shm', 'utf8')).not.toContain(` ${uid} `)
  })

  test('of a killed agent leaves nothing to the next agent', async () => {
    const server = await startServer()
    const firstRunUser = 1_820_000_000
    const path = `/tmp/groundstate-left-${randomUUID()}`
    await mkdir(path)
    await writeFile(join(path, 'secret'), '', { mode: 0o600 })
    for (const each of [path, join(path, 'secret')]) await chown(each, firstRunUser + 3, firstRunUser)

    await startAgent(server, { firstRunUser })

    await expect.poll(() => existsSync(path)).toBe(false)
  })

  test('whose files cannot be removed keeps its user id until they can', async () => {
    const firstRunUser = 1_830_000_000
    const path = `/tmp/groundstate-left-${randomUUID()}`
    await mkdir(join(path, 'of-root/in-use'), { recursive: true })
    await chown(path, firstRunUser + 1, firstRunUser)
    onTestFinished(() => rm(path, { recursive: true, force: true }))
    const site = {
      workDir: await temporaryDirectory(),
      enginePath: undefined,
      certificates: undefined,
      sparedUsers: new Set<number>(),
    }
    using confinement = await openConfinement(
      { firstRunUser },
      { ...site, log: createLineLog({ level: 'warn', json: false }) },
    )

    await confinement.users?.releaseUnused()

    expect(confinement.users?.reserve(firstRunUser + 1)).toBe(false)
    await rm(join(path, 'of-root'), { recursive: true })
    await confinement.users?.release(confinement.users.take())
    expect(confinement.users?.reserve(firstRunUser + 1)).toBe(true)
  })

  test('cannot make the agent upload another file with a link', async () => {
    const server = await startServer()
    const directory = await temporaryDirectory()
    const secret = join(directory, 'secret')
    await writeFile(secret, 'of the agent', { mode: 0o600 })
    await startAgent(server)

    const { apply, outcome } = await applied(server, scripted(`ln -s ${secret} errored.tfstate; exit 1`))

    expect(outcome).toMatchObject({ status: 'errored', message: expect.stringContaining('is not a file of the run') })
    expect(apply.artifacts.has('errored-state')).toBe(false)
  })

  test('cannot block its agent with a pipe in place of a file', async () => {
    const server = await startServer()
    await startAgent(server)

    const { outcome } = await applied(server, scripted('mkfifo errored.tfstate; exit 1'))

    expect(outcome).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('errored.tfstate is not a regular file'),
    })
  })

  test('executes in its working directory', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration('', {
      'net/main.tf': `resource "terraform_data" "one" {
  provisioner "local-exec" { command = "echo here: $(pwd)" }
}`,
    })

    const { apply, outcome } = await applied(server, archive, { workingDirectory: 'net' })

    expect(outcome).toMatchObject({ status: 'finished' })
    expect(apply.log()).toMatch(/here: \S+\/configuration\/net$/m)
  })

  test('does not start through a link in place of its working directory', async () => {
    const server = await startServer()
    const closed = await temporaryDirectory()
    await mkdir(join(closed, 'open'), { mode: 0o755 })
    const hooks = await hooksDirectory({ 'post-plan': `cd .. && mv net gone && ln -s ${closed}/open net` })
    await startAgent(server, { hooks })
    const archive = configuration('', { 'net/main.tf': 'output "one" { value = 1 }' })

    const plan = server.submit({ configuration: archive, workingDirectory: 'net' })

    // The engine would show the plan there.
    const message = expect.stringMatching(/configuration\/net is not a directory of the run$/)
    expect(await plan.finished).toMatchObject({ status: 'errored', message })
  })

  test('executes in a working directory behind a link within its configuration', async () => {
    const server = await startServer()
    const hooks = await hooksDirectory({ 'post-plan': 'cd .. && mv net moved && ln -s moved net' })
    await startAgent(server, { hooks })

    const plan = server.submit({
      configuration: configuration('', { 'net/main.tf': 'output "one" { value = 1 }' }),
      workingDirectory: 'net',
    })

    expect(await plan.finished).toMatchObject({ status: 'finished' })
  })

  test('has no access to the directories and the token of its agent', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)
    const tries = [
      `ls ${workDir}`,
      `ls ${workDir}/schemas`,
      `ls ${workDir}/plugins`,
      `touch ${workDir}/x`,
      `cat /proc/${process.pid}/environ`,
    ]
    const script = `${tries.map((command) => `if ${command}; then echo GOT IN; fi`).join('\n')}\nenv | grep -c ${AGENT_TOKEN} | sed 's/^/found: /'`

    const { apply } = await applied(server, scripted(script))

    expect(apply.log()).not.toContain('GOT IN')
    expect(apply.log()).toContain('found: 0')
  })

  test('fills a plugin cache that only later runs of the organization write to, and none of a fork', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)
    const init = async (type: string, organizationId: string, withholdsSecrets = false) => {
      const main = `terraform {
  required_providers { ${type} = { source = "example.com/acme/${type}" } }
}
resource "${type}_thing" "one" {}
`
      const provider = `terraform.d/plugins/example.com/acme/${type}/1.0.0/linux_amd64/terraform-provider-${type}_v1.0.0`
      const archive = configuration(main, { [provider]: '#!/bin/sh' })
      const plan = server.submit({ configuration: archive, organizationId, withholdsSecrets })
      // The script is not a provider, but init does not check that.
      expect(await plan.finished).toMatchObject({ message: expect.stringContaining('plan ended') })
    }

    await init('first', 'org-a')
    await init('second', 'org-a')
    await init('first', 'org-b')
    await init('third', 'org-a', true)

    const cached = (organization: string) => readdir(join(workDir, 'plugins', organization, 'example.com/acme'))
    expect((await cached('org-a')).toSorted()).toEqual(['first', 'second'])
    expect(await cached('org-b')).toEqual(['first'])
    expect(await cached('org-a-forks')).toEqual(['third'])
  })

  test('is rejected when the requested users are not free', async () => {
    const server = await startServer()

    const { ended } = await startAgent(server, { isolation: 'user', firstRunUser: 2 ** 32 - 100 })

    await expect(ended).rejects.toThrow(
      'runs cannot have dedicated users: no 1024 user ids from 4294967196 on are free here',
    )
  })

  test('executes as root with a warning if dedicated users could not reach their directories', async () => {
    const server = await startServer()
    const parent = await temporaryDirectory()
    await chmod(parent, 0o700)
    const { logged } = await startAgent(server, { workDir: join(parent, 'work') })

    const { apply } = await applied(server, scripted('echo uid: $(id -u)'))

    expect(apply.log()).toContain('uid: 0')
    const warnings = logged.filter(({ level }) => level === 'warn').map(({ message }) => message)
    expect(warnings).toEqual([expect.stringContaining(`other users cannot enter ${parent}`)])
  })

  test('executes as the user of the agent when isolation is off', async () => {
    const server = await startServer()
    await startAgent(server, { isolation: 'off' })

    const { apply } = await applied(server, scripted('echo uid: $(id -u)'))

    expect(apply.log()).toContain('uid: 0')
  })
})

describe.skipIf(!asRoot)('the ids of an agent', () => {
  test('are not those of another agent of the machine', async () => {
    const registry = await temporaryDirectory()
    using first = (await claimIds(undefined, { registry })) as Disposable & { first: number }
    using second = (await claimIds(undefined, { registry })) as Disposable & { first: number }

    expect(second.first).not.toBe(first.first)
  })
})

describe.skipIf(!asRoot)('ids of runs', () => {
  test('of another agent are not cleared, even if a run of an earlier agent had them', async () => {
    const workDir = await temporaryDirectory()
    using other = requireBlock(await claimIds(undefined))
    const site = { workDir, enginePath: undefined, certificates: undefined, sparedUsers: new Set([other.first]) }
    using confinement = await openConfinement(
      { isolation: 'user' },
      { ...site, log: createLineLog({ level: 'error', json: false }) },
    )
    const run = spawn('sleep', ['60'], { uid: other.first, gid: other.first, stdio: 'ignore', cwd: '/' })

    await confinement.users?.clear(other.first)

    expect(processIsAlive(run.pid ?? 0)).toBe(true)
    run.kill('SIGKILL')
  })

  test('reused for another organization give no access to the files of the former one', async () => {
    const caches = await openPluginCaches(await temporaryDirectory(), createIdPool({ first: 1_999_000_000, size: 1 }))
    const former = await caches.enter('org-former')
    caches.leave('org-former')

    const next = await caches.enter('org-next')

    expect(next.gid).toBe(former.gid)
    expect(existsSync(former.path)).toBe(false)
  })
})

function requireBlock<T>(block: T | string): T {
  if (typeof block === 'string') throw new Error(block)
  return block
}
