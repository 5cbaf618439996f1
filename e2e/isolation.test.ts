import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, type Directory, hasTerraform, terraformDirectory } from './terraform.ts'

const asRoot = process.geteuid?.() === 0
if (!asRoot) console.warn('SKIPPED: only root can give runs users of their own, nothing about them can be tested')
const canTest = hasTerraform && asRoot

const hasBubblewrap = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-pid', 'true']).status === 0
if (!hasBubblewrap) console.warn('SKIPPED: bubblewrap does not work here, the sandbox of the server cannot be tested')

let server: BootedServer
/** A directory writable by every user, for marker files between the test and its runs. */
let signs: string
beforeAll(async () => {
  if (!canTest) return
  // Agents remove what a run leaves in a directory of /tmp that every user may write.
  const parent = await mkdtemp(join(tmpdir(), 'groundstate-signs-'))
  signs = join(parent, 'signs')
  await mkdir(signs)
  await chmod(parent, 0o755)
  await chmod(signs, 0o777)
  atEnd(async () => rm(parent, { recursive: true, force: true }))
  server = await bootServer()
  await server.api('POST', '/organizations', {
    data: { type: 'organizations', attributes: { name: 'neighbours', email: 'neighbours@example.com' } },
  })
})

/** A configuration whose apply runs a script. */
async function scripted(name: string, script: string, organization = 'main', on = server): Promise<Directory> {
  const directory = await terraformDirectory(on, {
    'main.tf': `${cloudBlock(name, organization)}
resource "terraform_data" "script" {
  provisioner "local-exec" { command = "sh ./script.sh" }
}
`,
    'script.sh': script,
  })
  await directory.ok(['init', '-input=false'])
  return directory
}

/** Runs the commands in an apply and returns whether each succeeded. */
async function attempt(name: string, commands: Record<string, string>, organization?: string) {
  const lines = Object.entries(commands).map(
    ([key, command]) => `if ( ${command} ) >/dev/null 2>&1; then echo "did: ${key}"; else echo "denied: ${key}"; fi`,
  )
  const directory = await scripted(name, `${lines.join('\n')}\n`, organization)
  const { all } = await directory.ok(['apply', '-auto-approve'])
  return Object.fromEntries(
    [...all.matchAll(/(did|denied): (.+)$/gm)].map(([, result = '', key = '']) => [key.trim(), result]),
  )
}

const allDenied = (commands: Record<string, string>) =>
  Object.fromEntries(Object.keys(commands).map((key) => [key, 'denied']))

/** All descendants of a process. */
function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number)
  return children.flatMap((child) => [child, ...descendants(child)])
}

/** A run that stays active until `end` is called, with what its script printed. */
async function busyRun(name: string, organization?: string) {
  const stop = join(signs, `${name}.stop`)
  const script = `echo "here: $PWD cache: $TF_PLUGIN_CACHE_DIR pid: $$ ready"
echo private > private-file
while [ ! -e ${stop} ]; do sleep 0.05; done
`
  const directory = await scripted(name, script, organization)
  const running = directory.start(['apply', '-auto-approve'])
  const said = await running.saw(/here: \S+ cache: \S+ pid: \d+ ready/)
  const [, here = '', cache = '', pid = ''] = /here: (\S+) cache: (\S+) pid: (\d+)/.exec(said) ?? []
  const end = async () => {
    await writeFile(stop, '')
    await running.done
  }
  return { here, cache, pid, end }
}

describe.skipIf(!canTest)('a run of the built-in agent that root has started', () => {
  test("does not get at the server's processes, its data, its database and its agent", async () => {
    const { pid, dataDir } = server
    const pointer = join(dataDir, 'postgres.location')
    const database = existsSync(pointer) ? readFileSync(pointer, 'utf8').trim() : join(dataDir, 'postgres')
    expect(existsSync(join(database, '.s.PGSQL.5432'))).toBe(true)
    const connect = `require('node:net').connect(process.argv[1]).on('connect',()=>process.exit(0)).on('error',()=>process.exit(1))`
    const family = descendants(pid)
    expect(family.length).toBeGreaterThan(2)
    const commands = {
      memory: `: < /proc/${pid}/mem`,
      maps: `cat /proc/${pid}/maps`,
      environment: `cat /proc/${pid}/environ`,
      'open files': `ls /proc/${pid}/fd/`,
      signal: `kill -0 ${pid}`,
      'data directory': `ls ${dataDir}`,
      secret: `cat ${dataDir}/secret`,
      blobs: `ls ${dataDir}/blobs`,
      'database directory': `ls ${database}`,
      'database socket': `${process.execPath} -e "${connect}" ${database}/.s.PGSQL.5432`,
      'environment of children': family.map((child) => `cat /proc/${child}/environ`).join(' || '),
      'memory of children': family.map((child) => `: < /proc/${child}/mem`).join(' || '),
      shadow: 'cat /etc/shadow',
      'other work': 'ls /var/lib/groundstate-agents/*/runs',
      'schema cache': 'ls /var/lib/groundstate-agents/*/schemas',
      'plugin caches': 'ls /var/lib/groundstate-agents/*/plugins',
    }

    const verdicts = await attempt('greedy', { ...commands, control: 'cat /etc/hostname; : < /proc/self/mem' })

    expect(verdicts).toEqual({ ...allDenied(commands), control: 'did' })
  })

  test('cannot access a concurrent run or the plugin cache of its organization', async () => {
    const other = await busyRun('neighbour', 'neighbours')
    const commands = {
      directory: `ls ${other.here}`,
      file: `cat ${other.here}/private-file`,
      'write a file': `echo x > ${other.here}/planted.tf`,
      'CLI configuration': `cat ${other.here}/../cli.tfrc`,
      plan: `cat ${other.here}/../output/run.tfplan`,
      environment: `cat /proc/${other.pid}/environ`,
      memory: `: < /proc/${other.pid}/mem`,
      signal: `kill -0 ${other.pid}`,
      'read the cache': `ls ${other.cache}`,
      'write the cache': `touch ${other.cache}/planted`,
    }

    const verdicts = await attempt('nosy', { ...commands, control: 'touch "$TF_PLUGIN_CACHE_DIR"/mine; ls "$PWD"' })
    await other.end()

    expect(verdicts).toEqual({ ...allDenied(commands), control: 'did' })
  })

  test('cannot access a run of the same organization, whose plugin cache it shares', async () => {
    const other = await busyRun('sibling')
    const commands = {
      directory: `ls ${other.here}`,
      'CLI configuration': `cat ${other.here}/../cli.tfrc`,
      environment: `cat /proc/${other.pid}/environ`,
      signal: `kill -0 ${other.pid}`,
    }

    const verdicts = await attempt('brother', { ...commands, cache: `touch ${other.cache}/ours` })
    await other.end()

    expect(verdicts).toEqual({ ...allDenied(commands), cache: 'did' })
  })

  test('leaves no process running, not even one in a new session', async () => {
    const note = join(signs, 'daemon.pid')
    const directory = await scripted(
      'daemon',
      `setsid sh -c 'echo $$ > ${note}; exec sleep 1000' >/dev/null 2>&1 &\nsleep 0.2\n`,
    )

    await directory.ok(['apply', '-auto-approve'])

    const pid = Number(readFileSync(note, 'utf8'))
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false)
  })
})

test.skipIf(!hasTerraform || !hasBubblewrap)(
  'a server with a sandbox shows its runs neither its data nor processes',
  async () => {
    const sandboxed = await bootServer({ GROUNDSTATE_SANDBOX: 'on' })
    const script = `echo "data: $(ls -A ${sandboxed.dataDir} 2>/dev/null | wc -l) server: $(ls -d /proc/${sandboxed.pid} 2>/dev/null | wc -l)"`
    const directory = await scripted('boxed', `${script}\n`, 'main', sandboxed)

    const { all } = await directory.ok(['apply', '-auto-approve'])

    expect(all).toMatch(/data: 0 server: 0$/m)
  },
)
