import { type AuditedChange, change, data, many, one, SECRET, type World } from './audit-world.ts'

const tag = (key: string) => ({ data: [{ type: 'tag-bindings', attributes: { key, value: 'x' } }] })
const flatTag = (name: string) => ({ data: [{ type: 'tags', attributes: { name } }] })
const variable = (w: World) => data('vars', { key: w.name('key'), value: SECRET, category: 'env', sensitive: true })
const newValue = data('vars', { value: SECRET })
const days = (type: string) => ({ data: { type, attributes: { deleteOlderThanNDays: 30 } } })

async function policy(w: World) {
  const id = await w.workspace()
  await w.send(
    'POST',
    `/workspaces/${id}/relationships/data-retention-policy`,
    days('data-retention-policy-delete-olders'),
  )
  return id
}

async function ownOrganization(w: World) {
  const name = w.name('organization')
  await w.send('POST', '/organizations', data('organizations', { name, email: 'a@example.com' }))
  return name
}

async function taggedWorkspace(w: World) {
  const id = await w.workspace()
  const key = w.name('tag')
  await w.send('POST', `/workspaces/${id}/relationships/tags`, flatTag(key))
  const tags = await w.send('GET', `/workspaces/${id}/relationships/tags`)
  return { id, key, tag: tags[0].id as string }
}

async function setWith(w: World, noun: 'workspaces' | 'projects') {
  const [set, id] = [await w.variableSet(), await (noun === 'projects' ? w.project() : w.workspace())]
  await w.send('POST', `/varsets/${set}/relationships/${noun}`, many(noun, id))
  return { ids: [set], body: many(noun, id) }
}

const SET_UPDATE = 'variable create, variable update, variable_set update'

/** A change of a set that gives it one variable more, and another value to the one that it has. */
async function setUpdate(w: World) {
  const set = await w.variableSet()
  const changed = { ...newValue.data, id: await w.variable(`/varsets/${set}/relationships`) }
  const vars = { data: [changed, variable(w).data] }
  return { ids: [set], body: data('varsets', { description: 'x' }, { vars }) }
}

async function nameOf(w: World, workspace: string) {
  return (await w.send('GET', `/workspaces/${workspace}`)).attributes.name as string
}

/** What people set up: organizations, projects, workspaces, variables, tags, pools and tasks. */
export const SETTING_CHANGES: Record<string, AuditedChange | string> = {
  'POST /organizations': change('organization create', (w) => ({
    body: data('organizations', { name: w.name('organization'), email: 'a@example.com' }),
  })),
  'PATCH /organizations/:organization': change('organization update', async (w) => ({
    ids: [await ownOrganization(w)],
    body: data('organizations', { email: 'b@example.com' }),
  })),
  'PUT /organizations/:organization': change('organization update', async (w) => ({
    ids: [await ownOrganization(w)],
    body: data('organizations', { email: 'b@example.com' }),
  })),
  'DELETE /organizations/:organization': change('organization destroy', async (w) => ({
    ids: [await ownOrganization(w)],
  })),

  'POST /organizations/:organization/projects': change('project create', (w) => ({
    ids: [w.organization.name],
    body: data('projects', { name: w.name('project') }),
  })),
  'PATCH /projects/:id': change('project update', async (w) => ({
    ids: [await w.project()],
    body: data('projects', { description: 'x' }),
  })),
  'DELETE /projects/:id': change('project destroy', async (w) => ({ ids: [await w.project()] })),
  'POST /projects/:id/relationships/workspaces': change('workspace update', async (w) => ({
    ids: [await w.project()],
    body: many('workspaces', await w.workspace()),
  })),

  'POST /organizations/:organization/workspaces': change('workspace create', (w) => ({
    ids: [w.organization.name],
    body: data('workspaces', { name: w.name('workspace') }),
  })),
  'PATCH /organizations/:organization/workspaces/:name': change('workspace update', async (w) => ({
    ids: [w.organization.name, await nameOf(w, await w.workspace())],
    body: data('workspaces', { description: 'x' }),
  })),
  'PATCH /workspaces/:id': change('workspace update', async (w) => ({
    ids: [await w.workspace()],
    body: data('workspaces', { description: 'x' }, { tags: flatTag('x') }),
  })),
  'DELETE /organizations/:organization/workspaces/:name': change('workspace destroy', async (w) => ({
    ids: [w.organization.name, await nameOf(w, await w.workspace())],
  })),
  'DELETE /workspaces/:id': change('workspace destroy', async (w) => ({ ids: [await w.workspace()] })),
  'POST /organizations/:organization/workspaces/:name/actions/safe-delete': change('workspace destroy', async (w) => ({
    ids: [w.organization.name, await nameOf(w, await w.workspace())],
  })),
  'POST /workspaces/:id/actions/safe-delete': change('workspace destroy', async (w) => ({
    ids: [await w.workspace()],
  })),
  'POST /workspaces/:id/actions/lock': change('workspace lock', async (w) => ({
    ids: [await w.workspace()],
    body: {},
  })),
  'POST /workspaces/:id/actions/unlock': change('workspace unlock', async (w) => ({
    ids: [await w.lockedWorkspace()],
  })),
  'POST /workspaces/:id/actions/force-unlock': change('workspace force_unlock', async (w) => ({
    ids: [await w.lockedWorkspace()],
  })),
  'POST /workspaces/:id/relationships/remote-state-consumers': change(
    'workspace add_remote_state_consumers',
    async (w) => ({ ids: [await w.workspace()], body: many('workspaces', await w.workspace()) }),
  ),
  'PATCH /workspaces/:id/relationships/remote-state-consumers': change(
    'workspace replace_remote_state_consumers',
    async (w) => ({ ids: [await w.workspace()], body: many('workspaces', await w.workspace()) }),
  ),
  'DELETE /workspaces/:id/relationships/remote-state-consumers': change(
    'workspace remove_remote_state_consumers',
    async (w) => {
      const [id, consumer] = [await w.workspace(), many('workspaces', await w.workspace())]
      await w.send('POST', `/workspaces/${id}/relationships/remote-state-consumers`, consumer)
      return { ids: [id], body: consumer }
    },
  ),

  'POST /workspaces/:id/relationships/tags': change('workspace add_tags', async (w) => ({
    ids: [await w.workspace()],
    body: flatTag(w.name('tag')),
  })),
  'DELETE /workspaces/:id/relationships/tags': change('workspace remove_tags', async (w) => {
    const { id, key } = await taggedWorkspace(w)
    return { ids: [id], body: flatTag(key) }
  }),
  'DELETE /organizations/:organization/tags': change('organization remove_tags', async (w) => ({
    ids: [w.organization.name],
    body: many('tags', (await taggedWorkspace(w)).tag),
  })),
  'POST /tags/:id/relationships/workspaces': change('workspace add_tags', async (w) => ({
    ids: [(await taggedWorkspace(w)).tag],
    body: many('workspaces', await w.workspace()),
  })),
  ...tagBindings('workspace'),
  ...tagBindings('project'),
  'POST /organizations/:organization/reserved-tag-keys': change('reserved_tag_key create', (w) => ({
    ids: [w.organization.name],
    body: data('reserved-tag-keys', { key: w.name('key') }),
  })),
  'PATCH /reserved-tag-keys/:id': change('reserved_tag_key update', async (w) => ({
    ids: [await w.ofOrganization('reserved-tag-keys', data('reserved-tag-keys', { key: w.name('key') }))],
    body: data('reserved-tag-keys', { 'disable-overrides': true }),
  })),
  'DELETE /reserved-tag-keys/:id': change('reserved_tag_key destroy', async (w) => ({
    ids: [await w.ofOrganization('reserved-tag-keys', data('reserved-tag-keys', { key: w.name('key') }))],
  })),

  ...dataRetention('organizations', async (w) => ownOrganization(w)),
  ...dataRetention('workspaces', async (w) => w.workspace()),
  'DELETE /organizations/:id/relationships/data-retention-policy': change(
    'data_retention_policy destroy',
    async (w) => {
      const id = await ownOrganization(w)
      const path = `/organizations/${id}/relationships/data-retention-policy`
      await w.send('POST', path, days('data-retention-policy-delete-olders'))
      return { ids: [id] }
    },
  ),
  'DELETE /workspaces/:id/relationships/data-retention-policy': change('data_retention_policy destroy', async (w) => ({
    ids: [await policy(w)],
  })),

  'POST /workspaces/:workspaceId/vars': change('variable create', async (w) => ({
    ids: [await w.workspace()],
    body: variable(w),
  })),
  'PATCH /workspaces/:workspaceId/vars/:id': change('variable update', async (w) => {
    const id = await w.workspace()
    return { ids: [id, await w.variable(`/workspaces/${id}`)], body: newValue }
  }),
  'PATCH /workspaces/:workspaceId/relationships/vars': change('variable update, variable update', async (w) => {
    const id = await w.workspace()
    const changed = async () => ({ ...newValue.data, id: await w.variable(`/workspaces/${id}`) })
    return { ids: [id], body: { data: [await changed(), await changed()] } }
  }),
  'DELETE /workspaces/:workspaceId/vars/:id': change('variable destroy', async (w) => {
    const id = await w.workspace()
    return { ids: [id, await w.variable(`/workspaces/${id}`)] }
  }),
  'POST /vars': change('variable create', async (w) => {
    const { attributes } = variable(w).data
    return { body: data('vars', attributes, { workspace: one('workspaces', await w.workspace()) }) }
  }),
  'PATCH /vars/:id': change('variable update', async (w) => ({
    ids: [await w.variable(`/workspaces/${await w.workspace()}`)],
    body: newValue,
  })),
  'DELETE /vars/:id': change('variable destroy', async (w) => ({
    ids: [await w.variable(`/workspaces/${await w.workspace()}`)],
  })),

  'POST /organizations/:organization/varsets': change('variable create, variable_set create', (w) => ({
    ids: [w.organization.name],
    body: data('varsets', { name: w.name('set') }, { vars: { data: [variable(w).data] } }),
  })),
  'PATCH /varsets/:id': change(SET_UPDATE, async (w) => setUpdate(w)),
  'POST /varsets/:id': change(SET_UPDATE, async (w) => setUpdate(w)),
  'DELETE /varsets/:id': change('variable_set destroy', async (w) => ({ ids: [await w.variableSet()] })),
  'POST /varsets/:id/relationships/workspaces': change('variable_set add_workspaces', async (w) => ({
    ids: [await w.variableSet()],
    body: many('workspaces', await w.workspace()),
  })),
  'DELETE /varsets/:id/relationships/workspaces': change('variable_set remove_workspaces', (w) =>
    setWith(w, 'workspaces'),
  ),
  'POST /varsets/:id/relationships/projects': change('variable_set add_projects', async (w) => ({
    ids: [await w.variableSet()],
    body: many('projects', await w.project()),
  })),
  'DELETE /varsets/:id/relationships/projects': change('variable_set remove_projects', (w) => setWith(w, 'projects')),
  'POST /varsets/:variableSetId/relationships/vars': change('variable create', async (w) => ({
    ids: [await w.variableSet()],
    body: variable(w),
  })),
  'PATCH /varsets/:variableSetId/relationships/vars/:id': change('variable update', async (w) => {
    const set = await w.variableSet()
    return { ids: [set, await w.variable(`/varsets/${set}/relationships`)], body: newValue }
  }),
  'DELETE /varsets/:variableSetId/relationships/vars/:id': change('variable destroy', async (w) => {
    const set = await w.variableSet()
    return { ids: [set, await w.variable(`/varsets/${set}/relationships`)] }
  }),

  'POST /organizations/:organization/agent-pools': change('agent_pool create', (w) => ({
    ids: [w.organization.name],
    body: data('agent-pools', { name: w.name('pool') }),
  })),
  'PATCH /agent-pools/:poolId': change('agent_pool update', async (w) => ({
    ids: [await w.pool()],
    body: data('agent-pools', { name: w.name('pool') }),
  })),
  'DELETE /agent-pools/:poolId': change('agent_pool destroy', async (w) => ({ ids: [await w.pool()] })),

  'POST /organizations/:organization/tasks': change('task create', (w) => ({
    ids: [w.organization.name],
    body: data('tasks', { name: w.name('task'), url: w.receiver.url, 'hmac-key': SECRET, category: 'task' }),
  })),
  'PATCH /tasks/:taskId': change('task update', async (w) => ({
    ids: [await w.task()],
    body: data('tasks', { 'hmac-key': `${SECRET}-2`, url: `${w.receiver.url}/b?token=${SECRET}` }),
  })),
  'DELETE /tasks/:taskId': change('task destroy', async (w) => ({ ids: [await w.task()] })),
  'POST /tasks/:taskId/actions/test': 'asks a receiver and changes nothing',
  'POST /workspaces/:workspaceId/tasks': change('workspace_task create', async (w) => ({
    ids: [await w.workspace()],
    body: data('workspace-tasks', { 'enforcement-level': 'mandatory' }, { task: one('tasks', await w.task()) }),
  })),
  'PATCH /workspaces/:workspaceId/tasks/:id': change('workspace_task update', async (w) => {
    const id = await w.workspace()
    const body = data('workspace-tasks', { 'enforcement-level': 'advisory' })
    return { ids: [id, await w.workspaceTask(id)], body }
  }),
  'DELETE /workspaces/:workspaceId/tasks/:id': change('workspace_task destroy', async (w) => {
    const id = await w.workspace()
    return { ids: [id, await w.workspaceTask(id)] }
  }),
}

function tagBindings(noun: 'workspace' | 'project') {
  const target = async (w: World) => ({
    ids: [await (noun === 'project' ? w.project() : w.workspace())],
    body: tag(w.name('tag')),
  })
  return {
    [`POST /${noun}s/:id/tag-bindings`]: change(`${noun} add_tags`, target),
    [`POST /${noun}s/:id/relationships/tag-bindings`]: change(`${noun} add_tags`, target),
    [`PATCH /${noun}s/:id/tag-bindings`]: change(`${noun} add_tags`, target),
    [`PATCH /${noun}s/:id/relationships/tag-bindings`]: change(`${noun} replace_tags`, target),
  }
}

function dataRetention(noun: 'workspaces' | 'organizations', owner: (w: World) => Promise<string>) {
  const path = `/${noun}/:id/relationships/data-retention-policy`
  const target = async (w: World) => ({ ids: [await owner(w)], body: days('data-retention-policy-delete-olders') })
  return {
    [`POST ${path}`]: change('data_retention_policy create', target),
    [`PATCH ${path}`]: change('data_retention_policy create', target),
  }
}
