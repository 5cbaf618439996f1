import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SMALL_HEAP } from '../engine/environment.ts'
import { readConfined } from '../process/confined-file.ts'
import type { Exit } from '../process/launcher-process.ts'
import { type ProcessSpec, runProcess } from '../process/process.ts'
import { traced } from '../tracing/tracing.ts'
import type { AgentContext, EngineContext, EngineSite } from './context.ts'

/** States up to this size, in bytes, hardly increase the engine's memory. */
const SMALL_STATE = 1024 * 1024

/** A failed engine command. Its output is in the log, or in `output`. */
export class EngineFailed extends Error {
  override name = 'EngineFailed'
  exitCode: number | null

  constructor(command: string, exitCode: number | null, output = '') {
    const end = exitCode === null ? 'was killed' : `ended with exit code ${exitCode}`
    super(`${command} ${end}${output === '' ? '' : `: ${output}`}`)
    this.exitCode = exitCode
  }
}

type EngineRun = Pick<ProcessSpec, 'onOutput' | 'stdoutFile' | 'orphan'> & {
  /** Leaves out variables that affect the output, for commands whose output is parsed. */
  quiet?: boolean
}

/** Runs the engine; returns its exit code, or null if the agent killed it. Throws if another process killed it. */
export async function runEngine(context: EngineSite, args: string[], { quiet = false, ...output }: EngineRun) {
  const { engine, environment, stop } = context
  const variables = quiet ? environment.quiet : environment.run
  const env = needsLittleMemory(context, args) ? { ...SMALL_HEAP, ...variables } : variables
  const attributes = { 'groundstate.engine': engine.product, 'groundstate.engine.version': engine.version }
  const { code, signal } = await traced(`${engine.product} ${args[0]}`, { attributes }, async (span) => {
    const exit = await runConfined(context, { file: engine.path, args, env, ...output })
    span?.set({ 'process.exit.code': exit.code ?? undefined })
    return exit
  })
  if (signal !== null && !stop.interrupt.aborted && !stop.kill.aborted) {
    const hint = signal === 'SIGKILL' ? ' (out of memory?)' : ''
    throw new Error(`${engine.product} ${args[0]} was ended by the signal ${signal}${hint}`)
  }
  return code
}

/** Runs a program as the run's user, with the limits and sandbox of the agent. Throws if it exceeded its memory limit. */
async function runConfined(context: EngineSite, spec: Omit<ProcessSpec, 'cwd'>): Promise<Exit> {
  const { agent, stop } = context
  const { confine, exitOf, memoryMessage } = agent.confinement
  const exit = await runProcess(confine(spec, context), stop, agent)
  if (exit.outOfMemory === true) throw new Error(memoryMessage(spec.file))
  return exitOf(exit)
}

/** Whether the state is small and no schemas are read: by init, or without a lock file. False for an apply, whose children inherit this. */
function needsLittleMemory(context: EngineSite, [command]: string[]): boolean {
  const { stateBytes } = context.job
  if (command === 'apply' || stateBytes === undefined || stateBytes > SMALL_STATE) return false
  return command === 'init' || !existsSync(lockFile(context))
}

/** Runs a command with its standard output redirected to a file. Throws `EngineFailed` with its error output. */
export async function runToFile(context: EngineSite, args: string[], stdoutFile: string) {
  const output: Buffer[] = []
  const onOutput = (lines: Buffer) => void output.push(lines)
  const code = await runEngine(context, args, { quiet: true, stdoutFile, onOutput })
  if (code !== 0)
    throw new EngineFailed(args.slice(0, 2).join(' '), code, Buffer.concat(output).toString().slice(0, 4_000))
}

export function lockFile({ workingDirectory }: Pick<EngineContext, 'workingDirectory'>): string {
  return join(workingDirectory, '.terraform.lock.hcl')
}

export async function lockFileDigest(context: Pick<EngineContext, 'workingDirectory' | 'directory'>): Promise<string> {
  const lock = await readConfined(lockFile(context), context.directory)
  return createHash('sha256')
    .update(lock ?? '')
    .digest('hex')
}

type HookName = 'pre-plan' | 'post-plan' | 'pre-apply' | 'post-apply'

/** A hook of the agent's operator that failed or could not be run. */
export class HookFailed extends Error {
  override name = 'HookFailed'
}

export async function hasHook({ hooks }: Pick<AgentContext, 'hooks'>, name: HookName): Promise<boolean> {
  return hooks !== undefined && (await stat(join(hooks, name)).catch(() => undefined)) !== undefined
}

/** Runs a program of the hooks directory, if it exists, like the engine, and logs its output. Throws `HookFailed` if it fails. */
export async function runHook(context: EngineContext, name: HookName): Promise<void> {
  const { agent, job, log, environment, workingDirectory } = context
  if (agent.hooks === undefined || !(await hasHook(agent, name))) return
  if (job.withholdsSecrets) return log.write(`The hook ${name} is left out: the configuration comes from a fork.\n`)
  const file = join(agent.hooks, name)
  await access(file, constants.X_OK).catch(() => {
    throw new HookFailed(`the hook ${name} is not executable: ${file}`)
  })
  const env = {
    ...environment.run,
    GROUNDSTATE_HOOK: name,
    GROUNDSTATE_RUN_ID: job.runId,
    GROUNDSTATE_ORGANIZATION: job.organizationName,
    GROUNDSTATE_WORKSPACE: job.workspaceName,
    GROUNDSTATE_WORKING_DIRECTORY: workingDirectory,
  }
  const onOutput = (lines: Buffer) => log.write(lines)
  const { code, signal } = await runConfined(context, { file, args: [], env, onOutput })
  if (code === 0) return
  throw new HookFailed(`the hook ${name} ended with ${code === null ? `the signal ${signal}` : `exit code ${code}`}`)
}
