import { Pool } from 'undici'
import { durations, percentile, sampledRow } from './load.ts'
import { type Million, seedMillion } from './million-seed.ts'
import type { BenchRow, Target } from './target.ts'

const BUDGET_MS = 10
const TIMES = Number(process.env['BENCH_TIMES'] ?? 30)

/** Lists and searches among a million runs, 20,000 workspaces and a million audit events, in sequence through HTTP. */
export async function millionBenches(target: Target): Promise<BenchRow[]> {
  return askMillion(target, await seedMillion(target))
}

/** The queries alone, on a filled database. */
export async function askMillion(target: Target, million: Million): Promise<BenchRow[]> {
  const pool = new Pool(target.baseUrl, { connections: 1 })
  await using _ = { [Symbol.asyncDispose]: () => pool.close() }
  const rows: BenchRow[] = []
  for (const [name, path, token = target.token] of questions(million)) {
    const times = await durations(target, TIMES, async () => ask(pool, path, token))
    // The first calls prepare statements and fill caches.
    const warm = times.slice(TIMES / 5)
    rows.push(sampledRow({ name, unit: 'ms', better: 'less', budget: BUDGET_MS }, warm))
    rows.push({ name: `${name}: p95`, value: percentile(warm, 0.95), unit: 'ms', better: 'less' })
  }
  return rows
}

async function ask(pool: Pool, path: string, token: string) {
  const { statusCode, body } = await pool.request({
    method: 'GET',
    path: `/api/v2${path.replaceAll('[', '%5B').replaceAll(']', '%5D').replaceAll(' ', '%20')}`,
    headers: { authorization: `Bearer ${token}` },
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${path} failed with status ${statusCode}: ${text}`)
}

type Question = [name: string, path: string, token?: string]

/** Queries as in the web UI, where it has them. */
function questions(million: Million): Question[] {
  return [...runQuestions(million), ...workspaceQuestions(million), ...otherQuestions(million)]
}

const WITH_INCLUDES = 'page[size]=30&include=plan,created_by,workspace'
const LATER = new Date(Date.now() - 86_400_000).toISOString()

/** Requests for an organization, and for its workspace with a fifth of all runs. */
const RUN_QUERIES: readonly (readonly [name: string, query: string])[] = [
  ['all', ''],
  ['page 50', 'page[number]=50'],
  ['a common status', 'filter[status]=applied'],
  ['a rare status', 'filter[status]=canceled'],
  ['a status that none has', 'filter[status]=planned'],
  ['a common group', 'filter[status_group]=finished'],
  ['a rare group', 'filter[status_group]=needs_approval'],
  ['unfinished, of a pool', 'filter[status_group]=non_final&filter[agent_pool_names]=built-in'],
  ['a common operation', 'filter[operation]=plan_and_apply'],
  ['a rare operation', 'filter[operation]=save_plan'],
  ['a source', 'filter[source]=tfe-ui'],
  ['a common user', 'search[user]=vast-1'],
  ['a rare user', 'search[user]=vast-40'],
  ['failed lately', `filter[status]=errored&filter[since]=${LATER}`],
  ['failed destroys', 'filter[operation]=destroy&filter[status]=errored'],
  [
    'failed destroys from the command line',
    'filter[operation]=destroy&filter[source]=terraform%2Bcloud&filter[status]=errored',
  ],
  ['failures of a user who has none', 'search[user]=vast-2&filter[status]=discarded'],
  ['failed applies of a rare user', 'search[user]=vast-40&filter[status_group]=errored'],
  ['a user and a source that rarely meet', 'search[user]=vast-4&filter[source]=tfe-ui'],
  ['this year', 'filter[timeframe]=year'],
  ['this year, a rare status', 'filter[timeframe]=year&filter[status]=canceled'],
  ['a year before, failed', `filter[timeframe]=${new Date().getUTCFullYear() - 1}&filter[status]=errored`],
  ['text of 1 letter', 'search[basic]=q'],
  ['text of 2 letters', 'search[basic]=qu'],
  ['text of 2 letters that none has', 'search[basic]=zz'],
  ['text of 3 letters', 'search[basic]=flu'],
  ['text of 8 letters', 'search[basic]=capacito'],
  ['a common text', 'search[basic]=release'],
  ['text that none has, of common parts', 'search[basic]=release ui'],
  ['a common text and a rare status', 'search[basic]=release&filter[status]=canceled'],
  ['a common text and a status that rarely meet', 'search[basic]=via UI&filter[status]=discarded'],
]

function runQuestions({ organization, workspaceId, runId, member }: Million): Question[] {
  const ofOrganization = `/organizations/${organization}/runs?page[size]=20`
  const ofWorkspace = `/workspaces/${workspaceId}/runs?page[size]=20`
  return [
    ...RUN_QUERIES.map(([name, query]): Question => [`runs: ${name}`, `${ofOrganization}&${query}`]),
    ['runs: by id', `${ofOrganization}&search[basic]=${runId}`],
    ['runs: a workspace by name', `${ofOrganization}&filter[workspace_names]=service-1`],
    ['runs: failed in a workspace', `${ofOrganization}&filter[workspace_names]=service-1&filter[status]=canceled`],
    [
      'runs: a page of the application',
      `/organizations/${organization}/runs?${WITH_INCLUDES}&filter[status_group]=finished`,
    ],
    ['runs: all, of a member', ofOrganization, member],
    ['runs: a rare status, of a member', `${ofOrganization}&filter[status]=canceled`, member],
    [
      'runs: failed destroys, of a member',
      `${ofOrganization}&filter[operation]=destroy&filter[status]=errored`,
      member,
    ],
    [
      'queue of the organization',
      `/organizations/${organization}/runs/queue?page[size]=20&include=workspace,created_by,plan`,
    ],
    ...RUN_QUERIES.map(([name, query]): Question => [`runs of a workspace: ${name}`, `${ofWorkspace}&${query}`]),
    ['runs of a workspace: by id', `${ofWorkspace}&search[basic]=${runId}`],
    ['runs of a workspace: last page', `${ofWorkspace}&page[number]=10000`],
  ]
}

const WORKSPACE_QUERIES: readonly (readonly [name: string, query: string])[] = [
  ['all', ''],
  ['last page', 'page[number]=800'],
  ['latest change first', 'sort=-latest-change-at'],
  ['latest run first', 'sort=-current-run.created-at'],
  ['latest run first, last page', 'sort=-current-run.created-at&page[number]=800'],
  ['a common name', 'search[name]=service'],
  ['a rare name', 'search[name]=quay'],
  ['a name of 2 letters', 'search[name]=qu'],
  ['a name with a wildcard', 'search[wildcard-name]=odd*7'],
  ['a common tag', 'filter[tagged][0][key]=env&filter[tagged][0][value]=test'],
  ['a rare tag', 'filter[tagged][0][key]=retired'],
  ['two tags', 'search[tags]=env,retired'],
  ['without a tag', 'search[exclude-tags]=retired'],
  ['a large project', 'filter[project][id]=prj-vast1'],
  ['a small project', 'filter[project][id]=prj-vast7'],
  ['a common status', 'filter[current-run][status]=applied'],
  ['a rare status', 'filter[current-run][status]=discarded'],
  ['a status that none has', 'filter[current-run][status]=planned'],
  ['a common group', 'filter[run-group]=finished'],
  ['a rare group', 'filter[run-group]=stopped'],
  ['an engine version', 'filter[engine-version]=1.5.0'],
  ['locked', 'filter[locked]=true'],
  ['drifted', 'filter[drifted]=true'],
]

function workspaceQuestions({ organization, member }: Million): Question[] {
  const list = `/organizations/${organization}/workspaces?page[size]=20`
  return [
    ...WORKSPACE_QUERIES.map(([name, query]): Question => [`workspaces: ${name}`, `${list}&${query}`]),
    ['workspaces: all, of a member', list, member],
    ['workspaces: a common name, of a member', `${list}&search[name]=service`, member],
  ]
}

function otherQuestions({ organization, workspaceId, runId }: Million): Question[] {
  const trail = `/organizations/${organization}/audit-trail?page[size]=30`
  return [
    ['audit trail', trail],
    ['audit trail: page 50', `${trail}&page[number]=50`],
    ['audit trail: since a day', `${trail}&since=${LATER}`],
    ['audit trail: since the beginning', `${trail}&since=2000-01-01T00:00:00Z`],
    ['audit trail of the server', '/admin/audit-trail?page[size]=30'],
    ['events of a run', `/runs/${runId}/run-events`],
    ['projects', `/organizations/${organization}/projects?page[size]=30`],
    ['members', `/organizations/${organization}/organization-memberships?page[size]=30`],
    ['configuration versions', `/workspaces/${workspaceId}/configuration-versions`],
    ['one of the workspaces', `/workspaces/${workspaceId}`],
  ]
}
