import { execFile, fork } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { entryProblem, newSeenEntries } from '@groundstate/contract/archive-entry'
import type { PolicyRequest, ReportedPolicy } from '@groundstate/contract/policy-requests'
import { behind } from '../isolation/confinement.ts'
import { type RunDirectory, type RunSite, chownToRun } from '../isolation/run-directory.ts'
import { messageOf } from '../process/errors.ts'
import { Stopped, runProcess, untilAborted } from '../process/process.ts'
import type { AgentContext } from '../run/context.ts'
import { unpackArchive } from '../run/unpack.ts'
import { parseJson } from '../server/connection.ts'
import type { Opa } from './opa.ts'
import type { RawOutcome, SetOutcomes } from './outcome.ts'

const MEBIBYTE = 1024 ** 2

/** Limits of the input document and of one start of OPA, in bytes and ms. The memory is that for policies, in addition to that for the input. */
export type OpaLimits = { input: number; memory: number; output: number; timeMs: number }

export const OPA_LIMITS: OpaLimits = {
  input: 256 * MEBIBYTE,
  memory: 1024 * MEBIBYTE,
  output: 4 * MEBIBYTE,
  timeMs: 60_000,
}

/** OPA needs about 15 bytes of memory for each byte of the input. */
const MEMORY_PER_INPUT = 16
const MAX_ERROR_BYTES = 64 * 1024

/** Functions with which a policy could reach the network or read the environment. */
const FORBIDDEN = new Set(['http.send', 'net.lookup_ip_addr', 'opa.runtime'])

type Set = PolicyRequest['sets'][number]
export type Evaluation = {
  opa: Opa
  agent: AgentContext
  directory: RunDirectory
  /** The size of the input document, in bytes. */
  inputSize: number
  limits: OpaLimits
  signal: AbortSignal
}
type Ended = { code: number | null; output: string; errors: string; problem?: string }

const inputFile = ({ variables }: RunDirectory) => join(variables, 'input.json')
const capabilitiesFile = ({ variables }: RunDirectory) => join(variables, 'capabilities.json')

/** Stores the input document where OPA reads it, and returns its size in bytes. Throws as soon as it exceeds the limit. */
export async function storeInput(body: Readable, directory: RunDirectory, { input: limit }: OpaLimits) {
  const file = inputFile(directory)
  let size = 0
  const bounded = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      size += chunk.length
      if (size > limit)
        throw new Error(`the JSON of the plan is larger than the ${inMebibytes(limit)} that policies can evaluate`)
      yield chunk
    }
  }
  await pipeline(body, bounded, createWriteStream(file, { mode: 0o400 }))
  chownToRun(file, directory)
  return size
}

function inMebibytes(bytes: number) {
  return `${Number((bytes / MEBIBYTE).toPrecision(4))} MiB`
}

/** Restricts what policies may call. The list comes from OPA itself, as each version has other functions. */
export async function storeCapabilities({ opa, directory, signal }: Evaluation) {
  const options = { env: { HOME: '/' }, maxBuffer: 16 * 1024 * 1024, timeout: 60_000, signal }
  const { stdout } = await promisify(execFile)(opa.path, ['capabilities', '--current'], options)
  const capabilities = parseJson(stdout) as { builtins?: { name: string }[] } | undefined // as OPA documents it
  if (!Array.isArray(capabilities?.builtins)) throw new Error(`OPA ${opa.version} does not list its capabilities`)
  const builtins = capabilities.builtins.filter(({ name }) => !FORBIDDEN.has(name))
  const file = capabilitiesFile(directory)
  await writeFile(file, JSON.stringify({ ...capabilities, builtins, allow_net: [] }), { mode: 0o400 })
  chownToRun(file, directory)
}

/** Evaluates a set whose archive `receive` brings. Rejects only if the signal aborts. The outcomes may contain sensitive values. */
export async function evaluateSet(
  set: Set,
  index: number,
  evaluation: Evaluation,
  receive: Receive,
): Promise<SetOutcomes> {
  const outcomes: RawOutcome[] = []
  try {
    const site = await prepareSet(set, index, evaluation, receive)
    for (const { name, query } of set.policies) outcomes.push({ name, ...(await evaluate(query, site, evaluation)) })
  } catch (error) {
    evaluation.signal.throwIfAborted()
    for (const { name } of set.policies.slice(outcomes.length)) outcomes.push({ name, message: messageOf(error) })
  }
  const secrets = set.sensitiveParameters.flatMap((key) => set.parameters[key] ?? [])
  return { id: set.id, secrets, outcomes }
}

export type Receive = (path: string, consume: (body: Readable) => Promise<unknown>) => Promise<unknown>
type SetSite = RunSite & { parametersFile: string }

async function prepareSet(set: Set, index: number, { directory }: Evaluation, receive: Receive): Promise<SetSite> {
  const root = join(directory.configuration, `set-${index}`)
  const problem = entryProblem({ path: set.policiesPath, type: 'Directory' }, newSeenEntries())
  if (set.policiesPath !== '' && problem !== undefined)
    throw new Error(`the policies' path ${JSON.stringify(set.policiesPath)} ${problem}`)
  await receive(`sets/${set.id}/archive`, async (body) => {
    await mkdir(root, { recursive: true, mode: 0o700 })
    chownToRun(root, directory)
    await unpackArchive(body, { configuration: root, user: directory.user })
  })
  const data = join(root, set.policiesPath)
  if ((await stat(data).catch(() => undefined))?.isDirectory() !== true)
    throw new Error(`the set has no directory ${JSON.stringify(set.policiesPath)}`)
  const parametersFile = join(directory.variables, `parameters-${index}.json`)
  await writeFile(parametersFile, JSON.stringify({ parameters: set.parameters }), { mode: 0o400 })
  chownToRun(parametersFile, directory)
  return { directory, workingDirectory: data, parametersFile }
}

/** Each policy gets a start of OPA: an error in one must not be that of another. */
async function evaluate(query: string, site: SetSite, evaluation: Evaluation) {
  const first = await runOpa(query, site, evaluation, [])
  // Policies for OPA before 1.0, whose rules need no `if` and `contains`.
  const isOlder = first.output.includes('"rego_parse_error"')
  const second = isOlder ? await runOpa(query, site, evaluation, ['--v0-compatible']) : first
  const ended = second.output.includes('"rego_parse_error"') ? first : second
  if (ended.problem !== undefined) return { message: ended.problem }
  if (ended.output.trim() !== '') return { output: ended.output }
  const reason = ended.errors.trim()
  return { message: `OPA ended with exit code ${ended.code}${reason === '' ? '' : `: ${reason}`}` }
}

async function runOpa(query: string, site: SetSite, evaluation: Evaluation, flags: string[]): Promise<Ended> {
  const { opa, directory, inputSize } = evaluation
  const limits = { ...evaluation.limits, memory: evaluation.limits.memory + MEMORY_PER_INPUT * inputSize }
  const policies = ['--capabilities', capabilitiesFile(directory), '--data', '.', '--data', site.parametersFile]
  const args = ['eval', '--format=json', ...flags, ...policies, '--input', inputFile(directory), '--', query]
  return runOffline(opa.path, args, site, evaluation, limits)
}

/** Runs a program as the run's user without a network, within the limits. */
async function runOffline(
  file: string,
  args: string[],
  site: RunSite,
  { agent, signal }: Pick<Evaluation, 'agent' | 'signal'>,
  limits: OpaLimits,
): Promise<Ended> {
  const { confinement } = agent
  const kill = new AbortController()
  const timer = setTimeout(() => kill.abort(new Stopped('time-limit', 'too slow')), limits.timeMs)
  const stopped = AbortSignal.any([kill.signal, signal])
  const streams = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  const sizes = { stdout: 0, stderr: 0 }
  let problem: string | undefined
  const onOutput = (bytes: Buffer, stream: 'stdout' | 'stderr') => {
    sizes[stream] += bytes.length
    if (sizes[stream] <= (stream === 'stdout' ? limits.output : MAX_ERROR_BYTES)) streams[stream].push(bytes)
    else if (stream === 'stdout') {
      problem ??= `the policy returned more than the ${inMebibytes(limits.output)} of a policy`
      kill.abort(new Stopped('force-canceled', problem))
    }
  }
  const env = { PATH: '/usr/bin:/bin', HOME: site.directory.home, TMPDIR: site.directory.tmp }
  const spec = { file, args, env, onOutput }
  try {
    const wrapper = await offlineWrapper(agent, site)
    const confined = confinement.confine(spec, site, { wrapper })
    const script = `ulimit -c 0; ulimit -d ${Math.ceil(limits.memory / 1024)}; exec "$@"`
    const limited = behind(['/bin/sh', '-c', script, 'sh'], confined)
    const stop = { interrupt: new AbortController().signal, kill: stopped, graceMs: () => 0 }
    const exit = confinement.exitOf(await runProcess(process.platform === 'linux' ? limited : confined, stop, agent))
    signal.throwIfAborted()
    const errors = Buffer.concat(streams.stderr).toString()
    if (problem === undefined && kill.signal.aborted)
      problem = `the policy was stopped after ${limits.timeMs / 1000} s, the time limit of a policy`
    if (exit.outOfMemory === true || /out of memory|cannot allocate memory/i.test(errors))
      problem ??= `the policy needs more memory than the ${inMebibytes(limits.memory)} of a policy with this plan`
    if (exit.signal !== null)
      problem ??= `OPA was ended by the signal ${exit.signal}${exit.signal === 'SIGKILL' ? ', perhaps for lack of memory' : ''}`
    return { code: exit.code, output: Buffer.concat(streams.stdout).toString(), errors, ...(problem && { problem }) }
  } finally {
    clearTimeout(timer)
  }
}

/** By agent: whether the users of runs may create network namespaces is a property of the machine. */
const wrappers = new WeakMap<AgentContext, Promise<readonly string[]>>()

/** The command that starts another one without a network, where the machine permits it. The capabilities exclude it everywhere. */
async function offlineWrapper(agent: AgentContext, site: RunSite): Promise<readonly string[]> {
  if (agent.confinement.hasSandbox) return []
  const former = wrappers.get(agent)
  if (former !== undefined) return former
  const wrapper = probe(agent, site)
  wrappers.set(agent, wrapper)
  return wrapper
}

async function probe(agent: AgentContext, site: RunSite): Promise<readonly string[]> {
  const wrapper = ['unshare', '--user', '--map-current-user', '--net']
  const env = { PATH: '/usr/bin:/bin' }
  const spec = agent.confinement.confine({ file: 'true', args: [], env, onOutput: () => {} }, site, { wrapper })
  const never = new AbortController().signal
  const stop = { interrupt: never, kill: AbortSignal.timeout(10_000), graceMs: () => 0 }
  // The machine may lack the program.
  const exit = await runProcess(spec, stop, agent).catch(() => undefined)
  return exit?.code === 0 ? wrapper : []
}

/** Removes sensitive values from outcomes, in a process that ends with the evaluation. */
export async function redactedSets(sets: readonly SetOutcomes[], { directory, signal }: Evaluation) {
  // A package has the bundled program next to this file.
  const script = import.meta.url.endsWith('.ts') ? './outcome-process.ts' : './outcome-process.js'
  const child = fork(new URL(script, import.meta.url), { env: {}, execArgv: [], serialization: 'advanced' })
  const done = new Promise<{ id: string; policies: ReportedPolicy[] }[]>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { id: string; policies: ReportedPolicy[] }[]))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the process for the outcomes exited with code ${code}`)))
  })
  child.send({ inputFile: inputFile(directory), sets })
  return untilAborted(done, signal).finally(() => child.kill('SIGKILL'))
}
