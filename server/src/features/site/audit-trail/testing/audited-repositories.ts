import { push } from '../../../../vcs-hosts/github/testing/bodies.ts'
import { hostOf } from '../../../../vcs-hosts/list.ts'
import { webhook } from '../../../../vcs-hosts/testing/fake-host.ts'
import { type AuditFixtures, data, many, type MakeChange, SECRET } from './audit-fixtures.ts'

const KEY = `-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----\n`

const newClient = () => data('oauth-clients', { 'service-provider': 'github', 'oauth-token-string': SECRET })
const client = async (w: AuditFixtures) => w.ofOrganization('oauth-clients', newClient())
const sshKey = async (w: AuditFixtures) =>
  w.ofOrganization('ssh-keys', data('ssh-keys', { name: w.name('key'), value: KEY }))

async function token(w: AuditFixtures): Promise<string> {
  const [{ id }] = await w.send('GET', `/oauth-clients/${await client(w)}/oauth-tokens`)
  return id
}

async function installation(w: AuditFixtures) {
  const id = w.app.newId('ghain')
  await w.app.db
    .insertInto('github_app_installations')
    .values({
      id,
      organization_id: w.organization.id,
      installation_id: Number.parseInt(w.name('1').replace(/\D/g, ''), 10),
      name: w.name('account'),
      installation_type: 'Organization',
      service_provider: 'github',
      http_url: 'https://github.com',
      api_url: 'https://api.github.com',
      created_at: w.app.clock.now(),
    })
    .execute()
  return id
}

/** A repository that a workspace uses. */
async function repository(w: AuditFixtures) {
  const tokenId = await token(w)
  const vcsRepo = { identifier: 'acme/network', 'oauth-token-id': tokenId }
  await w.send('PATCH', `/workspaces/${await w.workspace()}`, data('workspaces', { 'vcs-repo': vcsRepo }))
  const { id } = await w.app.db
    .selectFrom('repositories')
    .select('id')
    .where('oauth_token_id', '=', tokenId)
    .executeTakeFirstOrThrow()
  return id
}

async function delivery(w: AuditFixtures) {
  const id = w.app.newId('vcsd')
  const { events } = hostOf('github').webhooks.parse(webhook(push(), { 'x-github-event': 'push' }))
  await w.app.db
    .insertInto('vcs_deliveries')
    .values({
      id,
      organization_id: w.organization.id,
      repository_id: await repository(w),
      repository_identifier: 'acme/network',
      delivery_key: id,
      source: 'webhook',
      status: 'decided',
      event: JSON.stringify(events?.[0]),
      received_at: w.app.clock.now(),
    })
    .execute()
  return id
}

/** A run whose commit has a status at its host. */
async function reportedRun(w: AuditFixtures) {
  const { workspaceId } = await w.configured()
  const run = await w.run(workspaceId)
  await w.app.db
    .insertInto('commit_statuses')
    .values({
      workspace_id: workspaceId,
      commit_sha: '1'.repeat(40),
      kind: 'run',
      repository_id: await repository(w),
      run_id: run,
      created_at: w.app.clock.now(),
    })
    .execute()
  return run
}

/** Connections to hosts of repositories, SSH keys, and what hosts report. */
export const REPOSITORY_CHANGES: Record<string, MakeChange> = {
  'POST /organizations/:organization/oauth-clients': (w) => ({ ids: [w.organization.name], body: newClient() }),
  'PATCH /oauth-clients/:id': async (w) => ({
    ids: [await client(w)],
    body: data('oauth-clients', { name: 'renamed', 'oauth-token-string': `${SECRET}-2` }),
  }),
  'DELETE /oauth-clients/:id': async (w) => ({ ids: [await client(w)] }),
  'POST /oauth-clients/:id/relationships/projects': async (w) => ({
    ids: [await client(w)],
    body: many('projects', await w.project()),
  }),
  'DELETE /oauth-clients/:id/relationships/projects': async (w) => {
    const [id, body] = [await client(w), many('projects', await w.project())]
    await w.send('POST', `/oauth-clients/${id}/relationships/projects`, body)
    return { ids: [id], body }
  },
  'PATCH /oauth-tokens/:id': async (w) => ({
    ids: [await token(w)],
    body: data('oauth-tokens', { 'ssh-key': KEY }),
  }),
  'DELETE /oauth-tokens/:id': async (w) => ({ ids: [await token(w)] }),
  'POST /organizations/:organization/ssh-keys': (w) => ({
    ids: [w.organization.name],
    body: data('ssh-keys', { name: w.name('key'), value: KEY }),
  }),
  'PATCH /ssh-keys/:id': async (w) => ({ ids: [await sshKey(w)], body: data('ssh-keys', { name: w.name('key') }) }),
  'DELETE /ssh-keys/:id': async (w) => ({ ids: [await sshKey(w)] }),
  'PATCH /workspaces/:id/relationships/ssh-key': async (w) => ({
    ids: [await w.workspace()],
    body: data('workspaces', { id: await sshKey(w) }),
  }),
  'DELETE /github-app/installation/:installationId': async (w) => ({ ids: [await installation(w)] }),
  'POST /organizations/:organization/github-app-installations/:installationId/link-account': async (w) => {
    const name = w.name('organization')
    await w.send('POST', '/organizations', data('organizations', { name, email: 'a@example.com' }))
    return { ids: [name, await installation(w)] }
  },
  'POST /runs/:runId/actions/resend-commit-status': async (w) => ({ ids: [await reportedRun(w)] }),
  'POST /vcs-deliveries/:id/actions/replay': async (w) => ({ ids: [await delivery(w)] }),
  'POST /vcs-repositories/:id/actions/register-webhook': async (w) => ({ ids: [await repository(w)] }),
  'POST /vcs-repositories/:id/actions/rotate-webhook-secret': async (w) => ({ ids: [await repository(w)] }),
}
