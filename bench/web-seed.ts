import { AGENT_API, type AgentJob, agentJob, type ArtifactKind, registeredAgent } from '@groundstate/contract/agent'
import { planCounts } from '@groundstate/contract/plan-json'
import { redactedPlan } from '@groundstate/contract/redacted-plan'
import { configurationArchive, prepareWorkspace } from './runs.ts'
import { bodyOf, stateOf } from './state-bodies.ts'
import { api, type Target } from './target.ts'

const LOG_LINES = 20_000
const CHANGES = 5_000
const STATE_BYTES = 50 * 1024 * 1024

/** Paths of the measured pages. */
export type Seeded = {
  username: string
  password: string
  workspaces: string
  small: string
  large: string
  state: string
}

/**
 * Fills the target with data that is expensive to draw: a run with a log of 20,000 lines and a plan of 5,000 changes, a state of 50 MB,
 * and an ordinary run. The runs wait for approval, planned by the benchmark's agent through the real protocol.
 */
export async function seedWeb(target: Target): Promise<Seeded> {
  const person = await createPerson(target)
  const agent = await registerAgent(target)
  const small = await createRun(target, agent, { name: 'small', lines: 60, changes: 20 })
  const large = await createRun(target, agent, { name: 'large', lines: LOG_LINES, changes: CHANGES })
  const state = await createState(target)
  return { ...person, workspaces: 'app/main/workspaces', small, large, state }
}

/** An owner of the organization. */
async function createPerson(target: Target) {
  const person = { username: 'reader', email: 'reader@example.com', password: 'a bench password, long enough' }
  await api(target, 'POST', '/admin/users', { data: { type: 'users', attributes: person } })
  const { data: teams } = (await api(target, 'GET', '/organizations/main/teams')) as unknown as { data: Team[] }
  const owners = teams.filter(({ attributes }) => attributes.name === 'owners')
  await api(target, 'POST', '/organizations/main/organization-memberships', {
    data: {
      type: 'organization-memberships',
      attributes: { email: person.email },
      relationships: { teams: { data: owners.map(({ id }) => ({ type: 'teams', id })) } },
    },
  })
  return person
}

type Team = { id: string; attributes: { name: string } }
type Agent = { poolId: string; token: string; agentId: string }

async function registerAgent(target: Target): Promise<Agent> {
  const pool = await api(target, 'POST', '/organizations/main/agent-pools', {
    data: { type: 'agent-pools', attributes: { name: 'bench' } },
  })
  const { data } = await api(target, 'POST', `/agent-pools/${pool.data.id}/authentication-tokens`, {
    data: { type: 'authentication-tokens', attributes: { description: 'bench' } },
  })
  const { token } = data.attributes
  const access = { name: 'bench', version: '1.0.0', os: 'linux', arch: 'x64', downloadsEngines: true }
  const response = await send(target, { method: 'POST', path: '/register', token, body: JSON.stringify(access) })
  return { poolId: pool.data.id, token, agentId: registeredAgent.parse(await response.json()).agentId }
}

type Size = { name: string; lines: number; changes: number }

async function createRun(target: Target, agent: Agent, { name, lines, changes }: Size) {
  const workspace = await prepareWorkspace(target, name, configurationArchive())
  await api(target, 'PATCH', `/workspaces/${workspace.id}`, {
    data: {
      type: 'workspaces',
      attributes: { 'auto-apply': false, 'execution-mode': 'agent', 'agent-pool-id': agent.poolId },
    },
  })
  const { data } = await api(target, 'POST', '/runs', {
    data: { type: 'runs', relationships: { workspace: { data: { type: 'workspaces', id: workspace.id } } } },
  })
  await plan(target, await claim(target, agent), { plan: planOf(changes), log: logOf(lines) })
  return `app/main/workspaces/${name}/runs/${data.id}`
}

async function claim(target: Target, { agentId, token }: Agent): Promise<AgentJob> {
  const path = `/agents/${agentId}/claim`
  const response = await send(target, { method: 'POST', path, token, body: JSON.stringify({ waitMs: 10_000 }) })
  if (response.status !== 200) throw new Error(`a claim failed with status ${response.status}: there is no job`)
  return agentJob.parse(await response.json())
}

async function plan(target: Target, { id, token }: AgentJob, result: { plan: object; log: string }) {
  const put = async (path: string, body: string) =>
    send(target, { method: 'PUT', path: `/jobs/${id}/${path}`, token, body })
  const artifact = async (kind: ArtifactKind, content: unknown) => put(`artifacts/${kind}`, JSON.stringify(content))
  await put('log?offset=0', result.log)
  await artifact('plan-file', 'a plan file')
  await artifact('plan-json', result.plan)
  await artifact('plan-json-redacted', redactedPlan(result.plan, {}))
  const finished = { status: 'finished', exitCode: 2, hasChanges: true, counts: planCounts(result.plan) }
  await send(target, { method: 'POST', path: `/jobs/${id}/finish`, token, body: JSON.stringify(finished) })
}

type AgentCall = { method: string; path: string; token: string; body: string }

async function send(target: Target, { method, path, token, body }: AgentCall) {
  const type = method === 'PUT' ? 'application/octet-stream' : 'application/json'
  const headers = { authorization: `Bearer ${token}`, 'content-type': type }
  const response = await fetch(`${target.baseUrl}${AGENT_API}${path}`, { method, headers, body })
  if (!response.ok) throw new Error(`${method} ${path} failed with status ${response.status}: ${await response.text()}`)
  return response
}

/** The coloured log of a plan with a line for each of many resources. */
function logOf(lines: number) {
  const line = (index: number) =>
    `\u001B[0m\u001B[1mmodule.site[${index % 50}].terraform_data.item[${index}]: Refreshing state... [id=${index}]\u001B[0m`
  return `${Array.from({ length: lines }, (_, index) => line(index)).join('\n')}\n`
}

const ACTIONS = [['create'], ['update'], ['delete'], ['delete', 'create']]

/** A plan with changes of all kinds, in modules. */
function planOf(changes: number) {
  const values = (index: number, text: string) => ({
    id: `id-${index}`,
    input: `${text} ${index}`,
    triggers_replace: null,
  })
  const change = (index: number) => {
    const actions = ACTIONS[index % ACTIONS.length] ?? []
    return {
      actions,
      before: actions[0] === 'create' ? null : values(index, 'before'),
      after: actions.at(-1) === 'delete' ? null : values(index, 'after'),
      after_unknown: actions.includes('create') ? { output: true } : {},
      before_sensitive: false,
      after_sensitive: {},
    }
  }
  return {
    format_version: '1.2',
    terraform_version: '1.11.4',
    applyable: true,
    complete: true,
    errored: false,
    resource_changes: Array.from({ length: changes }, (_, index) => ({
      address: `module.site[${index % 50}].terraform_data.item[${index}]`,
      module_address: `module.site[${index % 50}]`,
      mode: 'managed',
      type: 'terraform_data',
      name: 'item',
      index,
      provider_name: 'terraform.io/builtin/terraform',
      change: change(index),
    })),
    output_changes: {},
    configuration: {},
  }
}

async function createState(target: Target) {
  const name = 'stored'
  const workspace = await prepareWorkspace(target, name, configurationArchive())
  await api(target, 'POST', `/workspaces/${workspace.id}/actions/lock`)
  const raw = stateOf(1, STATE_BYTES)
  const { pending } = bodyOf(raw, 1, { isInline: false })
  const { data } = await api(
    target,
    'POST',
    `/workspaces/${workspace.id}/state-versions`,
    JSON.parse(pending.toString()),
  )
  const upload = await fetch(data.attributes['hosted-state-upload-url'], { method: 'PUT', body: new Uint8Array(raw) })
  if (!upload.ok) throw new Error(`the upload of a state answered ${upload.status}`)
  await api(target, 'POST', `/workspaces/${workspace.id}/actions/unlock`)
  return `app/main/workspaces/${name}/states?version=${data.id}`
}
