import { archiveOf } from '../../../../testing/archives.ts'
import { createFakeAgent } from '../../../../testing/fake-agent.ts'
import { claimPoliciesOf, reportPolicies } from '../../../../testing/policies.ts'
import { put } from '../../../../testing/runs.ts'
import { type AuditFixtures, SECRET, data, type MakeChange, many } from './audit-fixtures.ts'

const newPolicy = (w: AuditFixtures) => data('policies', { name: w.name('policy'), kind: 'opa', query: 'data.a.deny' })
const newSet = (w: AuditFixtures) => data('policy-sets', { name: w.name('set'), kind: 'opa' })
const policy = async (w: AuditFixtures) => w.ofOrganization('policies', newPolicy(w))
const policySet = async (w: AuditFixtures) => w.ofOrganization('policy-sets', newSet(w))

const newParameter = (w: AuditFixtures) =>
  data('vars', { key: w.name('key'), value: SECRET, category: 'policy-set', sensitive: true })

async function parameter(w: AuditFixtures) {
  const set = await policySet(w)
  const { id } = await w.send('POST', `/policy-sets/${set}/parameters`, newParameter(w))
  return [set, id as string]
}

const newVersion = (w: AuditFixtures) =>
  data('opa-versions', { version: `0.0.${w.name('').split('-').at(-1)}`, url: 'https://opa.example.com/opa' })

async function opaVersion(w: AuditFixtures) {
  return (await w.send('POST', '/admin/opa-versions', newVersion(w))).id as string
}

const LISTS = {
  policies: async (w: AuditFixtures) => many('policies', await policy(w)),
  workspaces: async (w: AuditFixtures) => many('workspaces', await w.workspace()),
  'workspace-exclusions': async (w: AuditFixtures) => many('workspaces', await w.workspace()),
  projects: async (w: AuditFixtures) => many('projects', await w.project()),
  'project-exclusions': async (w: AuditFixtures) => many('projects', await w.project()),
}

const SCOPE = Object.entries(LISTS).flatMap(([name, items]) =>
  ['POST', 'DELETE'].map((method): [string, MakeChange] => [
    `${method} /policy-sets/:id/relationships/${name}`,
    async (w) => ({ ids: [await policySet(w)], body: await items(w) }),
  ]),
)

const selectors = { data: [{ 'tag-key': 'env', 'tag-value': 'prod', 'is-exclude': true }] }

const newTrial = (run: string) => ({ data: { type: 'policy-trials', relationships: { runs: many('runs', run) } } })

/** A trial of a run that has no plan yet. */
async function trial(w: AuditFixtures) {
  const { workspaceId } = await w.configured()
  return w.ofOrganization('policy-trials', newTrial(await w.run(workspaceId)))
}

/** A set with a version. */
async function publishedSet(w: AuditFixtures) {
  const set = await policySet(w)
  const { links } = await w.send('POST', `/policy-sets/${set}/versions`)
  await put(w.app, links.upload, POLICIES)
  return set
}

/** A stage that awaits an override. */
async function failedStage(w: AuditFixtures) {
  const code = data('policies', { ...newPolicy(w).data.attributes, 'enforcement-level': 'mandatory' })
  const attached = await w.ofOrganization('policies', code)
  await w.app.db.insertInto('policy_sources').values({ policy_id: attached, code: 'package a' }).execute()
  const { workspaceId } = await w.configured()
  const set = data('policy-sets', { name: w.name('set'), kind: 'opa', overridable: true })
  await w.ofOrganization('policy-sets', {
    data: {
      ...set.data,
      relationships: { policies: many('policies', attached), workspaces: many('workspaces', workspaceId) },
    },
  })
  const run = await w.run(workspaceId)
  const job = await w.jobOf(run)
  await job.put('plan-json', '{}')
  await job.finish()
  const request = await claimPoliciesOf(w.app, await createFakeAgent(w.app), run)
  const [name = ''] = request.sets.flatMap(({ policies }) => policies.map((one) => one.name))
  await reportPolicies(request, { [name]: { output: ['no'] } })
  const stage = await w.app.db
    .selectFrom('task_stages')
    .select('id')
    .where('run_id', '=', run)
    .executeTakeFirstOrThrow()
  return stage.id
}

export const POLICY_CHANGES: Record<string, MakeChange> = {
  'POST /admin/opa-versions': (w) => ({ body: newVersion(w) }),
  'PATCH /admin/opa-versions/:id': async (w) => ({
    ids: [await opaVersion(w)],
    body: data('opa-versions', { beta: true }),
  }),
  'DELETE /admin/opa-versions/:id': async (w) => ({ ids: [await opaVersion(w)] }),
  'POST /organizations/:organization/policies': (w) => ({ ids: [w.organization.name], body: newPolicy(w) }),
  'PATCH /policies/:id': async (w) => ({ ids: [await policy(w)], body: data('policies', { query: 'data.b' }) }),
  'PUT /policies/:id/upload': async (w) => ({ ids: [await policy(w)], body: Buffer.from('package a') }),
  'DELETE /policies/:id': async (w) => ({ ids: [await policy(w)] }),
  'POST /organizations/:organization/policy-sets': (w) => ({ ids: [w.organization.name], body: newSet(w) }),
  'PATCH /policy-sets/:id': async (w) => ({
    ids: [await policySet(w)],
    body: data('policy-sets', { description: 'other' }),
  }),
  'POST /policy-sets/:id/actions/resync': async (w) => {
    const newClient = data('oauth-clients', { 'service-provider': 'github', 'oauth-token-string': SECRET })
    const [{ id: token }] = await w.send(
      'GET',
      `/oauth-clients/${await w.ofOrganization('oauth-clients', newClient)}/oauth-tokens`,
    )
    const repo = { identifier: 'acme/policies', 'oauth-token-id': token }
    const set = data('policy-sets', { name: w.name('set'), kind: 'opa', 'vcs-repo': repo })
    return { ids: [await w.ofOrganization('policy-sets', set)] }
  },
  'DELETE /policy-sets/:id': async (w) => ({ ids: [await policySet(w)] }),
  ...Object.fromEntries(SCOPE),
  'POST /task-stages/:id/actions/override': async (w) => ({
    ids: [await failedStage(w)],
    body: { comment: 'agreed' },
  }),
  'POST /policy-sets/:id/tag-selectors': async (w) => ({ ids: [await policySet(w)], body: selectors }),
  'DELETE /policy-sets/:id/tag-selectors': async (w) => ({ ids: [await policySet(w)], body: selectors }),
  'POST /policy-sets/:setId/parameters': async (w) => ({ ids: [await policySet(w)], body: newParameter(w) }),
  'PATCH /policy-sets/:setId/parameters/:id': async (w) => ({
    ids: await parameter(w),
    body: data('vars', { value: SECRET }),
  }),
  'DELETE /policy-sets/:setId/parameters/:id': async (w) => ({ ids: await parameter(w) }),
  'POST /policy-sets/:id/versions': async (w) => ({ ids: [await policySet(w)] }),
  'POST /organizations/:organization/policy-trials': async (w) => {
    const { workspaceId } = await w.configured()
    return { ids: [w.organization.name], body: newTrial(await w.run(workspaceId)) }
  },
  'POST /policy-sets/:id/policy-trials': async (w) => ({ ids: [await publishedSet(w)] }),
  'POST /policy-trials/:id/actions/cancel': async (w) => ({ ids: [await trial(w)] }),
  'PUT /_objects/policy-trials/:token': async (w) => {
    const { links } = await w.send('GET', `/policy-trials/${await trial(w)}`)
    const by = { id: w.admin.id, tokenId: null }
    return { token: undefined, by, url: new URL(links.upload).pathname, body: POLICIES }
  },
  'PUT /_objects/policy-sets/:token': async (w) => {
    const created = await w.send('POST', `/policy-sets/${await policySet(w)}/versions`)
    const by = { id: w.admin.id, tokenId: null }
    return { token: undefined, by, url: new URL(created.links.upload).pathname, body: POLICIES }
  },
}

const POLICIES = archiveOf({ 'policies.hcl': 'policy "a" {\n  query = "data.a"\n}\n', 'a.rego': 'package a' })
