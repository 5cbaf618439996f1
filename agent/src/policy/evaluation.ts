import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
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
import type { RawOutcome } from './outcome.ts'

/** Limits of one start of OPA, in bytes and ms. */
export type OpaLimits = { memory: number; output: number; timeMs: number }

export const OPA_LIMITS: OpaLimits = { memory: 1024 ** 3, output: 4 * 1024 * 1024, timeMs: 60_000 }

/** Maximum size of the input document, in bytes: the plan's JSON. */
const MAX_INPUT_BYTES = 256 * 1024 * 1024
const MAX_ERROR_BYTES = 64 * 1024

/** Functions with which a policy could reach the network or read the environment. */
const FORBIDDEN = new Set(['http.send', 'net.lookup_ip_addr', 'opa.runtime'])

type Set = PolicyRequest['sets'][number]
export type Evaluation = {
  opa: Opa
  agent: AgentContext
  directory: RunDirectory
  limits: OpaLimits
  signal: AbortSignal
}
type Ended = { code: number | null; output: string; errors: string; problem?: string }

const inputFile = ({ variables }: RunDirectory) => join(variables, 'input.json')
const capabilitiesFile = ({ variables }: RunDirectory) => join(variables, 'capabilities.json')

/** Stores the input document where OPA reads it. */
export async function storeInput(body: Readable, directory: RunDirectory) {
  const file = inputFile(directory)
  await pipeline(body, createWriteStream(file, { mode: 0o400 }))
  const { size } = await stat(file)
  if (size > MAX_INPUT_BYTES)
    throw new Error(`the plan has ${size} bytes, more than the ${MAX_INPUT_BYTES} for policies`)
  chownToRun(file, directory)
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

/** Evaluates a set whose archive `receive` brings. Rejects only if the signal aborts. */
export async function evaluateSet(set: Set, index: number, evaluation: Evaluation, receive: Receive) {
  const outcomes: RawOutcome[] = []
  try {
    const site = await prepareSet(set, index, evaluation, receive)
    for (const { name, query } of set.policies) outcomes.push({ name, ...(await evaluate(query, site, evaluation)) })
  } catch (error) {
    evaluation.signal.throwIfAborted()
    for (const { name } of set.policies.slice(outcomes.length)) outcomes.push({ name, message: messageOf(error) })
  }
  const secrets = set.sensitiveParameters.flatMap((key) => set.parameters[key] ?? [])
  return redacted(outcomes, secrets, evaluation)
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
  const { opa, directory, limits } = evaluation
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
      problem ??= `the policy returned more than ${limits.output} bytes`
      kill.abort(new Stopped('force-canceled', problem))
    }
  }
  const env = { PATH: '/usr/bin:/bin', HOME: site.directory.home, TMPDIR: site.directory.tmp }
  const spec = { file, args, env, onOutput }
  try {
    const wrapper = await offlineWrapper(agent, site)
    const confined = confinement.confine(spec, site, { wrapper })
    const limited = behind(['prlimit', `--data=${limits.memory}`, '--core=0'], confined)
    const stop = { interrupt: new AbortController().signal, kill: stopped, graceMs: () => 0 }
    const exit = confinement.exitOf(await runProcess(process.platform === 'linux' ? limited : confined, stop, agent))
    signal.throwIfAborted()
    const errors = Buffer.concat(streams.stderr).toString()
    if (problem === undefined && kill.signal.aborted)
      problem = `the policy was stopped after ${limits.timeMs / 1000} s, the time limit of a policy`
    if (exit.outOfMemory === true || /out of memory|cannot allocate memory/i.test(errors))
      problem ??= `the policy needs more memory than the ${limits.memory / 1024 ** 2} MiB of a policy`
    if (problem === undefined && exit.signal !== null) problem = `OPA was ended by the signal ${exit.signal}`
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
  const exit = await runProcess(spec, { interrupt: never, kill: AbortSignal.timeout(10_000), graceMs: () => 0 }, agent)
  return exit.code === 0 ? wrapper : []
}

async function redacted(outcomes: RawOutcome[], secrets: string[], { directory, signal }: Evaluation) {
  // A package has the bundled worker next to this file.
  const script = import.meta.url.endsWith('.ts') ? './outcome-worker.ts' : './outcome-worker.js'
  const workerData = { inputFile: inputFile(directory), secrets, outcomes }
  const worker = new Worker(new URL(script, import.meta.url), { workerData })
  const done = new Promise<ReportedPolicy[]>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the worker for the outcomes exited with code ${code}`)))
  })
  return untilAborted(done, signal).finally(() => void worker.terminate())
}
