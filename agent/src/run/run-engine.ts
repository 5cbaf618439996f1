import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SMALL_HEAP } from '../engine/environment.ts'
import { readConfined } from '../process/confined-file.ts'
import type { Exit } from '../process/launcher-process.ts'
import { type ProcessSpec, runProcess } from '../process/process.ts'
import type { EngineContext, EngineSite } from './context.ts'

/** States up to this size, in bytes, hardly add to the memory that the engine needs anyway. */
const SMALL_STATE = 1024 * 1024

/** A failed engine command. Its output is in the log, or in `output`. */
export class EngineFailed extends Error {
  override name = 'EngineFailed'
  exitCode: number | null

  constructor(command: string, exitCode: number | null, output = '') {
    super(
      `${command} ${exitCode === null ? 'was killed' : `ended with exit code ${exitCode}`}${output === '' ? '' : `: ${output}`}`,
    )
    this.exitCode = exitCode
  }
}

type EngineRun = Pick<ProcessSpec, 'onOutput' | 'stdoutFile' | 'orphan'> & {
  /** Without what would change the output: for commands whose output is parsed. */
  quiet?: boolean
}

/**
 * Runs the engine in the working directory and returns its exit code, or null when the agent killed it. Throws when a signal that
 * the agent has not sent ends it.
 */
export async function runEngine(
  context: EngineSite,
  args: string[],
  { quiet, ...output }: EngineRun,
): Promise<number | null> {
  const { engine, environment, stop } = context
  const given = quiet === true ? environment.quiet : environment.run
  const env = needsLittleMemory(context, args) ? { ...SMALL_HEAP, ...given } : given
  const { code, signal } = await runConfined(context, { file: engine.path, args, env, ...output })
  if (signal !== null && !stop.interrupt.aborted && !stop.kill.aborted) {
    const hint = signal === 'SIGKILL' ? ' (out of memory?)' : ''
    throw new Error(`${engine.product} ${args[0]} was ended by the signal ${signal}${hint}`)
  }
  return code
}

/**
 * Runs a program in the working directory as the run's user, within the limits and the sandbox of the agent. Throws when the
 * kernel ended it because it took more memory than it may.
 */
export async function runConfined(context: EngineSite, spec: Omit<ProcessSpec, 'cwd'>): Promise<Exit> {
  const { agent, stop } = context
  const { confine, exitOf, memoryMessage } = agent.confinement
  const exit = await runProcess(confine(spec, context), stop, agent)
  if (exit.outOfMemory === true) throw new Error(memoryMessage(spec.file))
  return exitOf(exit)
}

/**
 * Whether the engine needs little memory: the state is small, and no schemas are read. An init reads none, and without a lock
 * file there are none. False for an apply, since its child processes inherit the environment.
 */
function needsLittleMemory(context: EngineSite, [command]: string[]): boolean {
  const { stateBytes } = context.job
  if (command === 'apply' || stateBytes === undefined || stateBytes > SMALL_STATE) return false
  if (command === 'init') return true
  return !existsSync(lockFile(context))
}

/** Runs a command with its standard output redirected to a file. Throws `EngineFailed` with its error output. */
export async function runToFile(context: EngineSite, args: string[], stdoutFile: string) {
  const said: Buffer[] = []
  const onOutput = (lines: Buffer) => void said.push(lines)
  const code = await runEngine(context, args, { quiet: true, stdoutFile, onOutput })
  if (code !== 0)
    throw new EngineFailed(args.slice(0, 2).join(' '), code, Buffer.concat(said).toString().slice(0, 4_000))
}

const LOCK_FILE = '.terraform.lock.hcl'

export function lockFile({ workingDirectory }: Pick<EngineContext, 'workingDirectory'>): string {
  return join(workingDirectory, LOCK_FILE)
}

/** Names the providers that a directory's lock file pins. */
export async function lockFileDigest(context: Pick<EngineContext, 'workingDirectory' | 'directory'>): Promise<string> {
  const lock = await readConfined(lockFile(context), context.directory)
  return createHash('sha256')
    .update(lock ?? '')
    .digest('hex')
}
