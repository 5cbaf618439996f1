import { stateVersionBody, rawState } from '../../testing/state-versions.ts'
import type { Fixtures } from './fixtures.ts'

type Sent = { body?: unknown; query?: string }
type Ids = Fixtures['ids']

/** Requests for routes whose schemas are not sufficient to generate valid ones. */
export const REQUESTS: Record<string, (ids: Ids) => Sent> = {
  'GET /organizations/:organization/vcs/repo': noRepository,
  'GET /organizations/:organization/vcs/tree': noRepository,
  'PATCH /account/update': () => document('users', { username: 'somebody-else' }),
  'PUT /account/avatar': () => ({ body: Buffer.from('89504e470d0a1a0a0000000d494844520000010000000100', 'hex') }),
  'PATCH /account/password': () =>
    document('users', { current_password: 'wrong', password: 'long enough', password_confirmation: 'long enough' }),
  'POST /api/agent/v1/register': () => ({ body: { name: 'n', version: '1', os: 'linux', arch: 'x64' } }),
  'POST /api/agent/v1/agents/:agentId/claim': () => ({ body: { waitMs: 0 } }),
  'POST /api/agent/v1/agents/:agentId/claim-task': () => ({ body: { waitMs: 0 } }),
  'POST /api/agent/v1/task-requests/:requestId/answer': () => ({ body: { durationMs: 1, error: 'gone' } }),
  'PUT /api/agent/v1/task-requests/:requestId/body': () => ({ body: Buffer.from('{}') }),
  'POST /api/agent/v1/agents/:agentId/claim-git': () => ({ body: { waitMs: 0 } }),
  'PUT /api/agent/v1/git-requests/:requestId/archive': () => ({ body: Buffer.from('archive') }),
  'POST /api/agent/v1/git-requests/:requestId/answer': () => ({ body: { result: {} } }),
  'POST /api/agent/v1/jobs/:jobId/heartbeat': () => ({ body: { waitMs: 0 } }),
  'PUT /api/agent/v1/jobs/:jobId/log': () => ({ body: Buffer.from('line'), query: 'offset=0' }),
  'PUT /api/agent/v1/jobs/:jobId/artifacts/:kind': () => ({ body: Buffer.from('{}') }),
  'POST /api/agent/v1/jobs/:jobId/finish': () => ({ body: { status: 'errored', exitCode: 1 } }),
  'PATCH /organizations/:organization': () => document('organizations', { email: 'new@example.com' }),
  'PUT /organizations/:organization': () => document('organizations', { email: 'new@example.com' }),
  'POST /organizations/:organization/projects': () => document('projects', { name: 'other' }),
  'PATCH /projects/:id': () => document('projects', { description: 'other' }),
  'GET /team-projects': (ids) => ({ query: `filter[project][id]=${ids['projects']}` }),
  'POST /team-projects': (ids) =>
    document('team-projects', { access: 'write' }, { team: ['teams', ids], project: ['projects', ids] }),
  'PATCH /team-projects/:teamProjectId': () => document('team-projects', { access: 'write' }),
  'GET /team-workspaces': (ids) => ({ query: `filter[workspace][id]=${ids['workspaces']}` }),
  'POST /team-workspaces': (ids) =>
    document('team-workspaces', { access: 'write' }, { team: ['teams', ids], workspace: ['workspaces', ids] }),
  'PATCH /team-workspaces/:teamWorkspaceId': () => document('team-workspaces', { access: 'write' }),
  'GET /runs': (ids) => ({ query: `workspace_id=${ids['workspaces']}&organization_name=${ids['organizations']}` }),
  'POST /runs': (ids) => document('runs', { 'plan-only': true }, { workspace: ['workspaces', ids] }),
  'POST /sessions': () => document('sessions', { username: 'nobody' }),
  'GET /state-versions': inWorkspace,
  'POST /workspaces/:workspaceId/state-versions': () => ({
    body: stateVersionBody(rawState({ serial: 3, lineage: 'another' })),
  }),
  'GET /workspaces/:workspaceId/run-triggers': () => ({ query: 'filter[run-trigger][type]=inbound' }),
  // Every actor who may create a trigger sees the workspace, so it is the source.
  'POST /workspaces/:workspaceId/run-triggers': (ids) =>
    document('run-triggers', {}, { sourceable: ['workspaces', ids] }),
  'PATCH /workspaces/:workspaceId/state-versions': (ids) =>
    document('state-versions', {}, { 'rollback-state-version': ['state-versions', ids] }),
  'GET /api/registry/private/v2/gpg-keys': (ids) => ({ query: `filter[namespace]=${ids['organizations']}` }),
  'POST /api/registry/private/v2/gpg-keys': (ids) =>
    document('gpg-keys', { namespace: ids['organizations'], 'ascii-armor': 'no key' }),
  'PATCH /api/registry/private/v2/gpg-keys/:namespace/:keyId': (ids) =>
    document('gpg-keys', { namespace: ids['organizations'] }),
  'POST /organizations/:organization/registry-providers': (ids) =>
    document('registry-providers', { name: 'other', namespace: ids['organizations'], 'registry-name': 'private' }),
  'POST /organizations/:organization/registry-providers/:registryName/:namespace/:name/versions': () =>
    document('registry-provider-versions', { version: '2.0.0', 'key-id': 'A' }),
  'POST /organizations/:organization/registry-providers/:registryName/:namespace/:name/versions/:version/platforms':
    () => document('registry-provider-platforms', { os: 'darwin', arch: 'arm64', shasum: 'a', filename: 'b.zip' }),
  'POST /organizations/:organization/registry-modules': () =>
    document('registry-modules', { name: 'other', provider: 'aws' }),
  'POST /organizations/:organization/registry-modules/vcs': unnamedModule,
  'POST /registry-modules': unnamedModule,
  'PATCH /organizations/:organization/registry-modules/:registry/:namespace/:name/:provider': () =>
    document('registry-modules', { 'no-code': true }),
  'POST /registry-modules/:organization/:name/:provider/versions': () =>
    document('registry-module-versions', { version: '2.0.0' }),
  'POST /organizations/:organization/registry-modules/private/:namespace/:name/:provider/versions': () =>
    document('registry-module-versions', { version: '2.0.0' }),
  'GET /organizations/:organization/registry-modules/:registry/:namespace/:name/:provider/version': () => ({
    query: 'module_version=1.0.0',
  }),
  'POST /admin/opa-versions': () =>
    document('opa-versions', { version: '9.0.0', url: 'https://opa.example.com/opa', sha: 'a'.repeat(64) }),
  'PATCH /admin/opa-versions/:id': () => document('opa-versions', { beta: true }),
  'POST /organizations/:organization/policies': () =>
    document('policies', { name: 'other', kind: 'opa', query: 'data.a.deny' }),
  'PATCH /policies/:id': () => document('policies', { description: 'other' }),
  'PUT /policies/:id/upload': () => ({ body: Buffer.from('package a') }),
  'POST /organizations/:organization/policy-sets': () => document('policy-sets', { name: 'other', kind: 'opa' }),
  'PATCH /policy-sets/:id': () => document('policy-sets', { description: 'other' }),
  'POST /policy-sets/:id/tag-selectors': tagSelectors,
  'DELETE /policy-sets/:id/tag-selectors': tagSelectors,
  'POST /policy-sets/:setId/parameters': () => document('vars', { key: 'zone', value: 'a', category: 'policy-set' }),
  'PATCH /policy-sets/:setId/parameters/:id': () => document('vars', { value: 'b' }),
  ...Object.fromEntries(
    (['policies', 'workspaces', 'workspace-exclusions', 'projects', 'project-exclusions'] as const).flatMap((list) => {
      const type = list === 'policies' ? list : list.startsWith('workspace') ? 'workspaces' : 'projects'
      const sent = (ids: Ids) => ({ body: { data: [{ type, id: ids[type] }] } })
      return ['POST', 'DELETE'].map((method) => [`${method} /policy-sets/:id/relationships/${list}`, sent])
    }),
  ),
  'POST /organizations/:organization/tasks': () =>
    document('tasks', { name: 'other', url: 'http://127.0.0.1:1/task', category: 'task' }),
  'PATCH /tasks/:taskId': () => document('tasks', { name: 'other' }),
  'PATCH /task-results/:id/callback': () => document('task-results', { status: 'passed' }),
  'GET /vars': inWorkspace,
  'PATCH /workspaces/:workspaceId/relationships/vars': (ids) => ({
    body: { data: [{ type: 'vars', id: ids['vars'], attributes: { value: 'b' } }] },
  }),
  'POST /vars': (ids) =>
    document('vars', { key: 'zone', value: 'a', category: 'terraform' }, { workspace: ['workspaces', ids] }),
  'POST /workspaces/:workspaceId/vars': () => document('vars', { key: 'zone', value: 'a', category: 'terraform' }),
  'POST /organizations/:organization/varsets': () => document('varsets', { name: 'other', global: false }),
  'POST /organizations/:organization/workspaces': () => document('workspaces', { name: 'other' }),
  'PATCH /organizations/:organization/workspaces/:name': () => document('workspaces', { description: 'other' }),
  'PATCH /workspaces/:id': () => document('workspaces', { description: 'other' }),
}

function document(type: string, attributes: object, relations: Record<string, [type: string, ids: Ids]> = {}): Sent {
  const relationships = Object.fromEntries(
    Object.entries(relations).map(([name, [type, ids]]) => [name, { data: { type, id: ids[type] } }]),
  )
  return { body: { data: { type, attributes, relationships } } }
}

function tagSelectors(): Sent {
  return { body: { data: [{ 'tag-key': 'env', 'tag-value': 'prod', 'is-exclude': false }] } }
}

/** An identifier that cannot be one. */
function noRepository(ids: Ids): Sent {
  return { query: `oauth_token_id=${ids['github-token']}&identifier=none` }
}

/** A repository that names no module. */
function unnamedModule(ids: Ids): Sent {
  const vcsRepo = { identifier: 'acme/network', 'oauth-token-id': ids['github-token'] }
  return document('registry-modules', { 'vcs-repo': { ...vcsRepo, 'organization-name': ids['organizations'] } })
}

function inWorkspace(ids: Ids): Sent {
  return { query: `filter[workspace][name]=network&filter[organization][name]=${ids['organizations']}` }
}
