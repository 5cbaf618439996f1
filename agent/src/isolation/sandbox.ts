import { existsSync, realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { constants, homedir, tmpdir } from 'node:os'
import { delimiter, join, sep } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { writeWorldReadable } from '../process/confined-file.ts'
import type { Exit } from '../process/launcher-process.ts'
import type { Launcher } from '../process/launcher.ts'
import type { RunUser } from '../process/user-processes.ts'
import type { RunDirectory, RunSite } from './run-directory.ts'

type Command = { file: string; args: string[] }

type SandboxOptions = {
  hidden: readonly string[]
  /** Files and directories in hidden ones that runs need. */
  shown: readonly string[]
}

/** An interrupt of the process group would kill the monitor of bubblewrap, which therefore ignores it; the engine gets the default back. */
const OUTSIDE = ['/bin/sh', '-c', `trap '' INT; exec "$@"`, 'sh']
const INSIDE = ['env', '--default-signal=INT']

const TEMPORARY = ['/tmp', '/var/tmp']

/** Creates a sandbox and tests it as the user of a run; throws when it does not work here. */
export async function openSandbox(options: SandboxOptions, launcher: Launcher, user: RunUser | undefined) {
  const advice = 'install bubblewrap 0.8 or later and allow user namespaces, or turn the sandbox off'
  const bwrap = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((directory) => join(directory, 'bwrap'))
    .find((path) => existsSync(path))
  if (bwrap === undefined) throw new Error(`the sandbox needs the program bwrap, which is not on the PATH: ${advice}`)
  const sandbox = createSandbox(bwrap, options)
  const command = sandbox.base(['true'])
  const env = { PATH: '/usr/bin:/bin' }
  const trial = await launcher.launch({ ...command, cwd: '/', env, ...(user !== undefined && { user }) })
  trial.stdout.resume()
  const [output] = await Promise.all([buffer(trial.stderr), trial.closed])
  const { code } = await trial.exited
  if (code !== 0) throw new Error(`the sandbox does not work here: ${output.toString().trim()}: ${advice}`)
  return sandbox
}

/**
 * A bubblewrap sandbox: the machine is read-only, /tmp, /dev, /proc and processes are private, and of the agent's files only the
 * directory of the run and the plugin cache of its organization are visible. The network is not restricted.
 */
function createSandbox(bwrap: string, { hidden, shown }: SandboxOptions) {
  const existing = [homedir(), ...hidden].filter((path) => existsSync(path)).map((path) => realpathSync(path))
  const directories = [...new Set(existing)].filter((path) => path !== '/')
  const covered = [...new Set([...TEMPORARY, tmpdir()]), ...directories]
  const isCovered = (path: string) => covered.some((directory) => path.startsWith(directory + sep))
  const machine = [
    ...'--die-with-parent --unshare-pid --unshare-ipc --unshare-cgroup-try'.split(' '),
    // As root the run would otherwise keep all capabilities, and could undo the rest.
    ...'--cap-drop ALL'.split(' '),
    ...readable('/'),
    ...'--dev /dev --proc /proc'.split(' '),
    ...covered.flatMap((path) => ['--tmpfs', path]),
    ...shown.filter(isCovered).flatMap(readable),
  ]

  function base(command: string[], binds: string[] = []): Command {
    const [file = '', ...args] = [...OUTSIDE, bwrap, ...machine, ...binds, '--', ...INSIDE, ...command]
    return { file, args }
  }

  return {
    base,
    wrap({ file, args }: Command, { directory, workingDirectory }: RunSite, options: readonly string[] = []) {
      const { configuration, home, tmp, output, variables, cliConfig, cache, user } = directory
      return base(
        [file, ...args],
        [
          ...options,
          ...(isCovered(file) ? readable(file) : []),
          ...[configuration, home, tmp, output, cache.path].flatMap((path) => ['--bind', path, path]),
          ...[variables, cliConfig].flatMap(readable),
          ...(user === undefined ? [] : ['--ro-bind', passwdFile(directory), '/etc/passwd']),
          '--chdir',
          workingDirectory,
        ],
      )
    },
    /** Writes the files that replace the machine's in the sandbox of a run. */
    async prepare(directory: RunDirectory) {
      const { user, home } = directory
      if (user === undefined) return
      // Programs such as ssh reject a user without a name.
      const others = await readFile('/etc/passwd', 'utf8').catch(() => '')
      const own = `groundstate-run:x:${user.uid}:${user.gid}::${home}:/bin/sh\n`
      await writeWorldReadable(passwdFile(directory), others + own)
    },
  }
}

/** The exit of a program in the sandbox: for a signal its monitor exits with 128 plus the number. */
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
