import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect } from 'vitest'
import { parse } from 'yaml'
import { VERSION } from '../agent/src/build.ts'
import { blocksOf, type Cases, describeBlocks, hasSandbox, runShell } from './documented-commands.ts'
import { findTool, KUBERNETES, resourcesIn } from './helm.ts'
import {
  callsOf,
  expectSettings,
  hasNpm,
  inside,
  makeHost,
  NO_NPM,
  onNewHost,
  unknownOptions,
  valuesOf,
  withStandIns,
} from './new-host.ts'
import { bootServer } from './server.ts'

const ROOT = join(import.meta.dirname, '..')
const helm = findTool('helm')
if (helm === undefined)
  console.warn('SKIPPED: helm is not installed, so the chart is not rendered with the documented values')
const isRoot = process.getuid?.() === 0

beforeAll(async () => {
  if (hasSandbox) await makeHost({ hasPackages: true })
}, 180_000)

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

// npm writes and packs hundreds of MB.
describeBlocks('docs/INSTALL.md', INSTALL, { timeout: 300_000 })
describeBlocks('docs/VERSIONING.md', VERSIONING, { timeout: 300_000 })
