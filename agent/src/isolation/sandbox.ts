import { existsSync, realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { constants, homedir, tmpdir } from 'node:os'
import { delimiter, join, sep } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { writeForAll } from '../process/confined-file.ts'
import type { Exit } from '../process/launcher-process.ts'
import type { Launcher } from '../process/launcher.ts'
import type { RunUser } from '../process/user-processes.ts'
import type { RunDirectory, RunSite } from './run-directory.ts'

/** A program as it is to be started. */
type Command = { file: string; args: string[] }

/**
 * A sandbox of bubblewrap around a program: the files of the machine read-only, its own /tmp, /dev, /proc and processes, and of
 * what agents write only the directory of its run and the plugin cache of its organization. The network stays.
 */
export type Sandbox = {
  wrap: (command: Command, context: RunSite) => Command
  /** Writes what the sandbox of a run shows in place of the machine's own. */
  prepare: (directory: RunDirectory) => Promise<void>
}

type SandboxOptions = {
  /** Directories that no run may look into. */
  hidden: readonly string[]
  /** Files and directories that runs need all the same. */
  shown: readonly string[]
}

/**
 * The monitor of bubblewrap would die of the interrupt that goes to the whole group, and the engine with it; so it ignores
 * interrupts, and the engine gets the usual behaviour back.
 */
const OUTSIDE = ['/bin/sh', '-c', `trap '' INT; exec "$@"`, 'sh']
const INSIDE = ['env', '--default-signal=INT']

const TEMPORARY = ['/tmp', '/var/tmp']

/** Tries the sandbox out, as the user of a run; throws when it does not work here. */
export async function openSandbox(options: SandboxOptions, launcher: Launcher, user: RunUser | undefined) {
  const advice = 'install bubblewrap 0.8 or later, and allow user namespaces; or turn the sandbox off'
  const bwrap = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((directory) => join(directory, 'bwrap'))
    .find((path) => existsSync(path))
  if (bwrap === undefined) throw new Error(`the sandbox needs the program bwrap, which is not on the PATH: ${advice}`)
  const sandbox = createSandbox(bwrap, options)
  const { file, args } = sandbox.base(['true'])
  const spec = { file, args, cwd: '/', env: { PATH: '/usr/bin:/bin' }, ...(user !== undefined && { user }) }
  const trial = await launcher.launch(spec)
  trial.stdout.resume()
  const [said] = await Promise.all([buffer(trial.stderr), trial.closed])
  const { code } = await trial.exited
  if (code !== 0) throw new Error(`the sandbox does not work here: ${said.toString().trim()}: ${advice}`)
  return sandbox
}

function createSandbox(bwrap: string, { hidden, shown }: SandboxOptions) {
  const known = [homedir(), ...hidden].filter((path) => existsSync(path)).map((path) => realpathSync(path))
  const directories = [...new Set(known)].filter((path) => path !== '/')
  const covered = [...new Set([...TEMPORARY, tmpdir()])]
  const isCovered = (path: string) => [...covered, ...directories].some((directory) => path.startsWith(directory + sep))
  const machine = [
    '--die-with-parent',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-cgroup-try',
    // Where the run is root it would keep all of root's, and could undo the rest.
    '--cap-drop',
    'ALL',
    ...readable('/'),
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    ...[...covered, ...directories].flatMap((path) => ['--tmpfs', path]),
    ...shown.filter(isCovered).flatMap(readable),
  ]

  function base(command: string[], binds: string[] = []): Command {
    const [file = '', ...args] = [...OUTSIDE, bwrap, ...machine, ...binds, '--', ...INSIDE, ...command]
    return { file, args }
  }

  return {
    base,
    wrap({ file, args }: Command, { directory, workingDirectory }: RunSite) {
      const { configuration, home, tmp, output, variables, cliConfig, cache, user } = directory
      return base(
        [file, ...args],
        [
          ...(isCovered(file) ? readable(file) : []),
          ...[configuration, home, tmp, output, cache.path].flatMap((path) => ['--bind', path, path]),
          ...[variables, cliConfig].flatMap(readable),
          ...(user === undefined ? [] : ['--ro-bind', passwdFile(directory), '/etc/passwd']),
          '--chdir',
          workingDirectory,
        ],
      )
    },
    async prepare(directory: RunDirectory) {
      const { user, home } = directory
      if (user === undefined) return
      // Programs such as ssh refuse a user without a name.
      const others = await readFile('/etc/passwd', 'utf8').catch(() => '')
      const own = `groundstate-run:x:${user.uid}:${user.gid}::${home}:/bin/sh\n`
      await writeForAll(passwdFile(directory), others + own)
    },
  }
}

/** How a program in the sandbox ended: its monitor ends with 128 and the number of the signal. */
export function exitInSandbox(exit: Exit): Exit {
  const { code } = exit
  const signal = Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0]
  return signal === undefined ? exit : { ...exit, code: null, signal: signal as NodeJS.Signals }
}

function readable(path: string): string[] {
  return ['--ro-bind', path, path]
}

function passwdFile({ root }: RunDirectory): string {
  return join(root, 'passwd')
}
