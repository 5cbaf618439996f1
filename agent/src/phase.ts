import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentJob, ArtifactKind } from '@groundstate/contract/agent'
import type { JobClient } from './client.ts'
import type { Engine } from './engine.ts'
import { SMALL_HEAP, type EngineEnvironment } from './environment.ts'
import type { InitGate } from './init-gate.ts'
import type { LogStream } from './log-stream.ts'
import type { Launcher } from './launcher.ts'
import { runProcess, type ProcessSpec, type StopSignals } from './process.ts'
import type { RunFolder, RunFolders } from './run-folder.ts'
import type { Watchdog } from './watchdog.ts'

/** A file below this is read into memory for its upload, which is quicker; a larger one is streamed, in bytes. */
const SMALL_FILE = 1024 * 1024

/** What all jobs of an agent share. */
export type Workshop = {
  /** Base of the public API, as the engine is to call it. */
  apiUrl: string
  folders: RunFolders
  initGate: InitGate
  launcher: Launcher
  watchdog: Watchdog
  pluginCache: string
  schemaCache: string
  /** A PEM file of the authorities that engines trust, when those of the system are not enough. */
  certificates: string | undefined
}

/** A job under way. */
export type Phase = {
  workshop: Workshop
  job: AgentJob
  client: JobClient
  log: LogStream
  engine: Engine
  stop: StopSignals
  /** Aborts when the server no longer takes anything of this job. */
  alive: AbortSignal
}

/** A phase whose folder is there. */
export type Workplace = Phase & { folder: RunFolder; workingFolder: string; environment: EngineEnvironment }

/** An engine command that did not succeed; the log holds what it said, unless `output` does. */
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

type EngineRun = Pick<ProcessSpec, 'onOutput' | 'stdoutFile'> & {
  /** Without what would change the output: for commands whose output is parsed. */
  quiet?: boolean
}

/**
 * Runs the engine in the working folder and answers its exit code, null when it was killed as it was told to stop. Throws when
 * a signal ends it that is not ours.
 */
export async function runEngine(
  workplace: Workplace,
  args: string[],
  { quiet, ...output }: EngineRun,
): Promise<number | null> {
  const { engine, workingFolder, environment, stop, workshop } = workplace
  const given = quiet === true ? environment.quiet : environment.run
  const env = (await needsLittleMemory(workplace, args)) ? { ...SMALL_HEAP, ...given } : given
  const spec = { file: engine.path, args, cwd: workingFolder, env, ...output }
  const { code, signal } = await runProcess(spec, stop, workshop)
  if (signal !== null && !stop.interrupt.aborted && !stop.kill.aborted) {
    const hint = signal === 'SIGKILL' ? ' (out of memory?)' : ''
    throw new Error(`${engine.product} ${args[0]} was ended by the signal ${signal}${hint}`)
  }
  return code
}

/** Without providers of its own an engine has no schemas to hold. What an apply starts is not ours to tune. */
async function needsLittleMemory(workplace: Workplace, [command]: string[]): Promise<boolean> {
  if (command === 'init') return true
  if (command === 'apply') return false
  return (await stat(lockFile(workplace)).catch(() => undefined)) === undefined
}

/** Runs a command whose standard output goes to a file. Throws `EngineFailed` with what it said. */
export async function runToFile(workplace: Workplace, args: string[], stdoutFile: string) {
  const said: Buffer[] = []
  const onOutput = (lines: Buffer) => void said.push(lines)
  const code = await runEngine(workplace, args, { quiet: true, stdoutFile, onOutput })
  if (code !== 0)
    throw new EngineFailed(args.slice(0, 2).join(' '), code, Buffer.concat(said).toString().slice(0, 4_000))
}

/** Uploads a file, if it is there; answers whether it was. */
export async function uploadFile(phase: Phase, kind: ArtifactKind, path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => undefined)
  if (facts === undefined) return false
  const body = facts.size < SMALL_FILE ? await readFile(path) : { file: path, size: facts.size }
  await phase.client.putArtifact(kind, body, phase.alive)
  return true
}

const LOCK_FILE = '.terraform.lock.hcl'

export function lockFile({ workingFolder }: Pick<Workplace, 'workingFolder'>): string {
  return join(workingFolder, LOCK_FILE)
}

/** Names the providers that a folder's lock file pins. */
export async function lockFileDigest(workingFolder: string): Promise<string> {
  const lock = await readFile(lockFile({ workingFolder })).catch(() => Buffer.alloc(0))
  return createHash('sha256').update(lock).digest('hex')
}
