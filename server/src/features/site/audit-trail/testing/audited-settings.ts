import { data, many, one, SECRET, type MakeChange, type AuditFixtures } from './audit-fixtures.ts'

const tag = (key: string) => ({ data: [{ type: 'tag-bindings', attributes: { key, value: 'x' } }] })
const flatTag = (name: string) => ({ data: [{ type: 'tags', attributes: { name } }] })
const variable = (w: AuditFixtures) =>
  data('vars', { key: w.name('key'), value: SECRET, category: 'env', sensitive: true })
const newValue = data('vars', { value: SECRET })
const days = (type: string) => ({ data: { type, attributes: { deleteOlderThanNDays: 30 } } })

async function policy(w: AuditFixtures) {
  const id = await w.workspace()
  await w.send(
    'POST',
    `/workspaces/${id}/relationships/data-retention-policy`,
    days('data-retention-policy-delete-olders'),
  )
  return id
}

async function ownOrganization(w: AuditFixtures) {
  const name = w.name('organization')
  await w.send('POST', '/organizations', data('organizations', { name, email: 'a@example.com' }))
  return name
}

async function taggedWorkspace(w: AuditFixtures) {
  const id = await w.workspace()
  const key = w.name('tag')
  await w.send('POST', `/workspaces/${id}/relationships/tags`, flatTag(key))
  const tags = await w.send('GET', `/workspaces/${id}/relationships/tags`)
  return { id, key, tag: tags[0].id as string }
}

async function setWith(w: AuditFixtures, noun: 'workspaces' | 'projects') {
  const [set, id] = [await w.variableSet(), await (noun === 'projects' ? w.project() : w.workspace())]
  await w.send('POST', `/varsets/${set}/relationships/${noun}`, many(noun, id))
  return { ids: [set], body: many(noun, id) }
}

/** A change of a set that adds a variable and changes the value of another. */
async function setUpdate(w: AuditFixtures) {
  const set = await w.variableSet()
  const changed = { ...newValue.data, id: await w.variable(`/varsets/${set}/relationships`) }
  const vars = { data: [changed, variable(w).data] }
  return { ids: [set], body: data('varsets', { description: 'x' }, { vars }) }
}

async function nameOf(w: AuditFixtures, workspace: string) {
  return (await w.send('GET', `/workspaces/${workspace}`)).attributes.name as string
}

/** Settings: organizations, projects, workspaces, variables, tags, pools and tasks. */
export const SETTING_CHANGES: Record<string, MakeChange> = {
  'POST /organizations': (w) => ({
    body: data('organizations', { name: w.name('organization'), email: 'a@example.com' }),
  }),
  'PATCH /organizations/:organization': async (w) => ({
    ids: [await ownOrganization(w)],
    body: data('organizations', { email: 'b@example.com' }),
  }),
  'PUT /organizations/:organization': async (w) => ({
    ids: [await ownOrganization(w)],
    body: data('organizations', { email: 'b@example.com' }),
  }),
  'DELETE /organizations/:organization': async (w) => ({
    ids: [await ownOrganization(w)],
  }),

  'POST /organizations/:organization/projects': (w) => ({
    ids: [w.organization.name],
    body: data('projects', { name: w.name('project') }),
  }),
  'PATCH /projects/:id': async (w) => ({
    ids: [await w.project()],
    body: data('projects', { description: 'x' }),
  }),
  'DELETE /projects/:id': async (w) => ({ ids: [await w.project()] }),
  'POST /projects/:id/relationships/workspaces': async (w) => ({
    ids: [await w.project()],
    body: many('workspaces', await w.workspace()),
  }),

  'POST /organizations/:organization/workspaces': (w) => ({
    ids: [w.organization.name],
    body: data('workspaces', { name: w.name('workspace') }),
  }),
  'PATCH /organizations/:organization/workspaces/:name': async (w) => ({
    ids: [w.organization.name, await nameOf(w, await w.workspace())],
    body: data('workspaces', { description: 'x' }),
  }),
  'PATCH /workspaces/:id': async (w) => ({
    ids: [await w.workspace()],
    body: data('workspaces', { description: 'x' }, { tags: flatTag('x') }),
  }),
  'DELETE /organizations/:organization/workspaces/:name': async (w) => ({
    ids: [w.organization.name, await nameOf(w, await w.workspace())],
  }),
  'DELETE /workspaces/:id': async (w) => ({ ids: [await w.workspace()] }),
  'POST /organizations/:organization/workspaces/:name/actions/safe-delete': async (w) => ({
    ids: [w.organization.name, await nameOf(w, await w.workspace())],
  }),
  'POST /workspaces/:id/actions/safe-delete': async (w) => ({
    ids: [await w.workspace()],
  }),
  'POST /workspaces/:id/actions/lock': async (w) => ({
    ids: [await w.workspace()],
    body: {},
  }),
  'POST /workspaces/:id/actions/unlock': async (w) => ({
    ids: [await w.lockedWorkspace()],
  }),
  'POST /workspaces/:id/actions/force-unlock': async (w) => ({
    ids: [await w.lockedWorkspace()],
  }),
  'POST /workspaces/:id/relationships/remote-state-consumers': async (w) => ({
    ids: [await w.workspace()],
    body: many('workspaces', await w.workspace()),
  }),
  'PATCH /workspaces/:id/relationships/remote-state-consumers': async (w) => ({
    ids: [await w.workspace()],
    body: many('workspaces', await w.workspace()),
  }),
  'DELETE /workspaces/:id/relationships/remote-state-consumers': async (w) => {
    const [id, consumer] = [await w.workspace(), many('workspaces', await w.workspace())]
    await w.send('POST', `/workspaces/${id}/relationships/remote-state-consumers`, consumer)
    return { ids: [id], body: consumer }
  },

  'POST /workspaces/:id/relationships/tags': async (w) => ({
    ids: [await w.workspace()],
    body: flatTag(w.name('tag')),
  }),
  'DELETE /workspaces/:id/relationships/tags': async (w) => {
    const { id, key } = await taggedWorkspace(w)
    return { ids: [id], body: flatTag(key) }
  },
  'DELETE /organizations/:organization/tags': async (w) => ({
    ids: [w.organization.name],
    body: many('tags', (await taggedWorkspace(w)).tag),
  }),
  'DELETE /organizations/:organization/tag-values': async (w) => ({
    ids: [w.organization.name],
    body: many('tag-values', `${(await taggedWorkspace(w)).tag}=`),
  }),
  'POST /tags/:id/relationships/workspaces': async (w) => ({
    ids: [(await taggedWorkspace(w)).tag],
    body: many('workspaces', await w.workspace()),
  }),
  ...tagBindings('workspace'),
  ...tagBindings('project'),
  'POST /organizations/:organization/reserved-tag-keys': (w) => ({
    ids: [w.organization.name],
    body: data('reserved-tag-keys', { key: w.name('key') }),
  }),
  'PATCH /reserved-tag-keys/:id': async (w) => ({
    ids: [await w.ofOrganization('reserved-tag-keys', data('reserved-tag-keys', { key: w.name('key') }))],
    body: data('reserved-tag-keys', { 'disable-overrides': true }),
  }),
  'DELETE /reserved-tag-keys/:id': async (w) => ({
    ids: [await w.ofOrganization('reserved-tag-keys', data('reserved-tag-keys', { key: w.name('key') }))],
  }),

  ...dataRetention('organizations', async (w) => ownOrganization(w)),
  ...dataRetention('workspaces', async (w) => w.workspace()),
  'DELETE /organizations/:id/relationships/data-retention-policy': async (w) => {
    const id = await ownOrganization(w)
    const path = `/organizations/${id}/relationships/data-retention-policy`
    await w.send('POST', path, days('data-retention-policy-delete-olders'))
    return { ids: [id] }
  },
  'DELETE /workspaces/:id/relationships/data-retention-policy': async (w) => ({
    ids: [await policy(w)],
  }),

  'POST /workspaces/:workspaceId/vars': async (w) => ({
    ids: [await w.workspace()],
    body: variable(w),
  }),
  'PATCH /workspaces/:workspaceId/vars/:id': async (w) => {
    const id = await w.workspace()
    return { ids: [id, await w.variable(`/workspaces/${id}`)], body: newValue }
  },
  'PATCH /workspaces/:workspaceId/relationships/vars': async (w) => {
    const id = await w.workspace()
    const changed = async () => ({ ...newValue.data, id: await w.variable(`/workspaces/${id}`) })
    return { ids: [id], body: { data: [await changed(), await changed()] } }
  },
  'DELETE /workspaces/:workspaceId/vars/:id': async (w) => {
    const id = await w.workspace()
    return { ids: [id, await w.variable(`/workspaces/${id}`)] }
  },
  'POST /vars': async (w) => {
    const { attributes } = variable(w).data
    return { body: data('vars', attributes, { workspace: one('workspaces', await w.workspace()) }) }
  },
  'PATCH /vars/:id': async (w) => ({
    ids: [await w.variable(`/workspaces/${await w.workspace()}`)],
    body: newValue,
  }),
  'DELETE /vars/:id': async (w) => ({
    ids: [await w.variable(`/workspaces/${await w.workspace()}`)],
  }),

  'POST /organizations/:organization/varsets': (w) => ({
    ids: [w.organization.name],
    body: data('varsets', { name: w.name('set') }, { vars: { data: [variable(w).data] } }),
  }),
  'PATCH /varsets/:id': async (w) => setUpdate(w),
  'POST /varsets/:id': async (w) => setUpdate(w),
  'DELETE /varsets/:id': async (w) => ({ ids: [await w.variableSet()] }),
  'POST /varsets/:id/relationships/workspaces': async (w) => ({
    ids: [await w.variableSet()],
    body: many('workspaces', await w.workspace()),
  }),
  'DELETE /varsets/:id/relationships/workspaces': (w) => setWith(w, 'workspaces'),
  'POST /varsets/:id/relationships/projects': async (w) => ({
    ids: [await w.variableSet()],
    body: many('projects', await w.project()),
  }),
  'DELETE /varsets/:id/relationships/projects': (w) => setWith(w, 'projects'),
  'POST /varsets/:variableSetId/relationships/vars': async (w) => ({
    ids: [await w.variableSet()],
    body: variable(w),
  }),
  'PATCH /varsets/:variableSetId/relationships/vars/:id': async (w) => {
    const set = await w.variableSet()
    return { ids: [set, await w.variable(`/varsets/${set}/relationships`)], body: newValue }
  },
  'DELETE /varsets/:variableSetId/relationships/vars/:id': async (w) => {
    const set = await w.variableSet()
    return { ids: [set, await w.variable(`/varsets/${set}/relationships`)] }
  },

  'POST /organizations/:organization/agent-pools': (w) => ({
    ids: [w.organization.name],
    body: data('agent-pools', { name: w.name('pool') }),
  }),
  'PATCH /agent-pools/:poolId': async (w) => ({
    ids: [await w.pool()],
    body: data('agent-pools', { name: w.name('pool') }),
  }),
  'DELETE /agent-pools/:poolId': async (w) => ({ ids: [await w.pool()] }),

  'POST /organizations/:organization/tasks': (w) => ({
    ids: [w.organization.name],
    body: data('tasks', { name: w.name('task'), url: w.receiver.url, 'hmac-key': SECRET, category: 'task' }),
  }),
  'PATCH /tasks/:taskId': async (w) => ({
    ids: [await w.task()],
    body: data('tasks', { 'hmac-key': `${SECRET}-2`, url: `${w.receiver.url}/b?token=${SECRET}` }),
  }),
  'DELETE /tasks/:taskId': async (w) => ({ ids: [await w.task()] }),
  'POST /workspaces/:workspaceId/tasks': async (w) => ({
    ids: [await w.workspace()],
    body: data('workspace-tasks', { 'enforcement-level': 'mandatory' }, { task: one('tasks', await w.task()) }),
  }),
  'PATCH /workspaces/:workspaceId/tasks/:id': async (w) => {
    const id = await w.workspace()
    const body = data('workspace-tasks', { 'enforcement-level': 'advisory' })
    return { ids: [id, await w.workspaceTask(id)], body }
  },
  'DELETE /workspaces/:workspaceId/tasks/:id': async (w) => {
    const id = await w.workspace()
    return { ids: [id, await w.workspaceTask(id)] }
  },
}

function tagBindings(noun: 'workspace' | 'project'): Record<string, MakeChange> {
  const target = async (w: AuditFixtures) => ({
    ids: [await (noun === 'project' ? w.project() : w.workspace())],
    body: tag(w.name('tag')),
  })
  return {
    [`POST /${noun}s/:id/tag-bindings`]: target,
    [`POST /${noun}s/:id/relationships/tag-bindings`]: target,
    [`PATCH /${noun}s/:id/tag-bindings`]: target,
    [`PATCH /${noun}s/:id/relationships/tag-bindings`]: target,
  }
}

function dataRetention(
  noun: 'workspaces' | 'organizations',
  owner: (w: AuditFixtures) => Promise<string>,
): Record<string, MakeChange> {
  const path = `/${noun}/:id/relationships/data-retention-policy`
  const body = days('data-retention-policy-delete-olders')
  return {
    [`POST ${path}`]: async (w) => ({ ids: [await owner(w)], body }),
    [`PATCH ${path}`]: async (w) => {
      const id = await owner(w)
      await w.send('POST', path.replace(':id', id), body)
      return { ids: [id], body }
    },
  }
}
