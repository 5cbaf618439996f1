import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { policyTrialRunSchema, policyTrialSchema } from '@groundstate/contract/policy-trials'
import type { Written } from '@groundstate/contract/responses'
import { create } from 'tar'
import { z } from 'zod'
import { MAX_ARCHIVE_BYTES } from '../blobs/archive.ts'
import { messageOf } from '../error-code.ts'
import { StartError } from '../start-error.ts'
import { trialReport } from './policy-report.ts'
import { publicApi } from './public-api.ts'

export type PolicyTestFlags = {
  url: string
  token?: string
  run?: string[]
  policySet?: string
  policiesPath?: string
  json?: true
}

type Trial = Written<typeof policyTrialSchema>
type Api = ReturnType<typeof publicApi>

const FAILED = 2
const INTERRUPTED = 130

/** Evaluates the policies of a directory against past runs. Returns 0 if no run would be stopped, 1 if one would, 2 for an error. */
export async function policyTestCommand(directory: string, flags: PolicyTestFlags): Promise<number> {
  const abort = new AbortController()
  const onSignal = () => abort.abort()
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    return await testPolicies(resolve(directory), flags, abort.signal)
  } catch (error) {
    if (abort.signal.aborted) return INTERRUPTED
    process.stderr.write(`groundstate: ${messageOf(error)}\n`)
    return FAILED
  } finally {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}

async function testPolicies(directory: string, flags: PolicyTestFlags, signal: AbortSignal) {
  const { url, token } = flags
  if (token === undefined || token === '')
    throw new StartError(`there is no API token for ${url}: set GROUNDSTATE_TOKEN or --token`)
  const api = publicApi({ url, token, signal })
  const { organization, policiesPath } = await subjectOf(api, flags)
  await checkDirectory(directory, policiesPath)
  const archive = await pack(directory, signal)
  const created = await api.one(
    policyTrialSchema,
    'POST',
    `/organizations/${encodeURIComponent(organization)}/policy-trials`,
    trialBody(flags, policiesPath),
  )
  let trial: Trial
  try {
    // An invalid archive is rejected with the reason.
    await api.upload(created.links.upload ?? '', archive)
    trial = await finished(api, created.id, signal)
  } catch (error) {
    if (signal.aborted) await cancel(publicApi({ url, token }), created.id)
    throw error
  }
  if (trial.attributes.status !== 'finished')
    throw new Error(trial.attributes['error-message'] ?? `the evaluation is ${trial.attributes.status}`)
  const runs = await api.all(policyTrialRunSchema, `/policy-trials/${trial.id}/runs`)
  process.stdout.write(flags.json ? `${JSON.stringify({ trial, runs }, null, 2)}\n` : trialReport(trial, runs))
  const { errored, stopped, total } = trial.attributes['run-counts']
  if (total === 0) throw new Error('no run was evaluated: name runs with --run')
  return errored > 0 ? FAILED : stopped > 0 ? 1 : 0
}

const ofOrganization = z.object({ organization: z.object({ data: z.object({ id: z.string() }) }) })
const policySet = z.object({
  attributes: z.object({ 'policies-path': z.string().nullable() }),
  relationships: ofOrganization,
})
const run = z.object({ relationships: z.object({ workspace: z.object({ data: z.object({ id: z.string() }) }) }) })
const workspace = z.object({ relationships: ofOrganization })

/** The organization of the set or the runs, and the directory of the policies, by default that of the set. */
async function subjectOf(api: Api, { run: runs = [], policySet: setId, policiesPath }: PolicyTestFlags) {
  if (setId !== undefined) {
    const { attributes, relationships } = await api.one(policySet, 'GET', `/policy-sets/${encodeURIComponent(setId)}`)
    const path = policiesPath ?? attributes['policies-path'] ?? ''
    return { organization: relationships.organization.data.id, policiesPath: path }
  }
  const [first] = runs
  if (first === undefined)
    throw new StartError(
      'name runs with --run, or a policy set with --policy-set, whose runs of the last 30 days are evaluated',
    )
  const { relationships } = await api.one(run, 'GET', `/runs/${encodeURIComponent(first)}`)
  const of = await api.one(workspace, 'GET', `/workspaces/${relationships.workspace.data.id}`)
  return { organization: of.relationships.organization.data.id, policiesPath: policiesPath ?? '' }
}

function trialBody({ run: runs = [], policySet: setId }: PolicyTestFlags, policiesPath: string) {
  return {
    data: {
      type: 'policy-trials',
      attributes: { 'policies-path': policiesPath },
      relationships: {
        ...(runs.length > 0 && { runs: { data: runs.map((id) => ({ type: 'runs', id })) } }),
        ...(setId !== undefined && { 'policy-set': { data: { type: 'policy-sets', id: setId } } }),
      },
    },
  }
}

async function checkDirectory(directory: string, policiesPath: string) {
  const isDirectory = (await stat(directory).catch(() => undefined))?.isDirectory() === true
  if (!isDirectory) throw new StartError(`${directory} is not a directory with policies.hcl and .rego files`)
  const file = join(directory, policiesPath, 'policies.hcl')
  await readFile(file).catch((error: unknown) => {
    throw new StartError(
      `${file} can't be read: it must define the policies, such as policy "tags" { query = "data.terraform.policies.tags.deny" } (${messageOf(error)})`,
      { cause: error },
    )
  })
}

/** Directories that are no part of the policies. */
const LEFT_OUT = /(?:^|\/)(?:\.git|\.terraform)(?:\/|$)/

async function pack(cwd: string, signal: AbortSignal) {
  const archive = create({ cwd, gzip: true, portable: true, filter: (path) => !LEFT_OUT.test(path) }, ['.'])
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of archive) {
    signal.throwIfAborted()
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_ARCHIVE_BYTES)
      throw new StartError(
        `${cwd} has more than ${MAX_ARCHIVE_BYTES} bytes when packed: name the directory of the policies`,
      )
  }
  return Buffer.concat(chunks)
}

const POLL_MS = 1000

async function cancel(api: Api, id: string) {
  await api.request('POST', `/policy-trials/${id}/actions/cancel`)
  process.stderr.write('groundstate: interrupted; the evaluation is canceled\n')
}

/** The trial when it has ended. Rejects if the signal aborts. */
async function finished(api: Api, id: string, signal: AbortSignal): Promise<Trial> {
  let shown = ''
  for (;;) {
    const trial = await api.one(policyTrialSchema, 'GET', `/policy-trials/${id}`)
    const { status, 'run-counts': counts } = trial.attributes
    const progress = `evaluated ${counts.evaluated} of ${counts.total} runs\n`
    if (progress !== shown) process.stderr.write(progress)
    shown = progress
    if (status !== 'pending' && status !== 'running') return trial
    await pause(POLL_MS, undefined, { signal })
  }
}
