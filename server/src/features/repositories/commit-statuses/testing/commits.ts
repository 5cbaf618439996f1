import { SYSTEM } from '../../../../auth/actor.ts'
import { transact } from '../../../../db/db.ts'
import { deliverDue } from '../../../../deliveries/loop.ts'
import { raise } from '../../../../events.ts'
import type { TestApp } from '../../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../../testing/factories.ts'
import { repository } from '../../../../vcs-hosts/gitea/testing/bodies.ts'
import type { HostEvent, PullRequest } from '../../../../vcs-hosts/host.ts'
import type { HostRoutes } from '../../../../vcs-hosts/testing/fake-host.ts'
import { startFakeHost } from '../../../../vcs-hosts/testing/fake-host.ts'
import { insertConfigurationVersion } from '../../../runs/configuration-versions/service.ts'
import { advanceRun } from '../../../runs/runs/advance.ts'
import { insertRun } from '../../../runs/runs/service.ts'
import { listReadableWorkspaces } from '../../../workspaces/workspaces/access.ts'
import { deliveryDecided } from '../../deliveries/decide-delivery.ts'
import { ingressRow } from '../../deliveries/ingress.ts'
import { statedFacts } from '../../deliveries/inspect.ts'
import * as deliveries from '../../deliveries/store.ts'
import { findRepository, insertIngressAttributes } from '../../git/store.ts'
import { REPORT_CONNECTIONS, reportQueue } from '../send.ts'

const mona = { username: 'mona', avatarUrl: 'https://git.example/a', pageUrl: 'https://git.example/mona' }
export const SHA = { head: '1'.repeat(40), base: '2'.repeat(40), merge: '3'.repeat(40), other: '4'.repeat(40) }
export const TREE = { merged: '5'.repeat(40), other: '6'.repeat(40) }

export function pushOf(sha: string): HostEvent {
  const commit = { sha, message: 'Add a subnet', url: `https://git.example/${sha}` }
  return { kind: 'push', branch: 'main', before: SHA.base, commit, compareUrl: '', sender: mona, changedFiles: [] }
}

export function pullRequestOf(
  action: 'opened' | 'updated' | 'merged',
  { number = 12, head = SHA.head, mergeSha = null }: { number?: number; head?: string; mergeSha?: string | null } = {},
): HostEvent {
  const pullRequest: PullRequest = {
    number,
    title: 'Add a subnet',
    body: '',
    url: `https://git.example/acme/network/pulls/${number}`,
    head: { sha: head, message: 'Add a subnet', url: '', branch: 'subnet' },
    base: { branch: 'main', sha: SHA.base },
    isFork: false,
    headRef: `refs/pull/${number}/head`,
    mergeSha,
    author: mona,
  }
  return { kind: 'pull-request', action, pullRequest, sender: mona }
}

const COMMENTS = '/api/v1/repos/acme/network/issues'

/** Replies of a Gitea host that has the repository and takes statuses and comments. */
export function giteaRoutes(shas: readonly string[] = Object.values(SHA)): HostRoutes {
  const user = { id: 1, login: 'mona' }
  return {
    'GET /api/v1/user': () => ({ body: user }),
    'GET /api/v1/repos/acme/network': () => ({ body: { ...repository(), default_branch: 'main' } }),
    'GET /api/v1/repos/acme/network/hooks': () => ({ body: [] }),
    'POST /api/v1/repos/acme/network/hooks': ({ body }) => ({ status: 201, body: { id: 7, ...(body as object) } }),
    ...Object.fromEntries(
      shas.map((sha) => [statusRoute(sha), () => ({ status: 201, body: { id: 1, status: 'pending' } })]),
    ),
    [`POST ${COMMENTS}/12/comments`]: () => ({ status: 201, body: { id: 99, body: '' } }),
    [`GET ${COMMENTS}/12/comments`]: () => ({ body: [] }),
    [`PATCH ${COMMENTS}/comments/99`]: () => ({ body: { id: 99, body: '' } }),
  }
}

export const statusRoute = (sha: string) => `POST /api/v1/repos/acme/network/statuses/${sha}`
export const COMMENT_ROUTES = {
  create: `POST ${COMMENTS}/12/comments`,
  update: `PATCH ${COMMENTS}/comments/99`,
  updateOther: `PATCH ${COMMENTS}/comments/100`,
  list: `GET ${COMMENTS}/12/comments`,
}

/** Sends due reports as a server does; debounced ones, too. */
async function sendDueReports(app: TestApp, shutdown = new AbortController().signal) {
  app.clock.advance(2000)
  await deliverDue(app.as(SYSTEM), reportQueue, { connections: REPORT_CONNECTIONS, shutdown })
}

/** Runs the jobs and sends the reports that are due, debounced ones too, and those that they lead to. */
export async function runJobsAndReports(app: TestApp) {
  for (let round = 0; round < 2; round++) {
    app.clock.advance(15_000)
    await app.runJobs()
    await sendDueReports(app)
  }
}

type Reported = { sha: string; treeSha?: string | null }

/** An organization with a connection to a host, and what is reported about its repository acme/network. */
export async function connectHost(app: TestApp, routes: HostRoutes = giteaRoutes(), { isSiteAdmin = false } = {}) {
  const host = await startFakeHost(routes)
  const owner = await createUser(app, { isSiteAdmin })
  const organization = await createOrganization(app, owner)
  const send = async (method: 'POST' | 'PATCH', path: string, data: object) => {
    const response = await app.request({ method, url: `/api/v2/${path}`, token: owner.token, body: { data } })
    if (response.status >= 300) throw new Error(response.text)
    return response.json().data
  }
  const attributes = { 'service-provider': 'gitea', 'http-url': host.url, 'oauth-token-string': 'gta_secret' }
  const client = await send('POST', `organizations/${organization.name}/oauth-clients`, {
    type: 'oauth-clients',
    attributes,
  })
  const tokenId: string = client.relationships['oauth-tokens'].data[0].id

  const addWorkspace = async (settings: Record<string, unknown> = {}) => {
    const workspace = await createWorkspace(app, { organization: organization.name, actor: owner.actor })
    const vcsRepo = { identifier: 'acme/network', 'oauth-token-id': tokenId, branch: 'main' }
    await send('PATCH', `workspaces/${workspace.id}`, {
      type: 'workspaces',
      attributes: { ...settings, 'vcs-repo': vcsRepo },
    })
    return workspace
  }

  const requireRepository = async () => {
    const { id } = await app.db
      .selectFrom('repositories')
      .select('id')
      .where('oauth_token_id', '=', tokenId)
      .executeTakeFirstOrThrow()
    const row = await findRepository(app.db, id)
    if (!row) throw new Error('the repository is gone')
    return row
  }

  let received = 0
  /** Stores a delivery with decisions, as if it had been decided. */
  const report = async (event: HostEvent, decisions: Parameters<typeof deliveries.insertDecisions>[2] = []) => {
    const repository = await requireRepository()
    const ctx = app.as(SYSTEM)
    const id = ctx.newId('vd')
    await transact(ctx, async (ctx) => {
      await deliveries.insertDeliveries(ctx.db, [
        {
          id,
          organization_id: organization.id,
          repository_id: repository.id,
          repository_identifier: repository.identifier,
          delivery_key: `delivery-${++received}`,
          source: 'webhook',
          status: 'decided',
          event,
          message: null,
          received_at: ctx.now(),
          decided_at: ctx.now(),
        },
      ])
      await deliveries.insertDecisions(ctx.db, id, decisions)
      await raise(ctx, deliveryDecided, { deliveryId: id, repositoryId: repository.id, event })
    })
    return { id, repository }
  }

  /** Starts a run of a commit whose configuration has been fetched. */
  const startRun = async (workspaceId: string, event: HostEvent, { treeSha = null }: Partial<Reported> = {}) => {
    const { id: deliveryId, repository } = await report(event)
    const ctx = app.as(SYSTEM)
    const ingress = ingressRow({
      delivery: { id: deliveryId, received_at: ctx.now() },
      repository,
      ...statedFacts(event),
    })
    if (!ingress) throw new Error('the event has no commit')
    await insertIngressAttributes(ctx.db, { ...ingress, tree_sha: treeSha })
    const [workspace] = await listReadableWorkspaces(ctx, [workspaceId])
    if (!workspace) throw new Error('there is no workspace')
    const version = await insertConfigurationVersion(ctx, workspace, {
      input: { speculative: event.kind === 'pull-request' },
      source: 'gitea',
      status: 'fetching',
      ingressAttributesId: ingress.id,
    })
    const runId = await insertRun(ctx, workspace, {
      input: { message: ingress.commit_message },
      origin: {
        source: 'tfe-configuration-version',
        configurationVersionId: version.id,
        awaitsConfiguration: true,
        createdByUserId: null,
      },
    })
    await advanceRun(ctx, runId, { run: { fetches: false } })
    return runId
  }

  const sendDue = async (shutdown?: AbortSignal) => sendDueReports(app, shutdown)
  const runJobs = async () => runJobsAndReports(app)
  await app.runJobs()
  return {
    host,
    owner,
    organization,
    tokenId,
    clientId: client.id as string,
    send,
    addWorkspace,
    report,
    startRun,
    sendDue,
    runJobs,
  }
}
